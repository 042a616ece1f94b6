"""IBI: one item, one instant, two labels."""

import asyncio
from fractions import Fraction

import pytest
from tests.registry_fixture import ManualClock, Office, StoreFactory, open_office, set_target

from perdure import ibi
from perdure.errors import ClockBehind, InvalidInput, NameTaken, WrongState
from perdure.registry import (
    Settings,
    Statement,
    add_subsystem,
    bind,
    change_prefix,
    find_by_value,
    history,
    mint,
    reopen,
    resolve,
    show,
    verify,
    withdraw,
)
from perdure.registry.idempotency import IssuedMint, issue_once

HOST, IP = "mtc-m18.sid.inpe.br", "150.163.34.243"
PREFIX = "sid.inpe.br/mtc-m18"
FAST = "example.org/fast"
TARGET = Statement(target="https://example.org/thing")

# The standard's Table 6.2: when the request came, its creation date, the date of the label, the label's second half.
TABLE_6_2 = [
    ("1287587646.394023", 1287587646, 1287587646, "2010/10.20.15.14.06"),
    ("1287588012.2930", 1287588012, 1287588000, "2010/10.20.15.20"),
    ("1287588115.186234", 1287588115, 1287588060, "2010/10.20.15.21"),
    ("1287588115.3462", 1287588115, 1287588115, "2010/10.20.15.21.55"),
    ("1287588115.99623", 1287588116, 1287588116, "2010/10.20.15.21.56"),
    ("1287588116.72", 1287588117, 1287588117, "2010/10.20.15.21.57"),
    ("1287588539.788342", 1287588539, 1287588480, "2010/10.20.15.28"),
]


@pytest.fixture
def station(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    office = open_office(runner, store_factory(), ManualClock(TABLE_6_2[0][0]))
    office.do(add_subsystem, HOST, IP)
    return office


def test_table_6_2_through_the_whole_registry(station: Office) -> None:
    for now, creation, date, suffix in TABLE_6_2:
        station.clock.now = Fraction(now)
        (minted,) = station.do(mint, PREFIX)
        assert minted.name == f"{PREFIX}/{suffix}"
        assert minted.alias == f"8JMKD3MGP8W/{ibi.opaque_suffix(date)}"
        assert minted.date == date
        assert station.clock.now == max(Fraction(now), Fraction(creation))


def test_dates_for_which_requests_wait_are_no_damage_and_later_ones_are(station: Office) -> None:
    station.do(add_subsystem, "minutes.example.org", None, granularity=60)
    for _ in range(station.registry.settings.steps_ahead):  # in one moment: the clock of the tests does not advance
        station.do(issue_once, "example.org/minutes", patience=Fraction(3600), steps=60)
    assert station.ask(verify) == []
    station.clock.step(-200)
    assert [one for one in station.ask(verify) if "example.org/minutes: its last date is" in one]


def test_simultaneous_requests_for_one_target_learn_of_each_other(station: Office) -> None:
    """The requests of a group share one transaction: each one sees what those before it issued."""
    station.do(add_subsystem, "fast.example.org", None, granularity=Fraction(1, 1000))

    async def issue(target: str) -> IssuedMint:
        statement = Statement(target=target)
        return await issue_once(station.registry, station.admin, FAST, statement=statement, labels_only=True)

    async def issue_all() -> list[IssuedMint]:
        return await asyncio.gather(*(issue(f"https://example.org/{number % 2}") for number in range(8)))

    issued = station.run(issue_all())
    for target in range(2):
        same = sorted(issued[target::2], key=lambda one: one.minted[0].date or 0)
        names = [one.minted[0].name for one in same]
        assert [set(one.also_known) for one in same] == [set(names[:number]) for number in range(len(names))]
    again = station.do(issue_once, FAST, statement=Statement(target="https://example.org/0"), labels_only=True)
    assert set(again.also_known) == {one.minted[0].name for one in issued[::2]}


def test_table_6_2_with_a_restart_before_every_row(station: Office, store_factory: StoreFactory) -> None:
    for now, _, _, suffix in TABLE_6_2:
        station.registry.store.close()
        station = station.reopen(store_factory())
        station.clock.now = Fraction(now)
        assert station.do(mint, PREFIX)[0].name == f"{PREFIX}/{suffix}"


def test_both_labels_lead_to_the_same_target(station: Office) -> None:
    (minted,) = station.do(mint, PREFIX, statement=TARGET)
    assert minted.alias is not None
    for label in (minted.name, minted.alias):
        assert station.ask(resolve, label) == (label, "https://example.org/thing", 1)
        assert station.ask(show, label).names == (minted.name, minted.alias)


def test_the_pair_of_the_standard_is_reproduced(station: Office) -> None:
    station.clock.now = Fraction(1234806360)
    (minted,) = station.do(mint, PREFIX)
    assert minted[:2] == ("sid.inpe.br/mtc-m18/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS")


@pytest.mark.parametrize("which", [0, 1])
def test_a_change_under_one_label_is_a_change_under_both(station: Office, which: int) -> None:
    minted = station.do(mint, PREFIX)[0]
    station.do(bind, minted[which], TARGET)
    station.do(set_target, minted[1 - which], "https://example.org/moved")
    for label in minted[:2]:
        assert station.ask(resolve, label).target == "https://example.org/moved"
        assert [revision.action for revision in station.ask(history, label)] == ["mint", "bind", "set"]
    assert station.contradictions() == []


def test_a_pair_is_withdrawn_as_one(station: Office) -> None:
    minted = station.do(mint, PREFIX, statement=TARGET)[0]
    station.do(withdraw, minted.alias, "gone")
    assert station.ask(show, minted.name).state == "withdrawn"
    assert station.ask(find_by_value, "https://example.org/thing") == []


def test_reverse_look_up_names_the_pair_once(station: Office) -> None:
    minted = station.do(mint, PREFIX, statement=TARGET)[0]
    assert [found.name for found in station.ask(find_by_value, "https://example.org/thing")] == [minted.name]


def test_labels_are_compared_without_case(station: Office) -> None:
    minted = station.do(mint, PREFIX, statement=TARGET)[0]
    assert minted.alias is not None
    for label in (minted.name.upper(), minted.alias.lower(), f"ibi:{minted.name}", f"http://urlib.net/{minted.alias}"):
        assert station.ask(resolve, label).target == "https://example.org/thing"


def test_dates_never_go_back_on_a_coarser_grid(station: Office) -> None:
    """Whole minutes after seconds: the next label has a later minute, even after a long wait."""
    minted = station.do(mint, PREFIX, 3)
    station.do(change_prefix, PREFIX, granularity=60)
    coarse = station.do(mint, PREFIX, 2)
    station.do(change_prefix, PREFIX, granularity=Fraction(1, 100))
    fine = station.do(mint, PREFIX, 30)
    dates = [one.date for one in [*minted, *coarse, *fine]]
    assert dates == sorted(set(dates))
    assert all(one.date % 60 == 0 for one in coarse if one.date)
    assert station.contradictions() == []


def test_the_finest_grid_is_exact(station: Office) -> None:
    station.do(change_prefix, PREFIX, granularity=Fraction(1, 10**6))
    dates = [one.date for one in station.do(mint, PREFIX, 600)]
    assert len(set(dates)) == 600
    assert dates == sorted(dates)


def test_a_request_on_a_grid_of_minutes_may_wait_a_minute_but_no_hour(station: Office) -> None:
    station.do(change_prefix, PREFIX, granularity=60)
    station.do(mint, PREFIX, 2)
    assert 0 < station.clock.waits[-1] <= 60
    station.clock.step(-3600)
    with pytest.raises(ClockBehind) as refusal:
        station.do(mint, PREFIX)
    assert refusal.value.timeline == PREFIX


def test_a_clock_that_steps_back_repeats_no_date(station: Office) -> None:
    before = station.do(mint, PREFIX, 3)
    station.clock.step(-5)
    after = station.do(mint, PREFIX, 3)
    dates = [one.date for one in before + after]
    assert dates == sorted(set(dates))


def test_two_stores_on_one_subsystem_share_no_date(station: Office, store_factory: StoreFactory) -> None:
    station.do(change_prefix, PREFIX, granularity=Fraction(1, 1000))
    stores = [store_factory(), store_factory()]

    async def both() -> list[str]:
        names: list[str] = []

        async def mint_twenty(number: int) -> None:
            registry = await reopen(stores[number % 2], station.clock, station.registry.settings)
            for _ in range(10):
                names.extend(one.name for one in await mint(registry, station.admin, PREFIX, 2))

        await asyncio.gather(*(mint_twenty(number) for number in range(4)))
        return names

    names = station.run(both())
    assert len(set(names)) == len(names) == 80
    assert station.contradictions() == []


def test_either_address_belongs_to_one_subsystem_only(station: Office) -> None:
    with pytest.raises(NameTaken):
        station.do(add_subsystem, HOST, "150.163.34.244")
    with pytest.raises(NameTaken):
        station.do(add_subsystem, "other.sid.inpe.br", IP)
    station.do(add_subsystem, "other.sid.inpe.br", IP, ip_port=802)
    station.do(add_subsystem, HOST, "150.163.34.244", port=1905)


@pytest.mark.parametrize("ip", ["127.0.0.1", "192.168.1.1", "10.0.0.1", "fd00::1", "::1"])
def test_private_addresses_need_an_explicit_option(station: Office, ip: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        station.do(add_subsystem, "laptop.example.org", ip)
    assert refusal.value.part == "ip"
    station.do(add_subsystem, "laptop.example.org", ip, private=True)
    minted = station.do(mint, "example.org/laptop", statement=TARGET)[0]
    assert station.ask(resolve, minted.alias).target == "https://example.org/thing"


@pytest.mark.parametrize("granularity", [0, 2, 30, Fraction(1, 3), -1, 0.1])
def test_only_grids_of_the_standard_are_accepted(station: Office, granularity: Fraction) -> None:
    with pytest.raises(InvalidInput):
        station.do(change_prefix, PREFIX, granularity=granularity)
    with pytest.raises(InvalidInput):
        station.do(add_subsystem, "other.sid.inpe.br", "150.163.34.1", granularity=granularity)


@pytest.mark.parametrize("host", ["localhost", "150.163.34.243", "a b.org", ""])
def test_hosts_that_make_no_label_are_refused(station: Office, host: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        station.do(add_subsystem, host, "150.163.34.1")
    assert refusal.value.part == "host"


def test_an_opaque_label_needs_a_date_after_its_epoch(runner: asyncio.Runner, store_factory: StoreFactory) -> None:
    office = open_office(runner, store_factory("early"), ManualClock(700_000_000))
    office.do(add_subsystem, HOST, IP)
    with pytest.raises(InvalidInput):
        office.do(mint, PREFIX)


def test_minting_by_the_opaque_prefix_gives_the_same_pair(station: Office) -> None:
    assert station.do(mint, "8jmkd3mgp8w")[0].name.startswith(PREFIX)


def test_a_reserved_pair_has_no_creation_date_although_its_labels_are_dates(station: Office) -> None:
    minted = station.do(mint, PREFIX)[0]
    view = station.ask(show, minted.alias)
    assert (view.state, view.authority.created, view.authority.updated) == ("reserved", None, None)
    with pytest.raises(WrongState):
        station.ask(resolve, minted.alias)


def test_many_pairs_wait_for_their_dates_one_after_the_other(station: Office) -> None:
    """A hundred seconds of labels, with a longest wait of ten seconds: many chunks, and no refusal."""
    minted = station.do(mint, PREFIX, 100)
    assert len({one.name for one in minted}) == len({one.alias for one in minted}) == 100
    assert max(station.clock.waits) <= Fraction(Settings().wait)
