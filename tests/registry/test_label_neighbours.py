"""The labels before and after a label, and how Algorithm 4 arrived at its date."""

import asyncio
from fractions import Fraction
from itertools import pairwise

import pytest
from tests.registry_fixture import ManualClock, Office, StoreFactory, open_office

from perdure.registry import AddressChange, add_subsystem, change_prefix, mint
from perdure.registry.label_neighbours import find_neighbours

PREFIX = "sid.inpe.br/mtc-m18"
REQUESTS = ("1287587646.394023", "1287588012.2930", "1287588115.186234", "1287588115.3462", "1287588115.99623")


@pytest.fixture
def station(runner: asyncio.Runner, store_factory: StoreFactory) -> Office:
    office = open_office(runner, store_factory(), ManualClock(REQUESTS[0]))
    office.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243")
    return office


def test_the_request_that_led_to_each_label_is_shown(station: Office) -> None:
    names = []
    for request in REQUESTS:
        station.clock.now = Fraction(request)
        names.append(station.do(mint, PREFIX)[0])
    for number, one in enumerate(names):
        for label in one[:2]:
            found = station.ask(find_neighbours, label)
            assert found is not None
            assert found.label == one.name
            assert found.previous == (None if number == 0 else (names[number - 1].name, names[number - 1].date))
            following = names[number + 1] if number + 1 < len(names) else None
            assert found.following == (None if following is None else (following.name, following.date))
            assert found.trace is not None
            assert (found.trace.request, found.trace.date) == (Fraction(REQUESTS[number]), one.date)


def test_labels_of_another_host_are_no_neighbours(station: Office) -> None:
    station.do(add_subsystem, "mtc-m18.sid.inpe.br", "150.163.34.243", port=8080, ip_port=801)
    (first,) = station.do(mint, PREFIX)
    station.do(mint, f"{PREFIX}.8080")
    found = station.ask(find_neighbours, first.name)
    assert found is not None
    assert found.previous is found.following is None


def test_the_timeline_goes_on_when_the_host_and_the_address_change(station: Office) -> None:
    minted = []
    for address in (
        AddressChange(),
        AddressChange(host="mtc-m21b.sid.inpe.br"),
        AddressChange(no_host=True),
        AddressChange(ip="150.163.34.250"),
        AddressChange(no_ip=True, host="mtc-m18.sid.inpe.br"),
    ):
        if address != AddressChange():
            station.do(change_prefix, PREFIX, address=address)
        minted += station.do(mint, PREFIX, 2)
        station.clock.step(Fraction(1, 4))
    for before, one, after in zip([None, *minted], minted, [*minted[1:], None], strict=False):
        found = station.ask(find_neighbours, one.name)
        assert found is not None
        assert found.previous == (None if before is None else (before.name, before.date))
        assert found.following == (None if after is None else (after.name, after.date))
        assert found.trace is not None
        assert found.trace.date == one.date


def test_fractions_of_opaque_labels_are_in_the_order_of_their_dates(station: Office) -> None:
    station.do(change_prefix, PREFIX, granularity=Fraction(1, 100), address=AddressChange(no_host=True))
    minted = station.do(mint, PREFIX, 30)
    for before, one in pairwise(minted):
        found = station.ask(find_neighbours, one.name)
        assert found is not None
        assert found.previous == (before.name, before.date)


def test_another_granularity_leaves_the_request_unknown(station: Office) -> None:
    station.clock.now = Fraction("1287587646.25")
    station.do(change_prefix, PREFIX, granularity=Fraction(1, 100))
    (first,) = station.do(mint, PREFIX)
    station.do(change_prefix, PREFIX, granularity=60)
    found = station.ask(find_neighbours, first.name)
    assert found is not None
    assert found.trace is None


def test_a_label_that_is_not_registered_has_no_neighbours(station: Office) -> None:
    assert station.ask(find_neighbours, f"{PREFIX}/2010/10.20.15.14") is None
