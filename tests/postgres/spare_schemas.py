"""Schemas that are emptied and used again, because creating one takes longer than most tests."""

import secrets
from contextlib import closing
from functools import cache
from typing import Final

from psycopg import errors
from tests.postgres.shared_server import database

from perdure.store.postgres import migrations
from perdure.store.postgres.address import parse
from perdure.store.postgres.connection import connect
from perdure.store.postgres.postgres_options import PostgresOptions

FEW_PARTITIONS: Final = PostgresOptions(partitions=2)  # enough to see that there are several, and quickly made

# All parts of a schema, and the last transaction that changed them; changes of rows do not count.
_SHAPE: Final = """
SELECT part, id, last::text FROM (
    SELECT 'relation', oid, xmin FROM pg_class WHERE relnamespace = to_regnamespace('{0}')
    UNION ALL SELECT 'constraint', oid, xmin FROM pg_constraint WHERE connamespace = to_regnamespace('{0}')
    UNION ALL SELECT 'function', oid, xmin FROM pg_proc WHERE pronamespace = to_regnamespace('{0}')
    UNION ALL SELECT 'trigger', pg_trigger.oid, pg_trigger.xmin FROM pg_trigger
        JOIN pg_class ON pg_class.oid = tgrelid WHERE relnamespace = to_regnamespace('{0}')
) AS parts (part, id, last) ORDER BY part, id
"""
_TABLES: Final = (
    "SELECT relname FROM pg_class"
    " WHERE relnamespace = to_regnamespace('{0}') AND relkind IN ('r', 'p') AND NOT relispartition"
)

_shapes: dict[str, object] = {}  # as they were made
_spare: list[str] = []


def new_schema() -> str:
    """Return a name for a schema that does not exist yet."""
    return f"t_{secrets.token_hex(6)}"


def take_schema() -> str:
    """Return a schema with all tables of a store, without a registry."""
    return _spare.pop() if _spare else _create_schema()


def give_back(schema: str) -> None:
    """Empty a schema for the next test; drop it if its definition has changed."""
    if _shapes.get(schema) == _shape(schema) and _empty_schema(schema):
        _spare.append(schema)
    else:
        database().drop(schema)


def _create_schema() -> str:
    schema = new_schema()
    with closing(connect(parse(database().address(schema)), FEW_PARTITIONS)) as connection:
        migrations.create_schema(connection, schema, FEW_PARTITIONS.partitions)
    _shapes[schema] = _shape(schema)
    return schema


def _shape(schema: str) -> object:
    return database().execute(_SHAPE.format(schema))


@cache
def _how_to_empty() -> str:
    """Return the statements that empty a schema despite its triggers, and copy the initial rows from an unused one."""
    unused = _create_schema()
    tables = [name for (name,) in database().execute(_TABLES.format(unused))]
    filled = [table for table in tables if database().execute(f"TABLE {unused}.{table}")]
    steps = ["SET LOCAL session_replication_role = replica"]
    steps += [f"DELETE FROM {{0}}.{table}" for table in tables]  # noqa: S608
    steps += [f"INSERT INTO {{0}}.{table} TABLE {unused}.{table}" for table in filled]
    return "; ".join(steps)


def _empty_schema(schema: str) -> bool:
    try:
        database().execute(_how_to_empty().format(schema))
    except errors.InsufficientPrivilege:  # on a server with restricted privileges
        return False
    return True
