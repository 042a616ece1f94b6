"""A schema that is used again looks unused."""

import pytest
from tests.postgres.shared_server import database, need_postgres
from tests.postgres.spare_schemas import give_back, take_schema


@pytest.fixture
def schema() -> str:
    need_postgres()
    return take_schema()


def rows(schema: str, table: str) -> list[tuple[object, ...]]:
    return database().execute(f"TABLE {schema}.{table}")


def is_there(schema: str) -> bool:
    return database().execute(f"SELECT to_regnamespace('{schema}') IS NOT NULL") == [(True,)]


def test_a_reused_schema_has_only_its_initial_rows(schema: str) -> None:
    begun = {table: rows(schema, table) for table in ("guards", "facts", "events", "migrations")}
    database().execute(
        f"INSERT INTO {schema}.facts VALUES ('a', 'b'); UPDATE {schema}.guards SET value = 'sealed';"  # noqa: S608
        f"INSERT INTO {schema}.events VALUES (1, 'w', 'at', 'agent', 'action', 'subject', 'detail');"
        f"DELETE FROM {schema}.migrations"
    )
    give_back(schema)
    assert take_schema() == schema
    again = {table: rows(schema, table) for table in begun}
    assert {table: len(found) for table, found in again.items()} == {
        table: len(stored) for table, stored in begun.items()
    }
    assert sorted(again["guards"]) == sorted(begun["guards"])
    give_back(schema)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE {0}.another (x integer)",
        "ALTER TABLE {0}.facts ADD COLUMN x integer",
        "ALTER TABLE {0}.revisions DISABLE TRIGGER revisions_stay",
        "ALTER TABLE {0}.events DROP CONSTRAINT events_pkey",
        "CREATE OR REPLACE FUNCTION {0}.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "DROP SCHEMA {0} CASCADE",
    ],
)
def test_a_changed_schema_is_not_reused(schema: str, change: str) -> None:
    database().execute(change.format(schema))
    give_back(schema)
    assert not is_there(schema)
    other = take_schema()
    give_back(other)
    assert other != schema
