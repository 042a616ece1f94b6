"""Section 12.2 of PPID: its fields under their own names, and an index for each of them, on both engines."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.registry_fixture import PostgresLocations, StoreLocations
from tests.store.record_strategies import Desk, change

from perdure.store.postgres import reader as postgres
from perdure.store.postgres.address import parse
from perdure.store.postgres.connection import connect as connect_to
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.sqlite import reader as sqlite
from perdure.store.sqlite.connection import connect

FIELDS = "SELECT ppid, ppid_type, created_at, uuid_raw FROM persons"
PERSONS = {"u-1": "POID-a", "u-2": "PRID-b", "u-3": "POID-c"}


class Database(NamedTuple):
    """A database with direct access, as an operator has."""

    is_sqlite: bool
    ask: Callable[[str], list[Any]]

    def plan(self, question: str) -> list[str]:
        """Return the steps of the query plan."""
        if self.is_sqlite:
            return [row[3] for row in self.ask(f"EXPLAIN QUERY PLAN {question}")]
        return [row[0].strip() for row in self.ask(f"EXPLAIN (COSTS OFF) {question}")]


@pytest.fixture
def database(locations: StoreLocations, desk: Desk, tmp_path: Path) -> Iterator[Database]:
    years = {name: f"202{number}-01-15T08:00:00Z" for number, name in enumerate(PERSONS.values(), 5)}
    desk.insert(*(change(name, name=name, scheme="ppid", created=year) for name, year in years.items()))
    desk.insert(change("POID-d/a"), change("1/a"))  # handles, although one looks like a person
    desk.write(lambda tx: tx.put_persons(PERSONS))
    if not isinstance(locations, PostgresLocations):
        with closing(connect(tmp_path / "registry" / "perdure.db")) as file:
            yield Database(True, lambda question: list(file.execute(question)))
        return
    with closing(connect_to(parse(locations.address()), PostgresOptions())) as connection:
        connection.execute("SET enable_seqscan = off")  # the tables of a test are too small for an index to be worth it
        yield Database(False, lambda question: connection.execute(question.encode()).fetchall())


@pytest.mark.parametrize(("where", "found"), [
    ("ppid = 'PRID-b'", ["PRID-b"]),
    ("ppid_type = 'POID'", ["POID-a", "POID-c"]),
    ("created_at >= '2026'", ["POID-c", "PRID-b"]),
    ("ppid_type = 'POID' AND created_at < '2026'", ["POID-a"]),
    ("uuid_raw = 'u-3'", ["POID-c"]),
    ("true", ["POID-a", "POID-c", "PRID-b"]),
])  # fmt: skip
def test_persons_are_found_by_every_field(database: Database, where: str, found: list[str]) -> None:
    rows = database.ask(f"{FIELDS} WHERE {where} ORDER BY ppid")
    assert [row[0] for row in rows] == found
    assert all(row[1] == row[0][:4] and PERSONS[row[3]] == row[0] for row in rows)


@pytest.mark.parametrize(("where", "ends"), [
    ("ppid_type = 'POID'", ""),
    ("created_at >= '2026' AND created_at < '2027'", " AND created>? AND created<?"),
    ("ppid_type = 'POID' AND created_at < '2026'", " AND created<?"),
])  # fmt: skip
def test_the_type_and_the_time_are_looked_up_in_an_index(database: Database, where: str, ends: str) -> None:
    steps = database.plan(f"{FIELDS} WHERE {where}")
    assert not [step for step in steps if step.startswith(("SCAN", "Seq Scan"))], steps
    if database.is_sqlite:
        assert f"SEARCH i USING INDEX persons_by_type (<expr>=?{ends})" in steps
        return
    conditions = [step for step in steps if step.startswith("Index Cond:") and "substr(" in step]
    assert conditions
    for condition in ("created >=", "created <"):
        assert (condition in conditions[0]) == (condition.replace("created", "created_at") in where), steps


def test_persons_are_counted_in_the_index_alone(database: Database, desk: Desk) -> None:
    question = sqlite.NUMBER_OF_PERSONS if database.is_sqlite else postgres.NUMBER_OF_PERSONS
    steps = database.plan(question)
    if database.is_sqlite:
        assert steps == ["SCAN identifiers USING COVERING INDEX persons_by_type"]
    else:
        scans = [step for step in steps if "Scan" in step]
        assert scans
        assert all("Index Only Scan" in scan for scan in scans), steps
    assert desk.read(lambda reader: reader.count_persons()) == len(PERSONS)
    desk_counts = desk.write(lambda tx: [tx.insert([change("POID-e", scheme="ppid")]), tx.count_persons()])
    assert desk_counts[1] == len(PERSONS) + 1
