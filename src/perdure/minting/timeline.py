"""Timelines: which date comes next, for each kind of minter. Pure: the last date comes in, the new one goes out.

Keeping the last date safe, and the lock around it, is the store's work; waiting for the date is the caller's.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import ClockBehind
from perdure.names import ibi, pilin

_MILLISECOND: Final = 1_000_000  # nanoseconds
_NANOSECONDS: Final = 1_000_000_000
# How far the mark that lies outside the store runs ahead of the last date: so often is it rewritten while minting.
AHEAD: Final = Fraction(5)


class Tick(NamedTuple):
    """A date for a label, and the instant that its caller must wait for, both in POSIX seconds."""

    date: Fraction
    due: Fraction


def pilin_ticks(now_ns: int, last: Fraction | None) -> Callable[[], Tick]:
    """`max(last + 1 ms, now)`: one millisecond each, strictly increasing, never before the clock."""
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
    """Algorithm 4: the shortest date later than the last one; the creation date is what must be waited for."""
    now = Fraction(now_ns, _NANOSECONDS)

    def tick() -> Tick:
        nonlocal last
        creation, last = ibi.next_date(now, last, granularity)
        return Tick(last, creation)

    return tick


def check_wait(timeline: str, tick: Tick, now_ns: int, longest: Fraction) -> None:
    """Refuse a date that lies further ahead than a caller is made to wait."""
    now = Fraction(now_ns, _NANOSECONDS)
    if tick.due - now > longest:
        raise ClockBehind(timeline, tick.date, now, tick.due - now)


def pilin_suffix(date: Fraction) -> str:
    """The suffix of a millisecond."""
    return pilin.encode(int((date - pilin.EPOCH_POSIX) * 1000))
