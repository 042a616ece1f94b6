"""Compare the schema of a database file with the one that the migrations make."""

from contextlib import closing
from functools import cache
from typing import Final

import apsw

from perdure.errors import SchemaChanged
from perdure.store.schema import Part, list_differences
from perdure.store.sqlite import migrations
from perdure.store.sqlite.migrations import Step, make_steps

_ENTRIES: Final = "SELECT type, name, tbl_name, coalesce(sql, '') FROM {}.sqlite_schema"
_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rowid"


def check_parts(connection: apsw.Connection) -> None:
    """Refuse an up-to-date database with a part that the migrations do not make, or without one that they make."""
    differences = find_differences(connection)
    if differences:
        raise SchemaChanged(differences)


def find_differences(connection: apsw.Connection, database: str = "main", version: int | None = None) -> list[str]:
    """Return what differs from the schema of a version: the newest, if none is given."""
    return list_differences(_read_parts(connection, database), _make_parts(migrations.MIGRATIONS[:version]))


def list_tables(version: int) -> list[str]:
    """Return the tables that hold rows in the schema of a version; a virtual table keeps its own in others."""
    with closing(_make_schema(migrations.MIGRATIONS[:version])) as connection:
        return [name for (name,) in connection.execute(_TABLES)]


@cache
def _make_parts(steps: tuple[Step, ...]) -> tuple[Part, ...]:
    """Return the parts that these steps make: it takes a millisecond, and is done once in a process."""
    with closing(_make_schema(steps)) as connection:
        return tuple(_read_parts(connection, "main"))


def _make_schema(steps: tuple[Step, ...]) -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    make_steps(connection, steps, 0)
    return connection


def _read_parts(connection: apsw.Connection, database: str) -> list[Part]:
    """Return every row of the catalogue, shadow tables and automatic indexes too; statistics may be there or not."""
    return [
        (f"{kind} {name}" if name == table else f"{kind} {name} on {table}", sql)
        for kind, name, table, sql in connection.execute(_ENTRIES.format(database))
        if not name.startswith("sqlite_stat")
    ]
