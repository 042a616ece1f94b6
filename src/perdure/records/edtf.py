"""Uncertain and approximate dates: Extended Date/Time Format (ISO 8601-2), as in 1895-03~ or [1667,1668].

>>> check_edtf("195X", "start")
'195X'
>>> year_of("1895"), year_of("1895-03~")
('1895', None)
"""

import re
from datetime import date
from functools import lru_cache
from typing import Final

from perdure.errors import InvalidInput, quote_text

_LONGEST: Final = 100
_PLAIN: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?[?~%]?")
_FULL_DATE: Final = re.compile(r"(?<![0-9])([0-9X]{4})-([0-9]{2})-([0-9X]{2})(?![0-9X])")
_QUALIFIERS: Final = re.compile(r"[?~%]")
_CHARACTERS: Final = re.compile(r"[0-9XYESTZ?~%/.,:+\[\]{}-]+")
# The library fails on months of which one digit is known, and on qualified significant digits.
_MONTH_IN_PART: Final = re.compile(r"(?<![0-9])[0-9]{4}-(?:[01]X|X[0-9])(?![0-9X])")
_UNSUPPORTED_BY_LIBRARY: Final = re.compile(r"[0-9]{4}-(?:[0-9]X|X[0-9])|S.*[?~%]|[?~%].*S")
_YEAR: Final = re.compile(r"-?[0-9]{4}")
_YEAR_MONTH: Final = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def check_edtf(text: str, part: str) -> str:
    """Return the date unchanged. Raise InvalidInput if it is not EDTF, or if the day does not exist."""
    if not _is_edtf(text):
        reason = f"{quote_text(text)} is not an EDTF date, as in 1895, 1895-03~, 195X, 1895-03-12/1897 or [1667,1668]"
        raise InvalidInput("person", part, reason)
    if "/" in text and runs_backwards(text, text):
        raise InvalidInput("person", part, f"{quote_text(text)} ends before it begins")
    return text


@lru_cache(maxsize=4096)
def runs_backwards(start: str, end: str) -> bool:
    """Return whether the end is certainly before the start. Approximate dates count widely: ~1895 may be 1896.

    >>> runs_backwards("1930", "1920"), runs_backwards("1930", "1930-05"), runs_backwards("1930~", "192X")
    (True, False, False)
    """
    first, last = _PLAIN.fullmatch(start), _PLAIN.fullmatch(end)
    if first is not None and last is not None and first[1] <= last[1] and first[2] is None:
        return False  # years in their order
    import edtf

    try:
        earliest, latest = edtf.parse_edtf(start).lower_fuzzy(), edtf.parse_edtf(end).upper_fuzzy()
        return bool(tuple(earliest)[:3] > tuple(latest)[:3])
    except Exception:  # the end is open, or the library cannot compute it
        return False


@lru_cache(maxsize=4096)
def _is_edtf(text: str) -> bool:
    if len(text) > _LONGEST or _CHARACTERS.fullmatch(text) is None:
        return False
    plain = _PLAIN.fullmatch(text)
    if plain is not None and plain[3] is not None:
        return _is_day(plain[1], plain[2], plain[3])
    if plain is not None and (plain[2] is None or "01" <= plain[2] <= "12"):
        return True  # a year or a month, like most dates
    if _MONTH_IN_PART.fullmatch(text):
        return True
    # The library accepts the 29th of February of any year, and the 31st of any month of an unknown year.
    days = _FULL_DATE.findall(_QUALIFIERS.sub("", text))
    return all(_is_day(*day) for day in days) and _is_parsable(text)


def _is_day(year: str, month: str, day: str) -> bool:
    """Return whether the day exists or, if X replaces an unknown digit, may exist."""
    known = 2000 if "X" in year else int(year) or 2000  # the year 0 was a leap year, and Python has none
    if day[0] == "X":
        day = ("1" if day[1] == "0" else "0") + day[1]
    if day[1] == "X":
        day = day[0] + ("1" if day[0] == "0" else "0")
    try:
        date(known, int(month), int(day))
    except ValueError:
        return False
    return True


def _is_parsable(text: str) -> bool:
    if _UNSUPPORTED_BY_LIBRARY.search(text):
        return False
    # Imported here: it is slow to load, and most dates do not need it.
    import edtf

    try:
        edtf.parse_edtf(text)
    except Exception:  # any failure of the library means an invalid date
        return False
    return True


def year_of(text: str) -> str | None:
    """Return the year if the date is only a year (xsd:gYear), or None."""
    return text if _YEAR.fullmatch(text) else None


def month_of(text: str) -> str | None:
    """Return the month if the date is only a year and a month (xsd:gYearMonth), or None."""
    return text if _YEAR_MONTH.fullmatch(text) else None


def day_of(text: str) -> str | None:
    """Return the day if the date is exactly a day (xsd:date), or None."""
    return text if _DATE.fullmatch(text) else None
