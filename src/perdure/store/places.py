"""From what the settings say to a place."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from perdure.errors import InvalidInput, shown
from perdure.store.high_water import HIGH_WATER
from perdure.store.place import Place
from perdure.store.postgres.options import PostgresOptions
from perdure.store.sqlite.place import SqlitePlace

if TYPE_CHECKING:
    from perdure.store.postgres.address import Address

_SQLITE: Final = "sqlite:"
_POSTGRES: Final = ("postgresql:", "postgres:")


def place_of(address: str, folder: Path, options: PostgresOptions) -> Place:
    """The place that an address names; files are beside the settings unless it says otherwise."""
    parsed = postgres_address(address)
    if parsed is not None:
        from perdure.store.postgres.place import PostgresPlace

        return PostgresPlace(parsed, folder / HIGH_WATER, options)
    file = address.removeprefix(_SQLITE)
    if file == address or not file or file.startswith("//"):
        kind = address.partition(":")[0]  # the rest may hold a password
        reason = f"a store {shown(kind)} is not known: write sqlite: and the name of a file, or postgresql://…"
        raise InvalidInput("settings", "store", reason)
    return SqlitePlace(folder / file)


def postgres_address(address: str) -> "Address | None":
    """The address of a PostgreSQL store. Its driver is loaded only here, where it is needed: it takes its time."""
    if not address.startswith(_POSTGRES):
        return None
    from perdure.store.postgres.address import parse

    return parse(address)
