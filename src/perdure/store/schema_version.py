"""Checks of the schema version of a database. Its numbers mean the same on every engine."""

from perdure.errors import StoreUnavailable


def check_not_newer(version: int, known: int) -> None:
    """Refuse a schema that is newer than this program."""
    if version > known:
        raise StoreUnavailable(
            f"the database has schema version {version}, and this program supports {known}: use a newer Perdure"
        )


def check_migrated(version: int, known: int) -> None:
    """Refuse a schema that is older than this program. The operator decides about a migration, which needs a backup."""
    if version < known:
        raise StoreUnavailable(
            f"the database has schema version {version}, and this program needs {known}: run perdure migrate, "
            "which makes a backup first"
        )
