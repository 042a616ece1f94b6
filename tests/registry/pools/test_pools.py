"""Pools: how a subsystem is chosen, that the choice is recorded, and who may do what."""

import asyncio
import threading
from collections import Counter
from fractions import Fraction

import pytest
from tests.registry_fixture import ManualClock, Office, StoreFactory, open_office

from perdure.errors import ClockBehind, Conflict, InvalidInput, NameTaken, NoSuchPool, NotAuthorised
from perdure.formats import ndjson
from perdure.names import ibi
from perdure.registry import (
    add_pool,
    add_prefix,
    add_subsystem,
    change_pool,
    change_prefix,
    export,
    find_pool,
    history,
    import_entries,
    list_pools,
    mint,
    mint_once,
    remove_pool,
    verify,
)
from perdure.registry.entities import PoolPolicy
from perdure.registry.pools.pools import pool_digest
from perdure.registry.store_interface import Transaction

HOSTS = "abcd"
MEMBERS = [f"example.org/{host}" for host in HOSTS]


@pytest.fixture
def station(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    office = open_office(runner, store_factory(), ManualClock())
    add_subsystems(office)
    return office


def add_subsystems(office: Office) -> None:
    for number, host in enumerate(HOSTS):
        office.do(add_subsystem, f"{host}.example.org", f"150.163.34.{number}")


def host_of(name: str) -> str:
    label = ibi.parse_repository(name)
    return label.host[0]


def test_the_subsystem_that_waits_least_is_chosen(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS)
    begun = station.clock.now
    hosts = [host_of(station.do(mint, "main")[0].name) for _ in HOSTS]
    assert sorted(hosts) == sorted(HOSTS)
    assert station.clock.now == begun  # none had to wait for another
    assert station.clock.waits == [0, 0, 0, 0]
    station.do(mint, "main")
    assert station.clock.waits[-1] == 1


def test_a_finer_granularity_waits_less(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS)
    station.do(change_prefix, MEMBERS[2], granularity=Fraction(1, 1000))
    hosts = Counter(host_of(station.do(mint, "main")[0].name) for _ in range(20))
    assert hosts["c"] == 17
    assert station.clock.waits[-1] == Fraction(1, 1000)


def test_round_robin_takes_one_after_the_other(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS, policy="round-robin")
    hosts = "".join(host_of(station.do(mint, "main")[0].name) for _ in range(12))
    assert hosts in HOSTS * 5


def test_one_key_of_an_item_always_leads_to_one_subsystem(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS, policy="hash")
    first = {key: host_of(station.do(mint, "main", item_key=key)[0].name) for key in map(str, range(40))}
    assert set(first.values()) == set(HOSTS)
    station.clock.step(100)
    assert all(host_of(station.do(mint, "main", item_key=key)[0].name) == host for key, host in first.items())
    station.do(change_pool, "main", members=[*reversed(MEMBERS[:3])])  # only the keys of d have another one now
    station.clock.step(100)
    for key, host in first.items():
        now = host_of(station.do(mint, "main", item_key=key)[0].name)
        assert now == host or host == "d"


def test_an_item_key_is_needed_by_hash_and_refused_elsewhere(station: Office) -> None:
    station.do(add_pool, "hashed", MEMBERS, policy="hash")
    station.do(add_pool, "main", MEMBERS)
    for target, key in (("hashed", None), ("hashed", ""), ("main", "x"), (MEMBERS[0], "x"), ("hashed", "x" * 1001)):
        with pytest.raises(InvalidInput, match="key"):
            station.do(mint, target, item_key=key)


@pytest.mark.parametrize("policy", ["least-waiting", "round-robin", "hash"])
def test_a_subsystem_that_is_too_far_ahead_is_passed_over(station: Office, policy: str) -> None:
    station.do(add_pool, "main", MEMBERS, policy=policy)

    def move_ahead(tx: Transaction) -> None:
        for member in MEMBERS[:3]:
            tx.put_timeline(member, station.clock.now + 3600, Fraction(0))

    station.run(station.registry.store.write(move_ahead))
    key = "x" if policy == "hash" else None
    for _ in range(3):
        assert host_of(station.do(mint, "main", item_key=key)[0].name) == "d"
    station.run(
        station.registry.store.write(lambda tx: tx.put_timeline(MEMBERS[3], station.clock.now + 60, Fraction(0)))
    )
    with pytest.raises(ClockBehind) as problem:
        station.do(mint, "main", item_key=key)
    assert problem.value.timeline == MEMBERS[3]  # the shortest wait


@pytest.mark.parametrize("locations", ["postgres"], indirect=True)  # an SQLite database has one writer
@pytest.mark.parametrize("policy", ["least-waiting", "round-robin"])
def test_minting_does_not_queue_behind_a_timeline_that_another_process_holds(
    station: Office, store_factory: StoreFactory, policy: PoolPolicy
) -> None:
    station.do(add_pool, "main", MEMBERS, policy=policy)
    station.do(mint, "main", len(MEMBERS))
    station.clock.step(10)
    other = station.reopen(store_factory())
    is_held, may_end = threading.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        tx.timeline(MEMBERS[0])
        is_held.set()
        may_end.wait(30)

    async def mint_meanwhile() -> list[str]:
        holding = asyncio.create_task(other.registry.store.write(hold))
        await asyncio.to_thread(is_held.wait, 30)
        try:
            names = [(await mint(station.registry, station.admin, "main"))[0].name for _ in range(6)]
            blocked = asyncio.create_task(mint(station.registry, station.admin, MEMBERS[0]))
            await asyncio.sleep(0.2)
            assert not blocked.done()
        finally:
            may_end.set()
        await holding
        return [*names, (await blocked)[0].name]

    *pooled, named = [host_of(name) for name in station.run(mint_meanwhile())]
    assert set(pooled) == {"b", "c", "d"}
    assert named == "a"


def test_several_names_are_spread_over_the_pool(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS)
    minted = station.do(mint, "main", 10)
    assert sorted(Counter(host_of(one.name) for one in minted).values()) == [2, 2, 3, 3]
    assert len({one.name for one in minted}) == 10
    assert station.clock.waits == [2]
    once = station.run(mint_once(station.registry, station.admin, "main", 9, token="t", digest=b"d"))
    again = station.run(mint_once(station.registry, station.admin, "main", 9, token="t", digest=b"d"))
    assert (again.minted, again.replayed) == (once.minted, True)


def test_the_choice_is_recorded_with_the_item(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS)
    pooled, named = station.do(mint, "main")[0], station.do(mint, MEMBERS[0])[0]
    notes = [station.ask(history, one.name)[0].note for one in (pooled, named)]
    assert notes == ["subsystem chosen from the pool main by least-waiting", None]


def test_only_subsystems_that_the_agent_may_use_are_chosen(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS)
    jan = station.hire("jan", MEMBERS[1], "mint")
    hosts = {host_of(station.by(jan, mint, "main")[0].name) for _ in range(5)}
    assert hosts == {"b"}
    with pytest.raises(NotAuthorised):
        station.by(station.hire("eva"), mint, "main")


def test_only_an_administrator_of_the_whole_registry_changes_pools(station: Office) -> None:
    station.do(add_pool, "main", MEMBERS)
    jan = station.hire("jan", MEMBERS[0], "mint", "admin")
    before = station.snapshot()
    for use_case, arguments, options in (
        (add_pool, ("other", MEMBERS), {}),
        (change_pool, ("main",), {"policy": "hash"}),
        (remove_pool, ("main",), {}),
    ):
        with pytest.raises(NotAuthorised):
            station.by(jan, use_case, *arguments, **options)
    assert station.snapshot() == before


def test_changes_are_checked_against_what_was_read(station: Office) -> None:
    pool = station.do(add_pool, "main", MEMBERS)
    station.do(change_pool, "main", policy="hash", expected=pool_digest(pool))
    for use_case, options in ((change_pool, {"policy": "hash"}), (remove_pool, {})):
        with pytest.raises(Conflict):
            station.do(use_case, "main", expected=pool_digest(pool), **options)
    station.do(remove_pool, "main")
    with pytest.raises(NoSuchPool):
        station.ask(find_pool, "main")
    actions = [event.action for event in station.events() if event.subject == "main"]
    assert actions == ["pool remove", "pool change", "pool add"]


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "ä", "x" * 65, "A"])
def test_names_that_are_no_names_of_pools_are_refused(station: Office, name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        station.do(add_pool, name, MEMBERS)
    with pytest.raises(NoSuchPool):
        station.ask(find_pool, name)


def test_a_pool_and_a_prefix_never_have_the_same_name(station: Office) -> None:
    station.do(add_prefix, "12345")
    station.do(add_pool, "67890", MEMBERS)
    for attempt in (lambda: station.do(add_pool, "12345", MEMBERS), lambda: station.do(add_prefix, "67890")):
        with pytest.raises(NameTaken):
            attempt()
    with pytest.raises(NameTaken):
        station.do(add_pool, "67890", MEMBERS)


def test_only_subsystems_can_be_in_a_pool(station: Office) -> None:
    station.do(add_prefix, "12345")
    for members in ([], ["12345"], [MEMBERS[0], MEMBERS[0].upper()], [MEMBERS[0]] * 101):
        with pytest.raises(InvalidInput):
            station.do(add_pool, "main", members)
    with pytest.raises(InvalidInput, match="policy"):
        station.do(add_pool, "main", MEMBERS, policy="best")
    assert station.ask(list_pools) == []


def test_an_export_brings_pools_to_another_registry(station: Office, store_factory: StoreFactory) -> None:
    station.do(add_pool, "main", MEMBERS, policy="round-robin")

    async def write_export() -> bytes:
        return b"".join([data async for _, data in export(station.registry, station.admin)])

    lines = station.run(write_export()).splitlines(keepends=True)
    other = open_office(station.runner, store_factory("other"), ManualClock())
    other.do(import_entries, list(ndjson.read(enumerate(lines, 1))))
    assert [(one.name, one.policy, one.members) for one in other.ask(list_pools)] == [
        ("main", "round-robin", tuple(MEMBERS))
    ]
    assert station.ask(verify) == []
