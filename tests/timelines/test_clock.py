"""Clocks: trusted while they are plausible, and waited for exactly."""

import asyncio
import contextlib
import time
from fractions import Fraction

import pytest
from tests.registry_fixture import ManualClock

from perdure.errors import ClockBehind, ClockJumped
from perdure.timelines.clock import NANOSECONDS, SystemClock, iso_now, now_seconds

HOUR = 3600 * NANOSECONDS


class WrongClock:
    """The machine's clock, set wrong by so many nanoseconds: tests cannot set the real one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wrong = 0
        right = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: right() + self.wrong)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> WrongClock:
    return WrongClock(monkeypatch)


def test_the_clock_has_the_time_of_the_machine() -> None:
    before = time.time_ns()
    assert before <= SystemClock().now_ns() <= time.time_ns()


def test_a_jump_forward_is_refused(machine: WrongClock) -> None:
    clock = SystemClock()
    machine.wrong = 2 * HOUR
    with pytest.raises(ClockJumped) as refusal:
        clock.now_ns()
    assert abs(refusal.value.wait - 7200) < 60
    assert isinstance(refusal.value, ClockBehind)


def test_a_jump_that_is_corrected_is_forgotten(machine: WrongClock) -> None:
    clock = SystemClock()
    machine.wrong = 2 * HOUR
    with pytest.raises(ClockJumped):
        clock.now_ns()
    machine.wrong = 0
    clock.now_ns()


def test_a_small_correction_is_followed(machine: WrongClock) -> None:
    clock = SystemClock()
    for wrong in (HOUR // 2, HOUR, -HOUR // 4, HOUR // 2):
        machine.wrong = wrong
        assert abs(clock.now_ns() - time.time_ns()) < NANOSECONDS


def test_a_step_back_and_its_correction_are_followed(machine: WrongClock) -> None:
    """A clock that was wrong for a while and was corrected is right: no restart is necessary."""
    clock = SystemClock()
    machine.wrong = -10 * HOUR
    clock.now_ns()
    machine.wrong = 0
    clock.now_ns()


def test_the_largest_jump_is_a_setting(machine: WrongClock) -> None:
    clock = SystemClock(largest_jump=10.0)
    machine.wrong = 11 * NANOSECONDS
    with pytest.raises(ClockJumped):
        clock.now_ns()


def test_a_machine_that_starts_in_1970_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 86_400 * NANOSECONDS)
    with pytest.raises(ClockJumped):
        SystemClock().now_ns()


def test_waiting_never_ends_too_early() -> None:
    clock = SystemClock()
    instant = now_seconds(clock) + Fraction(1, 50) + Fraction(1, 3 * 10**9)
    asyncio.run(clock.wait_until(instant))
    assert now_seconds(clock) >= instant


def test_a_clock_set_back_during_a_wait_does_not_make_the_caller_wait_for_hours(machine: WrongClock) -> None:
    clock = SystemClock()

    async def wait_during_step() -> None:
        wait = asyncio.ensure_future(clock.wait_until(now_seconds(clock) + Fraction(1, 5)))
        await asyncio.sleep(0.05)
        machine.wrong = -10 * HOUR
        with contextlib.suppress(ClockBehind):
            await asyncio.wait_for(wait, 2)

    asyncio.run(wait_during_step())


def test_there_is_no_wait_for_a_time_in_the_past() -> None:
    clock = SystemClock()
    asyncio.run(asyncio.wait_for(clock.wait_until(now_seconds(clock) - 3600), 60))


def test_seconds_are_exact() -> None:
    assert now_seconds(ManualClock(Fraction("1800000000.000000001"))) == Fraction("1800000000.000000001")


@pytest.mark.parametrize(
    ("now", "written"),
    [
        ("1800000000", "2027-01-15T08:00:00.000000Z"),
        ("1800000000.1234567", "2027-01-15T08:00:00.123456Z"),
        ("1182480826.000001", "2007-06-22T02:53:46.000001Z"),
    ],
)
def test_revisions_are_dated_to_the_microsecond_and_sort_as_text(now: str, written: str) -> None:
    assert iso_now(ManualClock(now)) == written
