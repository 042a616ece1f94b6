"""A database that is down, silent or slow is reported soon and clearly; everything works again when it is back."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from tests.postgres.addresses import address_through
from tests.postgres.server import PostgresServer
from tests.registry_fixture import open_office
from tests.store.record_strategies import Desk, change
from tests.store.unreliable_network import Unreliable, as_soon_as_possible, in_one_group
from tests.system_packages import require_package

from perdure.errors import OutcomeUnknown, StoreUnavailable
from perdure.registry import mint
from perdure.registry.integrity import verify
from perdure.registry.store_interface import Store, Transaction
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.store import PostgresStore

CONNECT, STATEMENT, LOCK = 2.0, 1.0, 0.5  # seconds, in the settings of these tests
GRACE: Final = 5.0  # seconds that a busy machine may add to any of them
TOO_LONG: Final = 2 * (CONNECT + STATEMENT) + GRACE
SECRET: Final = "correct-horse"

Doing = Callable[[Store], Awaitable[Any]]


def look_up(store: Store) -> Awaitable[Any]:
    return store.lookup("1/a")


def read(store: Store) -> Awaitable[Any]:
    return store.read(lambda reader: reader.find("1/a"))


def write(store: Store) -> Awaitable[Any]:
    return store.write(lambda tx: tx.put_fact("said", "again"))


every_call = pytest.mark.parametrize("call", [look_up, read, write], ids=["look-up", "read", "write"])


class Refusal:
    """The error of a call, and its duration."""

    def __init__(self, runner: asyncio.Runner, doing: Doing, store: Store) -> None:
        async def get_refusal() -> StoreUnavailable:
            with pytest.raises(StoreUnavailable) as raised:
                await asyncio.wait_for(doing(store), TOO_LONG)  # fails the test instead of waiting forever
            return raised.value

        begun = time.monotonic()
        self.problem = runner.run(get_refusal())
        self.took = time.monotonic() - begun


# Stopped


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Start a server that the test may stop."""
    require_package("postgresql")
    with PostgresServer() as server:
        yield server


@pytest.fixture
def store(server: PostgresServer, tmp_path: Path) -> Iterator[PostgresStore]:
    if not server.is_running:
        server.start()
    address = server.address(schema=f"t_{time.monotonic_ns()}").replace("perdure@", f"perdure:{SECRET}@")
    store = PostgresStore(address, tmp_path / "marks.json", PostgresOptions(partitions=2), create=True)
    yield store
    store.close()


@every_call
def test_a_server_that_is_stopped_is_reported_at_once_and_used_again_when_it_is_back(
    runner: asyncio.Runner, server: PostgresServer, store: PostgresStore, call: Doing
) -> None:
    Desk(runner, store).insert(change("1/a"))
    runner.run(_all(look_up(store), read(store), write(store)))
    server.stop()
    for _ in range(3):
        refusal = Refusal(runner, call, store)
        assert refusal.problem.safe_to_retry
        assert "cannot be reached" in str(refusal.problem)
        assert f"127.0.0.1:{server.port}" in str(refusal.problem)
        assert SECRET not in str(refusal.problem)
        assert refusal.took < PostgresOptions().connect_seconds, "a closed port refuses at once"
    server.start()
    for one in (call, look_up, read, write):
        runner.run(as_soon_as_possible(lambda one=one: one(store)))


async def _all(*doings: Awaitable[Any]) -> list[Any]:
    return list(await asyncio.gather(*doings))


def test_a_store_cannot_be_opened_while_the_server_is_stopped(server: PostgresServer, tmp_path: Path) -> None:
    server.stop()
    address = server.address(schema="nowhere").replace("perdure@", f"perdure:{SECRET}@")
    try:
        with pytest.raises(StoreUnavailable, match="cannot be reached") as refused:
            PostgresStore(address, tmp_path / "marks.json", create=True)
    finally:
        server.start()
    assert refused.value.safe_to_retry
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_message_says_why_the_server_cannot_be_reached(server: PostgresServer, tmp_path: Path, host: str) -> None:
    """This holds for any number of addresses of the host name."""
    server.stop()
    try:
        with pytest.raises(StoreUnavailable, match="refused"):
            PostgresStore(address_through(server.address(), f"{host}:{server.port}"), tmp_path / "marks.json")
    finally:
        server.start()


def test_a_database_that_does_not_exist_is_refused_by_its_name(server: PostgresServer, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="nonesuch"):
        PostgresStore(server.address("nonesuch"), tmp_path / "marks.json", create=True)


def test_a_schema_without_a_registry_is_refused_clearly(server: PostgresServer, tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"no registry found in the schema empty .* perdure init"):
        PostgresStore(server.address(schema="empty"), tmp_path / "marks.json")


# Silent


@every_call
def test_a_silent_connection_is_closed_in_bounded_time(
    runner: asyncio.Runner, unreliable: Unreliable, call: Doing
) -> None:
    store = unreliable.open(connect_seconds=CONNECT, statement_seconds=STATEMENT, settle_seconds=STATEMENT)
    Desk(runner, store).insert(change("1/a"))
    runner.run(_all(look_up(store), read(store), write(store)))
    unreliable.proxy.black_hole()
    refusal = Refusal(runner, call, store)
    assert refusal.took < TOO_LONG
    unreliable.proxy.heal()
    runner.run(as_soon_as_possible(lambda: call(store)))


@every_call
def test_a_new_connection_without_an_answer_is_closed_in_bounded_time(
    runner: asyncio.Runner, unreliable: Unreliable, call: Doing
) -> None:
    store = unreliable.open(connect_seconds=CONNECT, statement_seconds=STATEMENT, settle_seconds=STATEMENT)
    unreliable.proxy.black_hole()
    refusal = Refusal(runner, call, store)
    assert refusal.problem.safe_to_retry
    assert refusal.took < CONNECT + 1 + GRACE
    unreliable.proxy.heal()
    runner.run(as_soon_as_possible(lambda: call(store)))


# Slow


@pytest.fixture
def impatient(unreliable: Unreliable) -> PostgresStore:
    return unreliable.open(direct=True, statement_seconds=STATEMENT, lock_seconds=LOCK)


@pytest.fixture
def another(unreliable: Unreliable) -> Iterator[psycopg.Connection]:
    """Connect as another program, which holds locks."""
    with unreliable.connect() as connection:
        yield connection


def test_a_query_times_out_after_statement_seconds(runner: asyncio.Runner, impatient: PostgresStore) -> None:
    def dawdle(reader: Any) -> None:
        reader.connection.execute("SELECT pg_sleep(60)")

    for doing in (lambda store: store.read(dawdle), lambda store: store.write(dawdle)):
        refusal = Refusal(runner, doing, impatient)
        assert "statement_seconds" in str(refusal.problem)
        assert refusal.problem.safe_to_retry
        assert refusal.took < STATEMENT + GRACE
    runner.run(_all(look_up(impatient), read(impatient), write(impatient)))


def test_waiting_for_a_locked_timeline_times_out_after_lock_seconds(
    runner: asyncio.Runner, impatient: PostgresStore, another: psycopg.Connection
) -> None:
    def tick(tx: Transaction) -> Fraction:
        last = (tx.timeline("100") or Fraction(0)) + 1
        tx.put_timeline("100", last, Fraction(1))
        return last

    desk = Desk(runner, impatient)
    assert desk.write(tick) == 1
    another.execute("SELECT last FROM timelines WHERE key = '100' FOR UPDATE")
    refusal = Refusal(runner, lambda store: store.write(tick), impatient)
    assert "lock_seconds" in str(refusal.problem)
    assert refusal.problem.safe_to_retry
    assert refusal.took < LOCK + GRACE
    assert desk.read(lambda reader: reader.timeline("100")) == 1, "to look at it needs no lock"
    another.rollback()
    assert desk.write(tick) == 2


def test_a_lock_timeout_fails_the_whole_group_and_nothing_is_written(
    runner: asyncio.Runner, impatient: PostgresStore, another: psycopg.Connection
) -> None:
    desk = Desk(runner, impatient)
    desk.write(lambda tx: tx.put_fact("held", "1"))
    another.execute("SELECT value FROM facts WHERE name = 'held' FOR UPDATE")
    works: list[Callable[[Transaction], Any]] = [
        lambda tx: tx.insert([change("1/a")]),
        lambda tx: tx.fact("held"),
        lambda tx: tx.insert([change("1/b")]),
    ]
    answers = runner.run(in_one_group(impatient, works))
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
    assert desk.names() == []
    another.rollback()
    assert runner.run(in_one_group(impatient, works)) == [None, "1", None]
    assert desk.names() == ["1/a", "1/b"]


def test_a_commit_without_an_answer_of_the_standby_is_not_acknowledged(runner: asyncio.Runner, tmp_path: Path) -> None:
    """The server waits for a standby, and there is none: the commit must not be acknowledged."""
    require_package("postgresql")
    with PostgresServer() as lonely:
        options = PostgresOptions(partitions=2, statement_seconds=STATEMENT, settle_seconds=STATEMENT)
        store = PostgresStore(lonely.address(schema="lonely"), tmp_path / "marks.json", options, create=True)
        desk = Desk(runner, store)
        desk.insert(change("1/a"))
        try:
            with psycopg.connect(lonely.address(), autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
                connection.execute("SELECT pg_reload_conf()")
            time.sleep(0.5)  # until all processes have read it
            refusal = Refusal(runner, lambda store: store.write(lambda tx: tx.insert([change("1/b")])), store)
            assert isinstance(refusal.problem, OutcomeUnknown)
        finally:
            lonely.kill()
            store.close()


# In each other's way


def test_a_missing_fact_is_locked_as_well(runner: asyncio.Runner, unreliable: Unreliable) -> None:
    stores = [unreliable.open(direct=True) for _ in range(2)]

    def count_up(name: str) -> Callable[[Transaction], int]:
        def work(tx: Transaction) -> int:
            value = int(tx.fact(name) or 0) + 1
            tx.put_fact(name, str(value))
            return value

        return work

    async def run_all() -> None:
        for number in range(60):
            counts = await asyncio.gather(*(store.write(count_up(f"count {number}")) for store in stores))
            assert sorted(counts) == [1, 2], f"of two who counted, both came to {counts}"

    runner.run(run_all())


def test_two_stores_with_the_same_timelines_in_opposite_orders_do_not_deadlock(
    runner: asyncio.Runner, unreliable: Unreliable
) -> None:
    stores = [unreliable.open(direct=True) for _ in range(2)]
    office = open_office(runner, stores[0])
    for prefix in ("100", "200"):
        office.prefix(prefix, "sequential")
    registries = [office.registry, office.registry._replace(store=stores[1])]
    deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    before = unreliable.execute(deadlocks)

    async def minting(number: int) -> list[str]:
        registry, order = registries[number], ("100", "200") if number else ("200", "100")
        names: list[str] = []
        for _ in range(25):
            mints = [mint(registry, office.admin, order[turn % 2]) for turn in range(10)]
            names += [one.name for minted in await asyncio.gather(*mints) for one in minted]
        return names

    async def both() -> list[str]:
        return [name for names in await asyncio.gather(minting(0), minting(1)) for name in names]

    names = runner.run(both())
    expected = {f"{prefix}/{number}" for prefix in ("100", "200") for number in range(1, 251)}
    assert sorted(names) == sorted(expected)
    assert office.ask(verify) == []
    time.sleep(1.1)  # the server updates its statistics once a second
    assert unreliable.execute(deadlocks) == before
