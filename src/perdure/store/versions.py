"""The number of a database's schema: the same steps, with the same numbers, on every engine."""

from perdure.errors import StoreUnavailable


def check_known(version: int, known: int) -> None:
    """A schema from the future is left alone."""
    if version > known:
        raise StoreUnavailable(
            f"the database has schema {version}, and this program knows {known}: use a newer Perdure"
        )


def check_migrated(version: int, known: int) -> None:
    """A schema from the past is not changed by the way: that is somebody's decision, and takes a backup."""
    if version < known:
        raise StoreUnavailable(
            f"the database has schema {version}, and this program needs {known}: run perdure migrate, "
            "which makes a backup first"
        )
