"""Algorithm 4: how a subsystem spreads its requests along a timeline, one date each.

This is the pure step. Keeping the last date safe, locking it and waiting for the new one is the registry's work.
"""

from fractions import Fraction
from math import lcm
from typing import Final

from perdure.errors import InvalidInput, OutOfRange
from perdure.names import instant
from perdure.names.instant import Exact

# The standard's set G goes on for ever: 60, 1, and every negative power of ten. These are the first of it.
GRANULARITIES: Final = (Fraction(60), *(Fraction(1, 10**places) for places in range(10)))

_FINEST: Final = 10**1000


def next_date(now: Exact, last: Exact | None, granularity: Exact) -> tuple[Fraction, Fraction]:
    """The creation date, which the caller must wait for, and the date for the label.

    The label's date is the shortest that is later than `last` and not later than the creation date. `last` is the date
    that this function returned the time before, None the first time. All arithmetic is exact, in whole multiples
    of the finest fraction involved; rounding is down.

    >>> next_date(1287588115, 1287588000, 1)
    (Fraction(1287588115, 1), Fraction(1287588060, 1))
    """
    request = instant.exact(now, "ibi", "now")
    grid = _granularity(granularity)
    before = None if last is None else instant.exact(last, "ibi", "last")
    unit = lcm(request.denominator, grid.denominator, 1 if before is None else before.denominator)
    r = grid.numerator * (unit // grid.denominator)
    minute = 60 * unit

    rounded = _floor(request.numerator * (unit // request.denominator), r)  # line 1
    # lines 2 to 4
    floor_of_last = rounded - r if before is None else _floor(before.numerator * (unit // before.denominator), r)
    creation = max(floor_of_last + r, rounded)  # line 5; the waiting of lines 6 and 7 is the caller's

    date = short = creation  # line 8
    s = r  # line 9
    while floor_of_last < short:  # lines 10 to 15
        s = minute if s == unit else 10 * s
        date = short
        if s > minute:
            break
        short = _floor(creation, s)
    return Fraction(creation, unit), Fraction(date, unit)


def _floor(value: int, step: int) -> int:
    return value // step * step


def _granularity(value: Exact) -> Fraction:
    grid = instant.exact(value, "ibi", "granularity")
    if grid.denominator > _FINEST:
        raise OutOfRange("ibi", "granularity", "the granularity is finer than a thousand decimal places")
    if grid in (60, 1) or (0 < grid < 1 and instant.decimals(grid, "ibi", "granularity").lstrip("0") == "1"):
        return grid
    raise InvalidInput("ibi", "granularity", "the granularity must be 60, 1, 1/10, 1/100, … seconds")
