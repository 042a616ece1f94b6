"""Exact instants: POSIX seconds as integers or fractions, never floats, in any year from 0 on.

The calendar is the proleptic Gregorian one. Python's dates end in year 9999, but identifiers do not. So years are
reduced to the 400-year cycle in which the calendar repeats.
"""

import datetime
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import log2
from typing import Final

from perdure.errors import InvalidInput, OutOfRange, quote_text
from perdure.names.radix import Radix

Exact = int | Decimal | Fraction

_DECIMAL: Final = Radix("0123456789")
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_DAY: Final = 86_400
_POSIX_EPOCH: Final = datetime.date(1970, 1, 1).toordinal()

# Beyond any clock. Without a limit, a mistyped exponent would make a number of a million digits.
MAX_SECONDS: Final = 10**18
MAX_FRACTION_DIGITS: Final = 20_000
_SMALLEST_PLACE: Final = 10**MAX_FRACTION_DIGITS
_BITS_OF_FIVE: Final = log2(5)
_DENOMINATORS: Final = 64  # in the cache: dates of one granularity have a few


def to_exact(value: Exact, scheme: str, part: str = "date") -> Fraction:
    """Return the value as an exact fraction. Raise InvalidInput for a float or anything else that is not exact."""
    if type(value) is Fraction and abs(value.numerator) < MAX_SECONDS * value.denominator:
        return value
    if isinstance(value, float):
        raise InvalidInput(scheme, part, f"{part} is a float, which is not exact: pass an int, a Decimal or a Fraction")
    if isinstance(value, bool) or not isinstance(value, int | Decimal | Fraction):
        raise InvalidInput(scheme, part, f"{part} must be an int, a Decimal or a Fraction, not {type(value).__name__}")
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidInput(scheme, part, f"{part} is {value}, not a number")
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and exponent < -MAX_FRACTION_DIGITS:
            raise OutOfRange(scheme, part, f"{part} has more than {MAX_FRACTION_DIGITS} decimal places")
        if value and value.adjusted() > len(str(MAX_SECONDS)):
            raise OutOfRange(scheme, part, f"{part} is beyond {MAX_SECONDS} seconds")
    fraction = Fraction(value)
    if abs(fraction) >= MAX_SECONDS:
        raise OutOfRange(scheme, part, f"{part} is beyond {MAX_SECONDS} seconds")
    return fraction


def decimals(fraction: Fraction, scheme: str, part: str = "date") -> str:
    """Return the exact decimal places of a fraction between 0 and 1, without trailing zeros ("" for zero).

    >>> decimals(Fraction(1, 20), "ibi")
    '05'
    """
    return _write_decimals(fraction.numerator, fraction.denominator, scheme, part)


def split_seconds(date: Fraction, scheme: str) -> tuple[int, str]:
    """Return the whole seconds of a date, rounded down, and its decimal places.

    >>> split_seconds(Fraction(-1, 4), "ibi")
    (-1, '75')
    """
    denominator = date.denominator
    if denominator == 1:
        return date.numerator, ""
    whole, rest = divmod(date.numerator, denominator)
    return whole, _write_decimals(rest, denominator, scheme, "date")


def _write_decimals(numerator: int, denominator: int, scheme: str, part: str) -> str:
    if denominator > _SMALLEST_PLACE:  # before anything is computed with it
        raise OutOfRange(scheme, part, f"{part} has more than {MAX_FRACTION_DIGITS} decimal places")
    places = _count_decimals(denominator)
    if places is None:
        raise InvalidInput(scheme, part, f"{part} has a fraction that is not a finite decimal, such as 1/3")
    if places > MAX_FRACTION_DIGITS:
        raise OutOfRange(scheme, part, f"{part} has more than {MAX_FRACTION_DIGITS} decimal places")
    if places == 0:
        return ""
    return _DECIMAL.write(numerator * 10**places // denominator).rjust(places, "0")


@lru_cache(_DENOMINATORS)
def _count_decimals(denominator: int) -> int | None:
    """Return how many decimal places a reduced fraction has; None if it is no finite decimal."""
    twos = (denominator & -denominator).bit_length() - 1
    rest = denominator >> twos
    fives = round((rest.bit_length() - 0.5) / _BITS_OF_FIVE)
    return max(twos, fives) if rest == 5**fives else None


def from_decimals(digits: str) -> Fraction:
    """Return the fraction between 0 and 1 with these decimal places. Raise ValueError if there are too many."""
    if len(digits) > MAX_FRACTION_DIGITS:
        raise ValueError(f"there are more than {MAX_FRACTION_DIGITS} decimal places")
    return Fraction(_DECIMAL.read(digits), 10 ** len(digits)) if digits else Fraction(0)


def days_to_date(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days after 1970-01-01."""
    cycle, rest = divmod(days + _POSIX_EPOCH - 1, _CYCLE_DAYS)
    day = datetime.date.fromordinal(rest + 1)
    return day.year + _CYCLE_YEARS * cycle, day.month, day.day


def date_to_days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01. Raise ValueError for a date that does not exist (31 February)."""
    cycle, rest = divmod(year - 1, _CYCLE_YEARS)
    try:
        ordinal = datetime.date(rest + 1, month, day).toordinal()
    except ValueError:  # a message of our own: Python's differs between versions
        raise ValueError(f"{year:04d}-{month:02d}-{day:02d} is not a day") from None
    return ordinal + _CYCLE_DAYS * cycle - _POSIX_EPOCH


def to_posix(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int:
    """Return the POSIX seconds of a date and time of day in UTC. Raise ValueError if either does not exist."""
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"{hour:02d}:{minute:02d}:{second:02d} is not a time of day")
    return date_to_days(year, month, day) * _DAY + hour * 3600 + minute * 60 + second


def from_posix(whole_seconds: int) -> tuple[int, int, int, int, int, int]:
    """Return year, month, day, hour, minute and second of a whole number of POSIX seconds."""
    day_number, rest = divmod(whole_seconds, _DAY)
    hour, rest = divmod(rest, 3600)
    minute, second = divmod(rest, 60)
    return *days_to_date(day_number), hour, minute, second


def to_iso(date: Exact) -> str:
    """Write an instant exactly in ISO 8601 and UTC. Years after 9999 have the sign that the standard requires.

    >>> to_iso(Decimal("1234806360.25"))
    '2009-02-16T17:46:00.25Z'
    """
    value = to_exact(date, "instant")
    whole, places = split_seconds(value, "instant")
    year, month, day, hour, minute, second = from_posix(whole)
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return (
        f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}"
        f"{'.' if places else ''}{places}Z"
    )


_EXTENDED: Final = re.compile(
    r"(?P<year>[0-9]{4}|\+[0-9]{5,12})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<places>[0-9]+))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
)
_BASIC: Final = re.compile(
    r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})"
    r"T(?P<hour>[0-9]{2})(?P<minute>[0-9]{2})(?:(?P<second>[0-9]{2})(?:[.,](?P<places>[0-9]+))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}(?:[0-9]{2})?)"
)
_DATE_ONLY: Final = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}")
_NO_ZONE: Final = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[T ][0-9:.,]+")


def from_iso(text: str, scheme: str, part: str = "timestamp") -> Fraction:
    """Return the exact instant of an ISO 8601 date, time and zone.

    >>> from_iso("2009-02-16T18:46:00.250+01:00", "instant")
    Fraction(4939225441, 4)
    """
    if not isinstance(text, str):
        raise InvalidInput(scheme, part, f"{part} must be text, not {type(text).__name__}")
    match = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if match is None:
        raise InvalidInput(scheme, part, _explain_missing_part(text, part))
    places = match["places"] or ""
    try:
        fraction = from_decimals(places)
        whole = to_posix(
            int(match["year"]),
            int(match["month"]),
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            int(match["second"] or 0),
        )
        offset = _parse_offset(match["zone"])
    except ValueError as problem:
        raise InvalidInput(scheme, part, f"{part} {quote_text(text)} does not exist: {problem}") from None
    return whole - offset + fraction


def _parse_offset(zone: str) -> int:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise ValueError(f"{zone} is not an offset from UTC")
    return (-1 if zone[0] == "-" else 1) * (hours * 3600 + minutes * 60)


def _explain_missing_part(text: str, part: str) -> str:
    if _DATE_ONLY.fullmatch(text):
        return f"{part} {quote_text(text)} is only a date: add the time and the zone, as in 2025-01-09T10:30:00Z"
    if _NO_ZONE.fullmatch(text):
        return f"{part} {quote_text(text)} has no zone: add Z or an offset, as in 2025-01-09T10:30:00Z"
    return f"{part} {quote_text(text)} is not ISO 8601 with date, time and zone, as in 2025-01-09T10:30:00Z"
