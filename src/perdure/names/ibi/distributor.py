"""Algorithm 4, the temporal distributor: it gives each request to a subsystem a date of its own.

This is the computation alone. The registry stores the last date, locks it and waits for the new one.
"""

from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Final

from perdure.errors import InvalidInput, OutOfRange
from perdure.names import instant
from perdure.names.instant import Exact

# The first elements of the standard's infinite set G: 60, 1, and every negative power of ten.
GRANULARITIES: Final = (Fraction(60), *(Fraction(1, 10**places) for places in range(10)))

_FINEST: Final = 10**1000
_GRANULARITIES_IN_USE: Final = 32  # in the cache


def next_date(now: Exact, last: Exact | None, granularity: Exact) -> tuple[Fraction, Fraction]:
    """Return the creation date, which the caller must wait for, and the date for the label.

    The label's date is the shortest that is later than `last` and not later than the creation date. `last` is the
    label's date that the previous call returned, or None for the first call. All arithmetic is exact, in multiples of
    the finest fraction involved. Dates are rounded down.

    >>> next_date(1287588115, 1287588000, 1)
    (Fraction(1287588115, 1), Fraction(1287588060, 1))
    """
    request = instant.to_exact(now, "ibi", "now")
    grid = _check_granularity(instant.to_exact(granularity, "ibi", "granularity"))
    before = None if last is None else instant.to_exact(last, "ibi", "last")
    unit = lcm(request.denominator, grid.denominator, 1 if before is None else before.denominator)
    r = grid.numerator * (unit // grid.denominator)
    minute = 60 * unit

    rounded = _floor(request.numerator * (unit // request.denominator), r)  # line 1
    # lines 2 to 4
    floor_of_last = rounded - r if before is None else _floor(before.numerator * (unit // before.denominator), r)
    creation = max(floor_of_last + r, rounded)  # line 5; the caller waits as in lines 6 and 7

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


@lru_cache(_GRANULARITIES_IN_USE)
def _check_granularity(grid: Fraction) -> Fraction:
    if grid.denominator > _FINEST:
        raise OutOfRange("ibi", "granularity", "the granularity is finer than a thousand decimal places")
    if grid in (60, 1) or (0 < grid < 1 and instant.decimals(grid, "ibi", "granularity").lstrip("0") == "1"):
        return grid
    raise InvalidInput("ibi", "granularity", "the granularity must be 60, 1, 1/10, 1/100, … seconds")
