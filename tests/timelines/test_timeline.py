"""The next date of a timeline, with every clock."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import granularities

from perdure import ibi, pilin
from perdure.errors import ClockBehind, OutOfRange
from perdure.timelines.timeline import Tick, check_wait, ibi_ticks, pilin_suffix, pilin_ticks

nanoseconds = st.integers(1_600_000_000 * 10**9, 2_000_000_000 * 10**9)
steps = st.lists(st.integers(-5 * 10**9, 5 * 10**9), min_size=1, max_size=20)


@given(nanoseconds, steps)
def test_milliseconds_increase_strictly_for_any_clock(now: int, changes: list[int]) -> None:
    last: Fraction | None = None
    for step in changes:
        now += step
        tick = pilin_ticks(now, last)
        for one in (tick(), tick()):
            assert one.date == one.due
            assert one.date.denominator in (1, 2, 4, 5, 8, 10, 20, 25, 40, 50, 100, 125, 200, 250, 500, 1000)
            assert last is None or one.date > last
            assert one.date >= Fraction(now // 10**6, 1000)
            last = one.date


def test_a_last_date_between_two_milliseconds_is_passed() -> None:
    """A reset leaves the exact time behind."""
    last = Fraction("1800000000.0015")
    assert pilin_ticks(1_800_000_000 * 10**9, last)().date > last


@given(nanoseconds, steps, granularities)
def test_dates_of_a_subsystem_are_those_of_algorithm_4(now: int, changes: list[int], granularity: Fraction) -> None:
    last: Fraction | None = None
    for step in changes:
        now += step
        tick = ibi_ticks(now, last, granularity)
        for one in (tick(), tick()):
            creation, date = ibi.next_date(Fraction(now, 10**9), last, granularity)
            assert one == Tick(date, creation)
            assert last is None or date > last
            last = date


def test_a_wait_is_bounded() -> None:
    tick = Tick(Fraction(110), Fraction(110))
    check_wait("1", tick, 100 * 10**9, Fraction(10))
    with pytest.raises(ClockBehind) as refusal:
        check_wait("1", tick, 100 * 10**9 - 1, Fraction(10))
    assert (refusal.value.timeline, refusal.value.last, refusal.value.wait) == ("1", 110, 10 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("date", "suffix"),
    [("1180064992.865", "Y35XYS0QH"), ("1180504234.750", "0N8J991QH"), ("1180066787.645", "2RDV0T0QH")],
)
def test_the_suffixes_of_the_policy_are_reproduced(date: str, suffix: str) -> None:
    assert pilin_suffix(Fraction(date)) == suffix
    assert pilin.to_posix(suffix) == Fraction(date)


def test_there_are_no_suffixes_with_more_than_nine_digits() -> None:
    with pytest.raises(OutOfRange):
        pilin_suffix(Fraction(20_000_000_000))
