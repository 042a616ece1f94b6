"""Batched look-ups for the fast path: results are in the order of the keys."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest
from tests.store.record_strategies import RECORD, Desk, change, revise

from perdure.records import record as records
from perdure.records.record import Record
from perdure.records.value import Text, Value
from perdure.registry.store_interface import BatchLookup, Redirect, ResultCallback, StoredRecord
from perdure.store.sqlite import SqliteStore, snapshot_lookups
from perdure.store.sqlite.connection import connect

PATIENCE = 20.0


def with_values(*values: Value) -> bytes:
    return records.encode(Record(state="active", creator="hdl:1/jan", created="2027-01-15T08:00:00Z", values=values))


class BatchClient:
    """A batch look-up, used as the fast path uses it: on its event loop, with a callback."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

        async def finder() -> BatchLookup:
            return desk.store.batch_lookup()

        self._finder = desk.runner.run(finder())

    def redirects(self, *keys: str) -> list[Redirect | None]:
        return self.look_up(keys)[0]

    def records(self, *keys: str) -> list[StoredRecord | None]:
        return self.look_up(keys)[1]

    def look_up(self, keys: Sequence[str]) -> tuple[list[Redirect | None], list[StoredRecord | None]]:
        async def both() -> tuple[list[Redirect | None], list[StoredRecord | None]]:
            leads: asyncio.Future[list[Redirect | None]] = asyncio.get_running_loop().create_future()
            says: asyncio.Future[list[StoredRecord | None]] = asyncio.get_running_loop().create_future()
            self._finder.find_redirects(keys, lambda found: leads.set_result(list(found)))  # twice would be an error
            self._finder.find_records(keys, lambda found: says.set_result(list(found)))
            async with asyncio.timeout(PATIENCE):
                return await leads, await says

        return self._desk.runner.run(both())


@pytest.fixture
def client(desk: Desk) -> BatchClient:
    return BatchClient(desk)


def test_results_have_the_order_of_the_keys(desk: Desk, client: BatchClient) -> None:
    desk.insert(*(change(f"1/{name}", target=f"https://example.org/{name}", record=name.encode()) for name in "abc"))
    desk.update(revise("1/b", 2, b"newer", target="https://example.org/newer"))
    keys = ["1/c", "1/missing", "1/b", "1/a", "1/c", "1/B", "1/c"]
    leads, says = client.look_up(keys)
    c = ("https://example.org/c", 1)
    assert leads == [c, None, ("https://example.org/newer", 2), ("https://example.org/a", 1), c, None, c]
    assert says == [(1, b"c"), None, (2, b"newer"), (1, b"a"), (1, b"c"), None, (1, b"c")]


def test_a_single_key_is_looked_up(desk: Desk, client: BatchClient) -> None:
    desk.insert(change("1/a"))
    assert client.look_up(["1/a"]) == ([("https://example.org/", 1)], [(1, RECORD)])
    assert client.look_up(["1/b"]) == ([None], [None])


def test_keys_with_special_characters_are_looked_up(desk: Desk, client: BatchClient) -> None:
    keys = ["1/'\"", "1/{a,b}", "1/\\", "1/a b", "1/%s", "1/null", "1/é"]
    desk.insert(*(change(key, target=f"https://example.org/{number}") for number, key in enumerate(keys)))
    assert client.redirects(*keys) == [(f"https://example.org/{number}", 1) for number in range(len(keys))]


def test_more_than_a_thousand_keys_are_looked_up(desk: Desk, client: BatchClient) -> None:
    desk.insert(*(change(f"1/{number}", target=f"https://example.org/{number}") for number in range(0, 1_200, 2)))
    leads, says = client.look_up([f"1/{number}" for number in range(1_200)])
    assert leads == [None if number % 2 else (f"https://example.org/{number}", 1) for number in range(1_200)]
    assert says == [None if number % 2 else (1, RECORD) for number in range(1_200)]


def test_a_redirect_does_not_depend_on_the_ttl_of_its_value(desk: Desk, client: BatchClient) -> None:
    lasting = with_values(Value(1, "URL", Text("https://example.org/")))
    short = with_values(Value(1, "URL", Text("https://example.org/"), ttl=60))
    until = with_values(Value(1, "URL", Text("https://example.org/"), ttl="2031-01-01T00:00:00Z"))
    desk.insert(change("1/a", record=lasting), change("1/b", record=short), change("1/c", record=until))
    leads, says = client.look_up(["1/a", "1/b", "1/c"])
    assert leads == [("https://example.org/", 1)] * 3
    assert says == [(1, lasting), (1, short), (1, until)]


def test_an_inactive_name_has_no_redirect(desk: Desk, client: BatchClient) -> None:
    desk.insert(change("1/reserved", state="reserved", target=None, created=None), change("1/withdrawn"))
    assert client.redirects("1/reserved", "1/withdrawn") == [None, ("https://example.org/", 1)]
    desk.update(revise("1/withdrawn", 2, b"gone", state="withdrawn", target=None))
    assert client.look_up(["1/reserved", "1/withdrawn"]) == ([None, None], [(1, RECORD), (2, b"gone")])


def test_a_redirect_follows_every_change(desk: Desk, client: BatchClient) -> None:
    """The name enters the index of redirects, leaves it, and returns."""
    desk.insert(change("1/a", target=None))
    assert client.redirects("1/a") == [None]
    desk.update(revise("1/a", 2, RECORD, target="https://example.org/2"))
    assert client.redirects("1/a") == [("https://example.org/2", 2)]
    desk.update(revise("1/a", 3, RECORD, target=None))
    assert client.redirects("1/a") == [None]
    desk.update(revise("1/a", 4, RECORD, target="https://example.org/4"))
    assert client.redirects("1/a") == [("https://example.org/4", 4)]


def test_concurrent_lookups_get_their_own_results(desk: Desk, client: BatchClient) -> None:
    desk.insert(*(change(f"1/{number}", target=f"https://example.org/{number}") for number in range(60)))

    async def run_all() -> list[list[Redirect | None]]:
        finder = desk.store.batch_lookup()
        futures: list[asyncio.Future[list[Redirect | None]]] = []
        for first in range(60):
            future: asyncio.Future[list[Redirect | None]] = asyncio.get_running_loop().create_future()
            keys = [f"1/{number}" for number in range(first, 60, 7)]
            finder.find_redirects(keys, give_to(future))
            futures.append(future)
        one = asyncio.ensure_future(desk.store.lookup("1/7"))  # a single look-up meanwhile
        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(*futures)
            found = await one
        assert found is not None
        assert found.target == "https://example.org/7"
        return answers

    for first, answer in enumerate(desk.runner.run(run_all())):
        assert answer == [(f"https://example.org/{number}", 1) for number in range(first, 60, 7)]


def give_to(future: "asyncio.Future[list[Redirect | None]]") -> ResultCallback[Redirect]:
    return lambda found: future.set_result(list(found))


# The embedded store's own


def test_a_redirect_is_read_from_one_index_alone(tmp_path: Path) -> None:
    """The table is opened too, but only read for a column that the index does not have."""
    file = tmp_path / "perdure.db"
    SqliteStore(file, create=True).close()
    connection = connect(file)
    keys = (apsw.carray(("1/a",)),)
    [*_, plan] = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {snapshot_lookups._REDIRECTS}", keys)]
    steps = [(row[1], row[2], row[3]) for row in connection.execute(f"EXPLAIN {snapshot_lookups._REDIRECTS}", keys)]
    [(index,)] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'redirects'")
    connection.close()
    opened = {cursor: page for step, cursor, page in steps if step == "OpenRead"}
    assert "INDEX redirects (key=?" in plan
    assert {opened[cursor] for step, cursor, _ in steps if step == "Column"} == {index}
    assert not {"Function", "FinishSeek", "SeekRowid", "NotExists"} & {step for step, _, _ in steps}


def test_a_store_that_cannot_be_read_returns_nothing(tmp_path: Path) -> None:
    """Other kinds of reads raise the error."""
    store = SqliteStore(tmp_path / "perdure.db", create=True)
    with asyncio.Runner() as runner:
        desk = Desk(runner, store)
        desk.insert(change("1/a"))
        client = BatchClient(desk)
        assert client.redirects("1/a") == [("https://example.org/", 1)]
        store.close()
        assert client.look_up(["1/a", "1/b"]) == ([None, None], [None, None])
