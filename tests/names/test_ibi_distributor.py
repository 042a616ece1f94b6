from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import granularities

from perdure import InvalidInput, OutOfRange, ibi

TABLE_6_2 = [
    ("1287587646.394023", 1287587646, 1287587646, "2010/10.20.15.14.06"),
    ("1287588012.2930", 1287588012, 1287588000, "2010/10.20.15.20"),
    ("1287588115.186234", 1287588115, 1287588060, "2010/10.20.15.21"),
    ("1287588115.3462", 1287588115, 1287588115, "2010/10.20.15.21.55"),
    ("1287588115.99623", 1287588116, 1287588116, "2010/10.20.15.21.56"),
    ("1287588116.72", 1287588117, 1287588117, "2010/10.20.15.21.57"),
    ("1287588539.788342", 1287588539, 1287588480, "2010/10.20.15.28"),
]


def test_table_6_2_exactly() -> None:
    last: Fraction | None = None
    for now, creation, date, suffix in TABLE_6_2:
        created, last = ibi.next_date(Decimal(now), last, 1)
        assert (created, last) == (creation, date)
        assert ibi.repository_suffix(last) == suffix


def algorithm_4(now: Fraction, last: Fraction | None, r: Fraction) -> tuple[Fraction, Fraction]:
    """Run the algorithm line by line as it is printed, without waiting."""
    rounded = r * (now // r)
    if last is None:
        last = rounded - r
    last = r * (last // r)
    creation = max(last + r, rounded)
    short = creation
    s = r
    t = None
    while last < short:
        s = 10 * s
        if s == 10:
            s = Fraction(60)
        t = short
        if s > 60:
            break
        short = s * (creation // s)
    assert t is not None
    return creation, t


@dataclass
class Request:
    step: Fraction  # how far the clock has gone since the last request; it may go back
    granularity: Fraction


requests = st.builds(
    Request,
    st.one_of(
        st.fractions(0, 2, max_denominator=10**6),
        st.integers(-100, 200).map(Fraction),
        st.just(Fraction(0)),
    ),
    granularities,
)


@given(st.integers(807_235_200, 4 * 10**9), st.lists(requests, min_size=1, max_size=30))
def test_dates_increase_strictly_for_any_clock_and_granularity(start: int, sequence: list[Request]) -> None:
    now, last = Fraction(start), None
    for request in sequence:
        now += request.step
        creation, date = ibi.next_date(now, last, request.granularity)
        assert date <= creation
        assert date % request.granularity == 0
        assert creation % request.granularity == 0
        assert creation > now - request.granularity
        assert last is None or date > last
        assert (creation, date) == algorithm_4(now, last, request.granularity)
        last = date


@given(st.integers(0, 10**9), granularities, st.integers(2, 20))
def test_requests_at_the_same_instant_never_share_a_date(now: int, granularity: Fraction, count: int) -> None:
    last, dates = None, []
    for _ in range(count):
        _, last = ibi.next_date(now, last, granularity)
        dates.append(last)
    assert len(set(dates)) == count


@pytest.mark.parametrize(
    "granularity", [0, -1, 2, 10, 30, 120, Decimal("0.2"), Fraction(1, 3), Fraction(1, 60), 0.1, None, True]
)
def test_only_granularities_of_the_standard(granularity: Decimal) -> None:
    with pytest.raises(InvalidInput):
        ibi.next_date(1287587646, None, granularity)


def test_granularities_have_a_bound() -> None:
    with pytest.raises(OutOfRange):
        ibi.next_date(1287587646, None, Fraction(1, 10**20_000))


def test_floats_are_refused() -> None:
    with pytest.raises(InvalidInput, match="float"):
        ibi.next_date(1287587646.394023, None, 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="float"):
        ibi.next_date(1287587646, 1287587645.0, 1)  # type: ignore[arg-type]


def test_the_listed_granularities_are_all_accepted() -> None:
    for granularity in ibi.GRANULARITIES:
        assert ibi.next_date(1287587646, None, granularity)[1] <= 1287587646
