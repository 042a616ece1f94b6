"""Dates as historians know them: Extended Date/Time Format (ISO 8601-2), from 1895-03~ to [1667,1668].

>>> check_edtf("195X", "start")
'195X'
>>> year_of("1895"), year_of("1895-03~")
('1895', None)
"""

import re
from datetime import date
from functools import lru_cache
from typing import Final

from perdure.errors import InvalidInput, shown

_LONGEST: Final = 100
_PLAIN: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?[?~%]?")
_FULL_DATE: Final = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")
_YEAR: Final = re.compile(r"-?[0-9]{4}")
_YEAR_MONTH: Final = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def check_edtf(text: str, part: str) -> str:
    """The date as it stands; refused if it is none, or if there was no such day."""
    if not _is_edtf(text):
        reason = f"{shown(text)} is no EDTF date, as in 1895, 1895-03~, 195X, 1895-03-12/1897 or [1667,1668]"
        raise InvalidInput("person", part, reason)
    return text


@lru_cache(maxsize=4096)
def _is_edtf(text: str) -> bool:
    if not 0 < len(text) <= _LONGEST or not text.isascii():
        return False
    plain = _PLAIN.fullmatch(text)
    if plain is not None and plain[3] is not None:
        return _is_day(plain[1], plain[2], plain[3])
    if plain is not None and (plain[2] is None or "01" <= plain[2] <= "12"):
        return True  # a year or a month, as most dates are
    # The library takes the 29th of February of any year.
    return all(_is_day(*found) for found in _FULL_DATE.findall(text)) and _can_be_parsed(text)


def _is_day(year: str, month: str, day: str) -> bool:
    try:
        date(int(year) or 2000, int(month), int(day))  # the year 0 was a leap year, and Python has none
    except ValueError:
        return False
    return True


def _can_be_parsed(text: str) -> bool:
    # Imported here: it is slow to load, and most dates are plain.
    import edtf

    try:
        edtf.parse_edtf(text)
    except edtf.EDTFParseException:
        return False
    return True


def year_of(text: str) -> str | None:
    """The year, where the date is a year and nothing else (xsd:gYear)."""
    return text if _YEAR.fullmatch(text) else None


def month_of(text: str) -> str | None:
    """The month, where the date is one of a certain year and nothing else (xsd:gYearMonth)."""
    return text if _YEAR_MONTH.fullmatch(text) else None


def day_of(text: str) -> str | None:
    """The day, where the date is one and nothing else (xsd:date)."""
    return text if _DATE.fullmatch(text) else None
