"""The location of the store that the settings name."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from perdure.errors import InvalidInput, quote_text
from perdure.store.high_water import HIGH_WATER
from perdure.store.location import StoreLocation
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.sqlite.location import SqliteLocation

if TYPE_CHECKING:
    from perdure.store.postgres.address import Address

_SQLITE: Final = "sqlite:"
_POSTGRES: Final = ("postgresql:", "postgres:")


def parse_location(address: str, folder: Path, options: PostgresOptions) -> StoreLocation:
    """Parse the address of a store. A relative file is relative to the folder."""
    parsed = parse_postgres_address(address)
    if parsed is not None:
        from perdure.store.postgres.location import PostgresLocation

        return PostgresLocation(parsed, folder / HIGH_WATER, options)
    file = address.removeprefix(_SQLITE)
    if file == address or not file or file.startswith("//"):
        kind = address.partition(":")[0]  # the rest may hold a password
        reason = f"unsupported store {quote_text(kind)}: write sqlite:FILE or postgresql://…"
        raise InvalidInput("settings", "store", reason)
    return SqliteLocation(folder / file)


def parse_postgres_address(address: str) -> "Address | None":
    """Parse the address of a PostgreSQL store; None for another store. The driver is imported only here: it is slow."""
    if not address.startswith(_POSTGRES):
        return None
    from perdure.store.postgres.address import parse

    return parse(address)
