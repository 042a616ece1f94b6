"""Algorithm 4 line by line, with the values of its variables: for teaching, and for checking a date by hand.

This is the algorithm as it is printed. `next_date` computes the same with integers, which is faster.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.names import instant
from perdure.names.ibi.distributor import next_date
from perdure.names.instant import Exact

_MINUTE: Final = 60


class Step(NamedTuple):
    """One line that was run: its number and text in the standard, the variable, and its new value.

    `holds` is the result of a condition, which changes no variable.
    """

    line: int
    text: str
    variable: str | None = None
    value: Fraction | None = None
    holds: bool | None = None


class Trace(NamedTuple):
    """All lines of one run in their order, and the results: Table 6.2 has a row of them."""

    steps: tuple[Step, ...]
    request: Fraction
    last: Fraction  # as of line 4
    creation: Fraction
    delay: Fraction
    date: Fraction
    step_of_date: Fraction  # the largest granularity that the date fits

    @property
    def wait(self) -> Fraction:
        """Return the seconds that the distributor waits for the creation date."""
        return max(self.delay, Fraction(0))


class _Run:
    """The variables of a run, and the lines so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def assign(self, line: int, text: str, value: Fraction) -> Fraction:
        self.steps.append(Step(line, text, text.partition(" ← ")[0].rpartition(" ")[2], value))
        return value

    def test(self, line: int, text: str, holds: bool) -> bool:
        self.steps.append(Step(line, text, holds=holds))
        return holds


def trace_next_date(now: Exact, last: Exact | None, granularity: Exact) -> Trace:
    """Run Algorithm 4 as it is printed, without waiting, and record each line.

    The creation date and the date for the label are those of `next_date`.

    >>> trace = trace_next_date(1287588115, 1287588000, 1)
    >>> int(trace.creation), int(trace.date), int(trace.step_of_date)
    (1287588115, 1287588060, 60)
    >>> [step.line for step in trace.steps]
    [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 13, 14, 15, 10, 11, 12, 13, 14, 16, 17]
    """
    next_date(now, last, granularity)  # refuses inputs that are not exact
    request, r = instant.to_exact(now, "ibi", "now"), instant.to_exact(granularity, "ibi", "granularity")
    run = _Run()
    rounded = run.assign(1, "rounded-date ← r ∗ INT(current-date/r)", _floor(request, r))
    if run.test(2, "If last-date-for-suffix doesn't exist", last is None):
        before = run.assign(3, "last-date-for-suffix ← rounded-date − r", rounded - r)
    else:
        before = Fraction(last or 0)
    before = run.assign(4, "last-date-for-suffix ← r ∗ INT(last-date-for-suffix/r)", _floor(before, r))
    creation = run.assign(5, "creation-date ← MAX(last-date-for-suffix + r, rounded-date)", max(before + r, rounded))
    delay = run.assign(6, "delay ← creation-date − current-date", creation - request)
    run.test(7, "If delay > 0 then WAIT(delay)", delay > 0)
    date, step_of_date = _shorten(run, creation, before, r)
    run.assign(16, "date-for-suffix ← t", date)
    run.assign(17, "last-date-for-suffix ← t", date)
    return Trace(tuple(run.steps), request, before, creation, delay, date, step_of_date)


def _shorten(run: _Run, creation: Fraction, before: Fraction, r: Fraction) -> tuple[Fraction, Fraction]:
    """Run lines 8 to 15. Return the shortest date that is later than the last one, and the granularity that it fits."""
    short = date = run.assign(8, "short-date ← creation-date", creation)
    s = run.assign(9, "s ← r", r)
    step_of_date = r
    while run.test(10, "While last-date-for-suffix < short-date", before < short):
        step_of_date = s
        s = run.assign(11, "s ← 10 ∗ s", 10 * s)
        if run.test(12, "If s = 10", s == 10):
            s = run.assign(12, "then s ← 60", Fraction(_MINUTE))
        date = run.assign(13, "t ← short-date", short)
        if run.test(14, "If s > 60 then Break", s > _MINUTE):
            break
        short = run.assign(15, "short-date ← s ∗ INT(creation-date/s)", _floor(creation, s))
    return date, step_of_date


def trace_requests(requests: Iterable[Exact], granularity: Exact, last: Exact | None = None) -> Iterator[Trace]:
    """Trace the requests of one subsystem, each with the last date that the request before it has left."""
    for now in requests:
        trace = trace_next_date(now, last, granularity)
        last = trace.date
        yield trace


def _floor(value: Fraction, step: Fraction) -> Fraction:
    return step * (value // step)
