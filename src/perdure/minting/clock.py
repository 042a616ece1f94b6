"""Clocks. They are passed in, never read in the depths: whoever calls owns time."""

import asyncio
import time
from datetime import datetime, timezone
from fractions import Fraction
from functools import lru_cache
from typing import Final, Protocol

from perdure.errors import ClockBehind, ClockJumped

NANOSECONDS: Final = 1_000_000_000
# A machine without a battery wakes up in 1970 or 2000. This program did not exist then.
_EARLIEST: Final = 1_767_225_600  # 2026-01-01T00:00:00Z
_LONGEST_NAP: Final = 0.25  # seconds; a clock that is set while somebody waits is noticed after so long


class Clock(Protocol):
    """What time it is, in whole nanoseconds since 1970, and how to wait for a later one."""

    def now_ns(self) -> int: ...

    async def wait_until(self, instant: Fraction) -> None: ...


class SystemClock:
    """The machine's clock, believed only as long as it moves together with the monotonic one.

    A clock that leaps forward while the program runs (a wrong time server, a typing error) would put a date far
    in the future into a timeline, which would then be blocked until real time catches up.
    """

    def __init__(self, largest_jump: float = 3600.0) -> None:
        self._largest_jump = int(largest_jump * NANOSECONDS)
        self._offset = time.time_ns() - _steady_ns()

    def now_ns(self) -> int:
        now, steady = time.time_ns(), _steady_ns()
        jump = now - steady - self._offset
        if jump > self._largest_jump:
            raise _jumped(steady + self._offset, now)
        if now < _EARLIEST * NANOSECONDS:
            raise _jumped(_EARLIEST * NANOSECONDS, now)
        self._offset += max(jump, 0)  # one that is corrected little by little is followed; one set back may return
        return now

    async def wait_until(self, instant: Fraction) -> None:
        wanted = -(-instant.numerator * NANOSECONDS // instant.denominator)  # rounded up: never too early
        begun, allowed = _steady_ns(), wanted - self.now_ns() + NANOSECONDS
        while (missing := wanted - self.now_ns()) > 0:
            if _steady_ns() - begun > allowed:  # the clock was set back meanwhile: nobody waits for that
                now = Fraction(wanted - missing, NANOSECONDS)
                raise ClockBehind("the system clock", instant, now, Fraction(missing, NANOSECONDS))
            await asyncio.sleep(min(missing / NANOSECONDS, _LONGEST_NAP))


def _steady_ns() -> int:
    """A clock that nobody sets, and that goes on while the machine sleeps, where there is one."""
    which = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
    return time.monotonic_ns() if which is None else time.clock_gettime_ns(which)


def _jumped(expected: int, now: int) -> ClockJumped:
    return ClockJumped(
        "the system clock", *(Fraction(nanoseconds, NANOSECONDS) for nanoseconds in (expected, now, now - expected))
    )


def seconds(clock: Clock) -> Fraction:
    """Now, in exact POSIX seconds."""
    return Fraction(clock.now_ns(), NANOSECONDS)


def iso_now(clock: Clock) -> str:
    """Now as revisions are dated: ISO 8601 in UTC, to the microsecond, always of one length so that text sorts."""
    whole, rest = divmod(clock.now_ns(), NANOSECONDS)
    return f"{_iso_second(whole)}.{rest // 1000:06d}Z"


@lru_cache(maxsize=4)
def _iso_second(whole: int) -> str:
    return datetime.fromtimestamp(whole, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
