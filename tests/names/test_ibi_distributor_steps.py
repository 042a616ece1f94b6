"""Algorithm 4 line by line: the same dates as `next_date`, and the columns of Table 6.2."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.test_ibi_distributor import TABLE_6_2
from tests.strategies import granularities

from perdure import InvalidInput, ibi

SECONDS = st.one_of(st.integers(0, 4 * 10**9).map(Fraction), st.fractions(0, 4 * 10**9, max_denominator=10**7))
LASTS = st.one_of(st.none(), SECONDS)


@given(SECONDS, LASTS, granularities)
def test_the_trace_arrives_at_the_dates_of_the_distributor(now: Fraction, last: Fraction | None, r: Fraction) -> None:
    trace = ibi.trace_next_date(now, last, r)
    assert (trace.creation, trace.date) == ibi.next_date(now, last, r)


@given(SECONDS, st.integers(0, 5).map(lambda ahead: Fraction(ahead, 2)), granularities)
def test_dates_shortly_before_the_request_agree_too(now: Fraction, ahead: Fraction, r: Fraction) -> None:
    last = now // r * r - ahead * r
    trace = ibi.trace_next_date(now, last, r)
    assert (trace.creation, trace.date) == ibi.next_date(now, last, r)


@given(SECONDS, LASTS, granularities)
def test_the_variables_of_the_trace_end_with_the_results(now: Fraction, last: Fraction | None, r: Fraction) -> None:
    trace = ibi.trace_next_date(now, last, r)
    values = {step.variable: step.value for step in trace.steps if step.variable is not None}
    assert values["date-for-suffix"] == values["last-date-for-suffix"] == trace.date
    assert values["creation-date"] == trace.creation
    assert values["delay"] == trace.creation - now
    assert trace.wait == max(trace.delay, 0)
    assert trace.date % trace.step_of_date == 0
    assert trace.date == trace.creation // trace.step_of_date * trace.step_of_date


@given(SECONDS, LASTS, granularities)
def test_lines_are_run_in_the_order_of_the_standard(now: Fraction, last: Fraction | None, r: Fraction) -> None:
    lines = [step.line for step in ibi.trace_next_date(now, last, r).steps]
    assert (3 in lines) == (last is None)
    assert lines[:2] == [1, 2]
    assert lines[-2:] == [16, 17]
    loops = lines[lines.index(10) : -2]
    for line, following in pairwise(loops):
        assert following == (10 if line == 15 else line + 1) or (line, following) == (12, 12)


def test_table_6_2_with_the_columns_of_the_standard() -> None:
    requests = [Decimal(now) for now, *_ in TABLE_6_2]
    rows = [(t.creation, t.last, t.step_of_date, t.date) for t in ibi.trace_requests(requests, 1)]
    assert rows == [
        (1287587646, 1287587645, 1, 1287587646),
        (1287588012, 1287587646, 60, 1287588000),
        (1287588115, 1287588000, 60, 1287588060),
        (1287588115, 1287588060, 1, 1287588115),
        (1287588116, 1287588115, 1, 1287588116),
        (1287588117, 1287588116, 1, 1287588117),
        (1287588539, 1287588117, 60, 1287588480),
    ]


def test_inputs_that_are_not_exact_are_refused() -> None:
    with pytest.raises(InvalidInput):
        ibi.trace_next_date(1.5, None, 1)  # type: ignore[arg-type]
