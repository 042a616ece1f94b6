"""Timelines: the next date for each kind of minter, computed from the last date.

The functions are pure. The store saves the last date and locks it; the caller waits for the new one.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import ClockBehind
from perdure.names import ibi, pilin

_MILLISECOND: Final = 1_000_000  # nanoseconds
_NANOSECONDS: Final = 1_000_000_000
# Seconds by which the high-water mark outside the store is ahead of the last date. It is rewritten once in that time.
HIGH_WATER_LEAD: Final = Fraction(5)


class Tick(NamedTuple):
    """A date for a label, and the instant that the caller must wait for, both in POSIX seconds."""

    date: Fraction
    due: Fraction


def pilin_ticks(now_ns: int, last: Fraction | None) -> Callable[[], Tick]:
    """Return a function that issues `max(last + 1 ms, now)`: strictly increasing, and never before the clock."""
    following = now_ns // _MILLISECOND
    if last is not None:
        following = max(following, int(last * 1000) + 1)

    def tick() -> Tick:
        nonlocal following
        date = Fraction(following, 1000)
        following += 1
        return Tick(date, date)

    return tick


def ibi_ticks(now_ns: int, last: Fraction | None, granularity: Fraction) -> Callable[[], Tick]:
    """Return a function that issues dates by Algorithm 4: the shortest later than the last one.

    The caller waits for the creation date.
    """
    now = Fraction(now_ns, _NANOSECONDS)

    def tick() -> Tick:
        nonlocal last
        creation, last = ibi.next_date(now, last, granularity)
        return Tick(last, creation)

    return tick


def is_due(tick: Tick, now_ns: int) -> bool:
    """Return whether the instant that the caller waits for has come."""
    return tick.due.numerator * _NANOSECONDS <= now_ns * tick.due.denominator


def check_wait(timeline: str, tick: Tick, now_ns: int, longest: Fraction) -> None:
    """Raise ClockBehind if a date is further ahead than a caller may wait."""
    now = Fraction(now_ns, _NANOSECONDS)
    if tick.due - now > longest:
        raise ClockBehind(timeline, tick.date, now, tick.due - now)


def pilin_suffix(date: Fraction) -> str:
    """Return the PILIN suffix of a millisecond."""
    return pilin.encode(int((date - pilin.EPOCH_POSIX) * 1000))
