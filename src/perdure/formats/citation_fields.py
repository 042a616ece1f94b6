"""A citation: what the formats of reference managers (BibTeX, RIS, CSL-JSON) state about an identifier.

>>> read_authors("Banon, Gerald Jean Francis; National Library of Norway")
(Author(family='Banon', given='Gerald Jean Francis'), Author(family='National Library of Norway', given=''))
>>> read_date("2009-02-16T17:46:00Z"), read_date("2009"), read_date("about 1895")
((2009, 2, 16), (2009,), None)
"""

import re
from datetime import date
from typing import Final, NamedTuple

import msgspec

_DATE: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})(?:T[0-9:.]+(?:Z|[+-][0-9:]+)?)?)?)?")
_SPACE: Final = re.compile(r"\s+")
# What no text of the three formats may contain: control and format characters, surrogates, noncharacters.
_NOT_TEXT: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Author(NamedTuple):
    """The name of an author. An organisation, or a name without a comma, is in `family` as a whole."""

    family: str
    given: str = ""


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a citation. `url` is the address to cite; `target` is where it leads today."""

    name: str
    url: str
    title: str
    key: str
    authors: tuple[Author, ...] = ()
    published: str | None = None  # as it was described, which need not be a date
    publisher: str | None = None
    target: str | None = None
    files: tuple[str, ...] = ()
    doi: str | None = None
    handle: str | None = None
    repository_name: str | None = None
    opaque_name: str | None = None  # the other label of an IBI
    note: str | None = None

    @property
    def date(self) -> tuple[int, ...] | None:
        """Return year, month and day, as far as they are stated."""
        return None if self.published is None else read_date(self.published)


def read_authors(who: str | None) -> tuple[Author, ...]:
    """Return the authors in a description, which separates them by semicolons and writes the family name first."""
    texts = (clean_text(text) for text in (who or "").split(";"))
    return tuple(_read_author(text) for text in texts if text)


def _read_author(text: str) -> Author:
    family, _, given = (part.strip() for part in text.partition(","))
    return Author(family, given) if family and given and "," not in given else Author(text)


def read_date(text: str) -> tuple[int, ...] | None:
    """Return year, month and day of a date in ISO 8601, as far as they are stated; None for any other text."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    parts = tuple(int(part) for part in match.groups() if part is not None)
    try:
        date(*(*parts, 1, 1)[:3])
    except ValueError:
        return None
    return parts


def clean_text(text: str) -> str:
    """Return a text on one line, without characters that are not text."""
    return _SPACE.sub(" ", _NOT_TEXT.sub("", text)).strip()


def citation_key(name: str) -> str:
    """Return a key by which a document cites an identifier: its name, without the characters that BibTeX reserves.

    >>> citation_key("20.500/a{b},c d")
    '20.500/a_b__c_d'
    """
    return re.sub(r"[^A-Za-z0-9:./+@!*;|_-]", "_", name) or "_"
