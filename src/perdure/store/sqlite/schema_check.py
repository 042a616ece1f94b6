"""The comparison of a database file's schema with the one that the migrations create."""

from contextlib import closing
from functools import cache
from typing import Final

import apsw

from perdure.errors import SchemaChanged
from perdure.store.schema_check import Part, list_differences
from perdure.store.sqlite import migrations
from perdure.store.sqlite.migrations import Step, run_steps

_ENTRIES: Final = "SELECT type, name, tbl_name, coalesce(sql, '') FROM {}.sqlite_schema"
_TABLES: Final = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rowid"


def check_parts(connection: apsw.Connection) -> None:
    """Refuse a database of the current version with unexpected, missing or different parts."""
    differences = find_differences(connection)
    if differences:
        raise SchemaChanged(differences)


def find_differences(connection: apsw.Connection, database: str = "main", version: int | None = None) -> list[str]:
    """Return the differences from the schema of a version, by default the newest."""
    return list_differences(_read_parts(connection, database), _make_parts(migrations.MIGRATIONS[:version]))


def list_tables(version: int) -> list[str]:
    """Return the tables with rows in the schema of a version, without virtual tables, which use other tables."""
    with closing(_make_schema(migrations.MIGRATIONS[:version])) as connection:
        return [name for (name,) in connection.execute(_TABLES)]


@cache
def _make_parts(steps: tuple[Step, ...]) -> tuple[Part, ...]:
    """Return the parts that these steps create. It takes a millisecond, once per process."""
    with closing(_make_schema(steps)) as connection:
        return tuple(_read_parts(connection, "main"))


def _make_schema(steps: tuple[Step, ...]) -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    run_steps(connection, steps, 0)
    return connection


def _read_parts(connection: apsw.Connection, database: str) -> list[Part]:
    """Return every row of the catalogue, with shadow tables and automatic indexes, but without optional statistics."""
    return [
        (f"{kind} {name}" if name == table else f"{kind} {name} on {table}", sql)
        for kind, name, table, sql in connection.execute(_ENTRIES.format(database))
        if not name.startswith("sqlite_stat")
    ]
