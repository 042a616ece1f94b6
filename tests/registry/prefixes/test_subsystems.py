"""An IBI subsystem lives for decades: its host and its IP address change, its timeline and its labels stay."""

import asyncio
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.registry_fixture import NOON, ManualClock, Office, StoreFactory, open_office

from perdure import ibi
from perdure.errors import Conflict, InvalidInput, LabelPrefixTaken, NotAuthorised
from perdure.registry import (
    AddressChange,
    IdentifierQuery,
    Statement,
    add_prefix,
    add_resolutions,
    add_subsystem,
    change_prefix,
    list_identifiers,
    mint,
    names_under,
    prefix_statistics,
    reopen,
    resolve,
    show,
    verify,
)
from perdure.registry.entities import LabelKind, LabelPeriod, Prefix, ResolutionCount
from perdure.registry.handles import list_handles
from perdure.registry.name_keys import require_prefix
from perdure.registry.prefixes.label_periods import change_periods, is_continued_by
from perdure.registry.prefixes.prefix_etag import settings_digest
from perdure.registry.store_interface import Transaction

HOST, IP = "mtc-m18.sid.inpe.br", "150.163.34.243"
PREFIX, OPAQUE = "sid.inpe.br/mtc-m18", "8JMKD3MGP8W"
NEW_HOST, NEW_IP = "mtc-m21b.sid.inpe.br", "150.163.34.250"
NEW_PREFIX, NEW_OPAQUE = "sid.inpe.br/mtc-m21b", "8JMKD3MGPGW"
TARGET = Statement(target="https://example.org/thing")


@pytest.fixture
def station(office: Office) -> Office:
    office.do(add_subsystem, HOST, IP)
    return office


def move(office: Office, prefix: str = PREFIX, **address: Any) -> Prefix:
    return office.do(change_prefix, prefix, address=AddressChange(**address))


def label_prefixes(office: Office, prefix: str = PREFIX) -> tuple[str, str | None]:
    """Mint, and return the prefixes of the labels."""
    [minted] = office.do(mint, prefix, statement=TARGET)
    assert minted.date is not None
    parsed = [ibi.parse(label) for label in (minted.name, minted.alias) if label is not None]
    assert {label.date for label in parsed} == {minted.date}
    return parsed[0].prefix, parsed[1].prefix if len(parsed) > 1 else None


def read_subsystem(office: Office, prefix: str = PREFIX) -> Prefix:
    return office.read(lambda reader: require_prefix(reader, prefix))


def test_another_host_begins_another_label_prefix_on_the_same_timeline(station: Office) -> None:
    before = station.do(mint, PREFIX, 3, statement=TARGET)
    move(station, host=NEW_HOST)
    after = station.do(mint, PREFIX, 3, statement=TARGET)
    assert {ibi.parse(one.name).prefix for one in after} == {NEW_PREFIX}
    assert {ibi.parse(one.alias or "").prefix for one in after} == {OPAQUE}
    dates = [one.date for one in [*before, *after]]
    assert dates == sorted(set(dates))
    timelines = station.read(lambda reader: reader.timelines())
    assert [key for key in timelines if "/" in key] == [PREFIX]
    assert station.ask(verify) == []


def test_everything_that_was_issued_keeps_resolving(station: Office) -> None:
    minted = station.do(mint, PREFIX, statement=TARGET)
    move(station, host=NEW_HOST, ip=NEW_IP, ip_port=802)
    minted += station.do(mint, PREFIX, statement=TARGET)
    for one in minted:
        for label in (one.name, one.alias, one.name.upper(), f"ibi:{one.alias}"):
            assert station.ask(resolve, label).target == TARGET.target
        assert station.ask(show, one.alias).names == (one.name, one.alias)


def test_the_periods_are_recorded_and_follow_each_other(station: Office) -> None:
    added = read_subsystem(station).created
    station.clock.step(100)
    move(station, host=NEW_HOST)
    station.clock.step(100)
    move(station, ip=NEW_IP)
    moved = [one.started for one in read_subsystem(station).periods if one.ended is None]
    assert read_subsystem(station).periods == (
        LabelPeriod(PREFIX, "name", added, moved[0]),
        LabelPeriod(OPAQUE.lower(), "address", added, moved[1]),
        LabelPeriod(NEW_PREFIX, "name", moved[0]),
        LabelPeriod(NEW_OPAQUE.lower(), "address", moved[1]),
    )
    assert added < moved[0] < moved[1]
    assert read_subsystem(station).current_label_prefixes == (NEW_PREFIX, NEW_OPAQUE)
    events = [one for one in station.events() if one.action == "prefix change"]
    assert [one.detail.partition("labels ")[2] for one in events] == [
        f"{NEW_PREFIX} and {NEW_OPAQUE}",
        f"{NEW_PREFIX} and {OPAQUE}",
    ]


def test_a_period_ends_after_its_last_date_although_that_is_ahead_of_the_clock(station: Office) -> None:
    station.do(change_prefix, PREFIX, granularity=60)
    now = station.clock.now
    minted = station.do(mint, PREFIX, 2)
    station.clock.now = now
    move(station, host=NEW_HOST)
    [ended] = [one for one in read_subsystem(station).periods if one.ended is not None]
    assert minted[-1].date is not None
    assert minted[-1].date > now
    assert ended.ended == "2027-01-15T08:01:00.000000Z"
    assert station.ask(verify) == []


@pytest.mark.parametrize("name", [PREFIX, OPAQUE, NEW_PREFIX, NEW_OPAQUE.lower()])
def test_every_label_prefix_means_the_subsystem(station: Office, name: str) -> None:
    move(station, host=NEW_HOST, ip=NEW_IP)
    assert read_subsystem(station, name) == read_subsystem(station)
    assert label_prefixes(station, name) == (NEW_PREFIX, NEW_OPAQUE)


def test_a_subsystem_may_return_to_an_address(station: Office) -> None:
    for host in (NEW_HOST, HOST, NEW_HOST, HOST):  # at one instant of the clock
        move(station, host=host)
    assert label_prefixes(station) == (PREFIX, OPAQUE)
    names = [one.label for one in read_subsystem(station).periods if one.kind == "name"]
    assert names == [PREFIX, NEW_PREFIX, PREFIX, NEW_PREFIX, PREFIX]
    assert station.ask(verify) == []


@pytest.mark.parametrize("address", [{"host": HOST}, {"ip": IP, "port": 80}, {"host": "MTC-M18.sid.inpe.br."}])
def test_the_same_address_begins_no_period(station: Office, address: dict[str, Any]) -> None:
    before = read_subsystem(station)
    assert move(station, **address) == before


def test_a_new_port_is_a_new_label_prefix(station: Office) -> None:
    move(station, port=1905, ip_port=802)
    assert label_prefixes(station) == (f"{PREFIX}.1905", ibi.opaque_prefix(IP, 802))


def test_no_other_subsystem_gets_a_label_prefix_that_was_used_once(station: Office) -> None:
    station.clock.step(100)
    move(station, host=NEW_HOST, ip=NEW_IP)
    old, new = read_subsystem(station).periods[0], read_subsystem(station).periods[-1]
    attempts: Sequence[tuple[str | None, str | None, str, LabelPeriod]] = (
        (HOST, None, PREFIX, old),
        (None, IP, OPAQUE, old),
        (NEW_HOST, "150.163.34.9", NEW_PREFIX, new),
        ("other.inpe.br", NEW_IP, NEW_OPAQUE, new),
    )
    for host, ip, label, period in attempts:
        with pytest.raises(LabelPrefixTaken) as refusal:
            station.do(add_subsystem, host, ip)
        assert refusal.value.args == (label, PREFIX, period.started, period.ended)
    station.do(add_subsystem, "other.inpe.br", "150.163.34.9")
    before = station.snapshot()
    for address in ({"host": HOST}, {"ip": IP}, {"host": NEW_HOST}, {"host": "free.inpe.br", "ip": NEW_IP}):
        with pytest.raises(LabelPrefixTaken):
            move(station, "inpe.br/other", **address)
    assert station.snapshot() == before


def test_a_new_address_may_not_begin_as_handles_do(station: Office) -> None:
    station.do(add_prefix, "gov.br", minter="chosen")
    with pytest.raises(InvalidInput, match="same beginning"):
        move(station, host="inpe.gov.br")
    move(station, host="a.org.br")
    move(station, host=HOST)
    with pytest.raises(InvalidInput, match="same beginning"):
        station.do(add_prefix, "org.br", minter="chosen")


def test_a_subsystem_with_a_host_alone_mints_repository_names(office: Office) -> None:
    added = office.do(add_subsystem, HOST, None)
    assert (added.name, added.opaque) == (PREFIX, None)
    assert label_prefixes(office) == (PREFIX, None)
    move(office, ip=IP)
    assert label_prefixes(office) == (PREFIX, OPAQUE)
    move(office, no_ip=True)
    [minted] = office.do(mint, PREFIX, statement=TARGET)
    assert minted.alias is None
    assert office.ask(resolve, minted.name).target == TARGET.target
    assert office.ask(show, minted.name).names == (minted.name,)
    assert office.ask(verify) == []


def test_a_subsystem_with_an_ip_address_alone_mints_ibips(office: Office) -> None:
    added = office.do(add_subsystem, None, IP)
    assert (added.name, added.key, added.opaque) == (OPAQUE, OPAQUE.lower(), OPAQUE.lower())
    assert label_prefixes(office, OPAQUE) == (OPAQUE, None)
    move(office, OPAQUE, host=HOST)
    assert label_prefixes(office, OPAQUE) == (PREFIX, OPAQUE)
    move(office, OPAQUE, ip=NEW_IP)
    assert label_prefixes(office, PREFIX) == (PREFIX, NEW_OPAQUE)
    rows = office.do(list_identifiers, OPAQUE).identifiers
    assert sorted(row.name.rpartition("/")[0].removesuffix("/2027") for row in rows) == [OPAQUE, PREFIX, PREFIX]
    assert office.ask(verify) == []


def test_a_subsystem_without_any_address_is_refused(station: Office) -> None:
    with pytest.raises(InvalidInput):
        station.do(add_subsystem, None, None)
    move(station, no_host=True)
    with pytest.raises(InvalidInput, match="a host, an IP address, or both"):
        move(station, no_ip=True)


@pytest.mark.parametrize(
    ("address", "part"),
    [
        ({"host": "localhost"}, "host"),
        ({"ip": "150.163.34"}, "ip"),
        ({"ip": "192.168.1.1"}, "ip"),
        ({"port": 0}, "port"),
        ({"no_host": True, "host": NEW_HOST}, "host"),
        ({"no_ip": True, "ip_port": 801}, "ip"),
    ],
)
def test_an_address_that_makes_no_label_changes_nothing(station: Office, address: dict[str, Any], part: str) -> None:
    before = station.snapshot()
    with pytest.raises(InvalidInput) as refusal:
        move(station, **address)
    assert refusal.value.part == part
    assert station.snapshot() == before


def test_a_port_that_no_label_would_contain_is_refused(station: Office) -> None:
    with pytest.raises(InvalidInput, match="give the host"):
        station.do(add_subsystem, None, NEW_IP, port=8080)
    with pytest.raises(InvalidInput, match="give the IP address"):
        station.do(add_subsystem, NEW_HOST, None, ip_port=801)
    move(station, no_ip=True)
    with pytest.raises(InvalidInput, match="give the IP address"):
        move(station, ip_port=801)
    move(station, ip=NEW_IP, ip_port=801, no_host=True)
    with pytest.raises(InvalidInput, match="give the host"):
        move(station, port=8080)


@pytest.mark.parametrize(
    "address", [{"host": "example.org:8080"}, {"ip": "150.163.34.250:801"}, {"ip": "[2001:4860:4860::8888]:801"}]
)
def test_a_port_belongs_in_its_own_option(station: Office, address: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="and the port apart"):
        move(station, **address)


def test_a_private_address_needs_the_option_each_time(station: Office) -> None:
    move(station, ip="192.168.1.1", private=True)
    move(station, host=NEW_HOST)
    with pytest.raises(InvalidInput):
        move(station, ip="192.168.1.2")


def test_only_a_subsystem_has_an_address(office: Office) -> None:
    office.prefix("12345")
    with pytest.raises(InvalidInput, match="12345 is not one"):
        move(office, "12345", host=HOST)


def test_an_administrator_of_the_prefix_changes_the_address(station: Office) -> None:
    jan, maria = station.hire("jan", PREFIX, "mint"), station.hire("maria", PREFIX, "admin")
    change = AddressChange(host=NEW_HOST)
    with pytest.raises(NotAuthorised):
        station.by(jan, change_prefix, PREFIX, address=change)
    station.by(maria, change_prefix, PREFIX, address=change)
    assert station.by(jan, mint, NEW_PREFIX)[0].name.startswith(NEW_PREFIX)


def test_an_address_that_was_changed_meanwhile_is_not_overwritten(station: Office) -> None:
    seen = settings_digest(read_subsystem(station))
    move(station, host=NEW_HOST)
    with pytest.raises(Conflict):
        station.do(change_prefix, PREFIX, address=AddressChange(host="third.inpe.br"), expected=seen)


def test_a_subsystem_is_listed_whole_and_each_label_prefix_alone(station: Office) -> None:
    first = station.do(mint, PREFIX, 2, statement=TARGET)
    move(station, host=NEW_HOST, ip=NEW_IP)
    second = station.do(mint, PREFIX, 2, statement=TARGET)
    names = sorted(one.name for one in [*first, *second])

    def list_names(prefix: str, limit: int = 100) -> list[str]:
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            rows, after = station.do(list_identifiers, prefix, after=after, limit=limit)
            found += [row.name for row in rows]
        return found

    async def under(prefix: str) -> list[str]:
        return [name async for chunk in names_under(station.registry, prefix) for name in chunk]

    for prefix in (PREFIX, OPAQUE, NEW_PREFIX, NEW_OPAQUE):
        assert list_names(prefix) == list_names(prefix, 1) == station.run(under(prefix)) == names
    assert list_names(f"{PREFIX}/") == [one.name for one in first]
    assert list_names(f"{NEW_OPAQUE}/") == station.run(under(f"{NEW_OPAQUE}/")) == [one.alias for one in second]
    query = IdentifierQuery(prefix=PREFIX, target_contains="nowhere")
    assert station.do(list_identifiers, query=query).identifiers == []
    assert station.do(list_handles, NEW_PREFIX, 0, 10) == (2, [one.name for one in second])


def test_statistics_of_a_subsystem_are_those_of_all_its_labels(station: Office) -> None:
    [first] = station.do(mint, PREFIX, statement=TARGET)
    move(station, host=NEW_HOST)
    [second] = station.do(mint, PREFIX, statement=TARGET)
    assert second.alias is not None
    counts = [(first.name, 2), (second.name, 3), (second.alias.lower(), 5)]
    entries = [ResolutionCount(key, "2026-11-02", "browser", count) for key, count in counts]
    station.run(add_resolutions(station.registry, entries))
    found = station.do(prefix_statistics, NEW_PREFIX)
    assert (found.prefix, [one.total for one in found.periods]) == (PREFIX, [10])
    assert [(one.name, one.total) for one in found.names] == [(second.alias, 5), (second.name, 3), (first.name, 2)]
    alone = station.do(prefix_statistics, f"{NEW_PREFIX}/")
    assert (alone.prefix, [one.total for one in alone.periods]) == (NEW_PREFIX, [3])


def test_a_mint_of_another_process_never_has_a_label_of_the_past(station: Office, store_factory: StoreFactory) -> None:
    station.do(change_prefix, PREFIX, granularity=Fraction(1, 1000))
    stores = [store_factory() for _ in range(3)]
    hosts = [NEW_HOST, HOST, "a.inpe.br", "b.inpe.br"]

    async def run_all() -> None:
        first, second, third = [await reopen(one, station.clock, station.registry.settings) for one in stores]

        async def mint_some(registry: Any) -> None:
            for _ in range(20):
                await mint(registry, station.admin, PREFIX, 2)

        async def change() -> None:
            for host in hosts:
                await change_prefix(third, station.admin, PREFIX, address=AddressChange(host=host))
                await asyncio.sleep(0.02)

        await asyncio.gather(mint_some(first), mint_some(second), change())

    station.run(run_all())
    assert station.ask(verify) == []
    assert label_prefixes(station)[0] == "inpe.br/b"


def test_two_processes_never_give_one_address_to_two_timelines(station: Office, store_factory: StoreFactory) -> None:
    stores = [store_factory() for _ in range(2)]
    station.do(add_subsystem, "other.inpe.br", "150.163.34.9")

    async def attempt_all() -> list[Any]:
        first, second = [await reopen(one, station.clock, station.registry.settings) for one in stores]
        by = station.admin
        outcomes: list[Any] = []
        for number in range(5):
            host, ip = f"h{number}.inpe.br", f"150.163.35.{number}"
            outcomes += await asyncio.gather(
                add_subsystem(first, by, host, None),
                add_subsystem(second, by, host, f"150.163.36.{number}"),
                return_exceptions=True,
            )
            outcomes += await asyncio.gather(
                change_prefix(first, by, PREFIX, address=AddressChange(ip=ip)),
                change_prefix(second, by, "inpe.br/other", address=AddressChange(ip=ip)),
                return_exceptions=True,
            )
        return outcomes

    outcomes = station.run(attempt_all())
    for pair in zip(outcomes[::2], outcomes[1::2], strict=True):
        assert sorted(type(one) for one in pair if not isinstance(one, Prefix)) == [LabelPrefixTaken]
    labels = [label for one in station.read(lambda reader: reader.prefixes()) for label in one.lookup_keys]
    assert len(labels) == len(set(labels))
    assert station.ask(verify) == []


def test_verify_finds_a_label_of_a_period_that_had_ended(station: Office) -> None:
    station.clock.step(10)
    move(station, host=NEW_HOST)
    station.clock.step(10)

    def forge(tx: Transaction) -> None:
        prefix = require_prefix(tx, PREFIX)
        assert prefix.subsystem is not None
        old = msgspec.structs.replace(prefix.subsystem, host=HOST)
        tx.put_prefix(msgspec.structs.replace(prefix, subsystem=old))

    station.run(station.registry.store.write(forge))
    [minted] = station.do(mint, PREFIX)
    problems = station.ask(verify)
    assert f"{PREFIX}: the label periods that have no end are not those of its host and IP address" in problems
    assert f"{minted.name}: its date is after the end of the period in which its label prefix was in use" in problems


def test_a_change_survives_a_restart(station: Office, store_factory: StoreFactory) -> None:
    move(station, host=NEW_HOST)
    before = read_subsystem(station)
    station.registry.store.close()
    again = station.reopen(store_factory())
    assert read_subsystem(again, NEW_PREFIX) == before
    assert label_prefixes(again) == (NEW_PREFIX, OPAQUE)


def test_a_clock_that_steps_back_between_two_addresses_repeats_no_date(
    runner: asyncio.Runner, store_factory: StoreFactory
) -> None:
    office = open_office(runner, store_factory("back"), ManualClock(NOON))
    office.do(add_subsystem, HOST, IP)
    dates = [one.date for one in office.do(mint, PREFIX, 3)]
    office.clock.step(-5)
    move(office, host=NEW_HOST)
    dates += [one.date for one in office.do(mint, PREFIX, 3)]
    assert dates == sorted(set(dates))
    assert office.ask(verify) == []


labels = st.fixed_dictionaries({}, optional={"name": st.sampled_from("abc"), "address": st.sampled_from("xyz")})


@given(st.lists(labels, min_size=1, max_size=8))
def test_periods_of_one_kind_follow_each_other_without_a_gap_in_the_last_labels(
    changes: list[dict[LabelKind, str]],
) -> None:
    periods: tuple[LabelPeriod, ...] = ()
    for number, current in enumerate(changes):
        before = periods
        periods = change_periods(periods, current, f"{number:02d}")
        assert {one.kind: one.label for one in periods if one.ended is None} == current
        assert is_continued_by(before, periods)
        assert is_continued_by(periods, before) == (periods == before)
        for kind in ("name", "address"):
            of_kind = [one for one in periods if one.kind == kind]
            assert all(one.ended is not None and one.started < one.ended for one in of_kind[:-1])
            assert all(one.ended <= two.started for one, two in pairwise(of_kind) if one.ended)
