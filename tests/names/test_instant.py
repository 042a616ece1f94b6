from datetime import date, datetime, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import dates

from perdure import InvalidInput
from perdure.names import instant


@given(st.dates())
def test_the_calendar_agrees_with_python_in_its_range(day: date) -> None:
    number = instant.date_to_days(day.year, day.month, day.day)
    assert number == (day - date(1970, 1, 1)).days
    assert instant.days_to_date(number) == (day.year, day.month, day.day)


@given(st.integers(-(10**9), 10**12))
def test_days_and_dates_are_converted_beyond_the_calendar_of_python(number: int) -> None:
    assert instant.date_to_days(*instant.days_to_date(number)) == number


@given(dates(-62_167_219_200))
def test_written_text_is_read_back(value: Fraction) -> None:
    assert instant.from_iso(instant.to_iso(value), "test") == value


@given(st.datetimes(timezones=st.just(timezone.utc)))
def test_instants_are_written_in_the_format_of_python(when: datetime) -> None:
    whole = (when - datetime(1970, 1, 1, tzinfo=timezone.utc)) // (when.resolution)
    assert datetime.fromisoformat(instant.to_iso(Fraction(whole, 10**6))) == when


def test_years_beyond_9999_carry_a_sign() -> None:
    assert instant.to_iso(253402300800) == "+10000-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("2025-01-09", "only a date"),
        ("2025-01-09T10:30:00", "no zone"),
        ("2025-01-09 10:30:00", "no zone"),
        ("yesterday", "not ISO 8601"),
        ("2025-02-30T10:30:00Z", "2025-02-30 is not a day"),
        ("2025-02-28T25:30:00Z", "25:30:00 is not a time of day"),
        ("2025-02-28T10:30:00+99:00", "not an offset"),
    ],
)
def test_errors_name_the_correct_format(text: str, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        instant.from_iso(text, "test")
