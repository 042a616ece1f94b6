"""Literals of our JSON-LD: texts with a language, dates of a certain precision, numbers without exponents."""

from decimal import Decimal
from functools import lru_cache

import pyoxigraph as ox

from perdure.rdf.jsonld_context import UNKNOWN_LANGUAGE
from perdure.records.edtf import day_of, month_of, year_of

RdfValue = str | dict[str, str]

_NO_YEAR = "0000"  # XML Schema 1.0 has no year 0, and its parsers reject it


def to_text_literal(words: str, language: str | None) -> RdfValue:
    """Return a text, with its language if that is known."""
    return words if language is None else {"value": words, "language": language_tag(language)}


@lru_cache(maxsize=1024)
def language_tag(text: str) -> str:
    """Return the tag in lower case, as RDF compares tags, without parts that BCP 47 does not allow.

    >>> language_tag("en-GB"), language_tag("nl-x")
    ('en-gb', 'nl')
    """
    tag = text.lower()
    while tag:
        try:
            ox.Literal("", language=tag)
        except ValueError:
            tag = tag.rpartition("-")[0]
        else:
            return tag
    return UNKNOWN_LANGUAGE


@lru_cache(maxsize=4096)
def to_date_literal(date: str) -> RdfValue:
    """Return an EDTF date as a day, a month or a year if it is one, or else as a string."""
    exact = to_typed_date(date)
    return date if exact is None else exact


@lru_cache(maxsize=4096)
def to_typed_date(date: str) -> dict[str, str] | None:
    """Return an EDTF date as a day, a month or a year, or None if it is not one.

    >>> to_typed_date("1895-03"), to_typed_date("1895-03~")
    ({'value': '1895-03', 'type': 'gYearMonth'}, None)
    """
    if date.startswith(_NO_YEAR):
        return None
    for datatype, reads in (("gYear", year_of), ("gYearMonth", month_of), ("date", day_of)):
        if reads(date):
            return {"value": date, "type": datatype}
    return None


def to_decimal(number: float) -> str:
    """Return a number in the form of xsd:decimal.

    >>> to_decimal(0.95), to_decimal(1e-7)
    ('0.95', '0.0000001')
    """
    return format(Decimal(repr(number)), "f")
