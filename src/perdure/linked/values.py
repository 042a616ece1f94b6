"""Values as our JSON-LD has them: texts with a language, dates of a certain precision, numbers without exponents."""

from decimal import Decimal
from functools import lru_cache

import pyoxigraph as ox

from perdure.linked.terms import UNKNOWN_LANGUAGE
from perdure.records.edtf import day_of, month_of, year_of

Written = str | dict[str, str]

_NO_YEAR = "0000"  # which XML Schema had none of for long, and its parsers do not take


def text(words: str, language: str | None) -> Written:
    """A text, with its language where that is known."""
    return words if language is None else {"value": words, "language": language_tag(language)}


@lru_cache(maxsize=1024)
def language_tag(given: str) -> str:
    """The tag in lower case, as RDF compares them; without those of its parts that BCP 47 knows no place for.

    >>> language_tag("en-GB"), language_tag("nl-x")
    ('en-gb', 'nl')
    """
    tag = given.lower()
    while tag:
        try:
            ox.Literal("", language=tag)
        except ValueError:
            tag = tag.rpartition("-")[0]
        else:
            return tag
    return UNKNOWN_LANGUAGE


@lru_cache(maxsize=4096)
def calendar(date: str) -> Written:
    """An EDTF date as a day, a month or a year where it is one, and otherwise as a string."""
    exact = exactly(date)
    return date if exact is None else exact


@lru_cache(maxsize=4096)
def exactly(date: str) -> dict[str, str] | None:
    """An EDTF date as a day, a month or a year, if it is one.

    >>> exactly("1895-03"), exactly("1895-03~")
    ({'value': '1895-03', 'type': 'gYearMonth'}, None)
    """
    if date.startswith(_NO_YEAR):
        return None
    for datatype, reads in (("gYear", year_of), ("gYearMonth", month_of), ("date", day_of)):
        if reads(date):
            return {"value": date, "type": datatype}
    return None


def decimal(number: float) -> str:
    """A number as xsd:decimal writes it.

    >>> decimal(0.95), decimal(1e-7)
    ('0.95', '0.0000001')
    """
    return format(Decimal(repr(number)), "f")
