"""Clocks. Callers pass a clock in; no function of this library reads the time on its own."""

import asyncio
import time
from datetime import datetime, timezone
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol

from perdure.errors import ClockBehind, ClockJumped

NANOSECONDS: Final = 1_000_000_000
MICROSECONDS: Final = 1_000_000
# A machine without a battery starts in 1970 or 2000. This program did not exist then.
_EARLIEST: Final = 1_767_225_600  # 2026-01-01T00:00:00Z
_LONGEST_NAP: Final = 0.25  # seconds; a change of the clock during a wait is noticed after this time


class Clock(Protocol):
    """A source of time, in whole nanoseconds since 1970, that can also wait for a later time."""

    def now_ns(self) -> int: ...

    async def wait_until(self, instant: Fraction) -> None: ...


class SystemClock:
    """The machine's clock, trusted only as long as it agrees with the monotonic one.

    If the clock jumps forward while the program runs (a wrong time server, a typing error), a timeline would get a date
    far in the future, and would then be blocked until real time reaches it.
    """

    def __init__(self, largest_jump: float = 3600.0) -> None:
        self._largest_jump = int(largest_jump * NANOSECONDS)
        self._offset = time.time_ns() - _monotonic_ns()

    def now_ns(self) -> int:
        now, steady = time.time_ns(), _monotonic_ns()
        jump = now - steady - self._offset
        if jump > self._largest_jump:
            raise _clock_jumped_error(steady + self._offset, now)
        if now < _EARLIEST * NANOSECONDS:
            raise _clock_jumped_error(_EARLIEST * NANOSECONDS, now)
        self._offset += max(jump, 0)  # small corrections are followed; a clock that was set back may return
        return now

    async def wait_until(self, instant: Fraction) -> None:
        target = -(-instant.numerator * NANOSECONDS // instant.denominator)  # rounded up: never too early
        start, allowed = _monotonic_ns(), target - self.now_ns() + NANOSECONDS
        while (missing := target - self.now_ns()) > 0:
            if _monotonic_ns() - start > allowed:  # the clock was set back during the wait: give up
                now = Fraction(target - missing, NANOSECONDS)
                raise ClockBehind("the system clock", instant, now, Fraction(missing, NANOSECONDS))
            await asyncio.sleep(min(missing / NANOSECONDS, _LONGEST_NAP))


def _monotonic_ns() -> int:
    """Return the time of a clock that cannot be set and, if there is one, that also runs while the machine sleeps."""
    which = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return time.monotonic_ns() if which is None else time.clock_gettime_ns(which)


def _clock_jumped_error(expected: int, now: int) -> ClockJumped:
    return ClockJumped(
        "the system clock", *(Fraction(nanoseconds, NANOSECONDS) for nanoseconds in (expected, now, now - expected))
    )


def now_seconds(clock: Clock) -> Fraction:
    """Return the current time in exact POSIX seconds."""
    return Fraction(clock.now_ns(), NANOSECONDS)


def iso_now(clock: Clock) -> str:
    """Return the current time for a revision: ISO 8601 in UTC with microseconds, of fixed length so that text sorts."""
    return iso_microseconds(clock.now_ns() * MICROSECONDS // NANOSECONDS)


def iso_microseconds(microseconds: int) -> str:
    """Write an instant, in microseconds since 1970, as `iso_now` writes the current one."""
    whole, rest = divmod(microseconds, MICROSECONDS)
    return f"{_format_second(whole)}.{rest:06d}Z"


@lru_cache(maxsize=4)
def _format_second(whole: int) -> str:
    return datetime.fromtimestamp(whole, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
