"""Search for persons, by words of their names and by their identifiers in other systems."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from unicodedata import combining, normalize

from perdure.errors import InvalidInput
from perdure.names import external
from perdure.records import record as records
from perdure.records.record import Record
from perdure.records.validation import check_storable
from perdure.registry.entities import Identifier, SearchHit
from perdure.registry.identifier_view import View
from perdure.registry.name_keys import LONGEST_NAME, locate
from perdure.registry.query import MOST_FOUND, check_limit, check_words, find_by_value
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_KINDS: Final = ("PRID", "POID")  # a word of every record of its kind, because its name begins with it
_MOST_SCANNED: Final = MOST_FOUND  # index hits for one page
_MOST_BYTES: Final = 16 << 20  # of their records
_BATCH_SIZE: Final = 50  # records in memory
_WORD: Final = re.compile(r"[^\W_]+")


class PersonHit(NamedTuple):
    """A hit: the identifier, its state, and the names in its claims."""

    name: str
    state: str
    names: tuple[str, ...]


class PersonPage(NamedTuple):
    """A page of hits. `next` is the value of `after` for the next page; None after the last.

    There may be more although this page is short or empty: the work for one page is bounded.
    """

    persons: list[PersonHit]
    next: str | None


async def find_by_name(
    registry: Registry, words: Sequence[str], *, after: str | None = None, limit: int = 100
) -> PersonPage:
    """Find persons with a name that contains all these words: reconstructions first, then observations, newest first.

    The index knows which record has a word, but not in which part of it. So the records with these words are scanned
    for names that contain them, some for each page, until all have been scanned.
    """
    check_words(words)
    most = check_limit(limit)
    return await registry.store.scan(lambda reader: _search_page(reader, words, after, most))


def _search_page(reader: Reader, words: Sequence[str], after: str | None, limit: int) -> PersonPage:
    first, behind = (_KINDS[0], None) if after is None else _parse_cursor(reader, after)
    persons: list[PersonHit] = []
    hits_left, bytes_left = _MOST_SCANNED, _MOST_BYTES
    for kind in _KINDS[_KINDS.index(first) :]:
        hits = reader.search([*words, kind], hits_left, behind)
        is_complete = len(hits) < hits_left
        for number, (hit, row) in enumerate(_rows_of_hits(reader, hits, kind), 1):
            if row is not None:
                bytes_left -= len(row.record)
                persons.extend(_match_names(row, words))
            if len(persons) == limit or bytes_left <= 0:
                is_end = kind == _KINDS[-1] and is_complete and number == len(hits)
                return PersonPage(persons, None if is_end else _format_cursor(reader, kind, hit))
        if not is_complete:
            return PersonPage(persons, _format_cursor(reader, kind, hits[-1]))
        hits_left -= len(hits)
        behind = None
    return PersonPage(persons, None)


def _rows_of_hits(
    reader: Reader, hits: Sequence[SearchHit], kind: str
) -> Iterator[tuple[SearchHit, Identifier | None]]:
    """Yield each hit with its row, if it is a person of this kind: other records may contain that word too."""
    for start in range(0, len(hits), _BATCH_SIZE):
        batch = hits[start : start + _BATCH_SIZE]
        rows = reader.find_many([hit.name for hit in batch if hit.name.startswith(f"{kind}-")])
        yield from ((hit, rows.get(hit.name)) for hit in batch)


def _match_names(row: Identifier, words: Sequence[str]) -> Iterator[PersonHit]:
    """Yield the person, if one of its names contains all these words."""
    for person in _to_hits(row):
        if any(all(_name_matches(name, word) for word in words) for name in person.names):
            yield person


def _format_cursor(reader: Reader, kind: str, last: SearchHit) -> str:
    """Format a cursor: the kind that was searched for, and the key of the last hit, whose position never changes."""
    return f"{kind}:{locate(reader, last.name).key}"


def _parse_cursor(reader: Reader, text: str) -> tuple[str, str]:
    kind, _, key = text.partition(":")
    is_one = kind in _KINDS and len(key) <= LONGEST_NAME and reader.find(check_storable(key, "after")) is not None
    if not is_one:
        raise InvalidInput("search", "after", "invalid cursor: use the value of next from the previous page")
    return kind, key


async def find_by_link(registry: Registry, scheme: str, text: str, *, limit: int = 100) -> list[PersonHit]:
    """Find the reconstructions that are linked to this person of another system, however its identifier is written."""
    linked = external.parse(scheme, text).value
    hits = [hit.name for hit in await find_by_value(registry, linked, type=scheme, limit=limit)]
    return await registry.store.scan(lambda reader: list(_find_hits(reader, hits)))


def _find_hits(reader: Reader, names: Sequence[str]) -> Iterator[PersonHit]:
    """Yield the persons in order, without those that have been restricted meanwhile."""
    for start in range(0, len(names), _BATCH_SIZE):
        batch = names[start : start + _BATCH_SIZE]
        rows = reader.find_many(batch)
        for name in batch:
            yield from _to_hits(rows[name])


def _to_hits(row: Identifier) -> Iterator[PersonHit]:
    record = records.decode(row.record)
    if record.restriction is None:
        yield PersonHit(row.name, row.state, tuple(dict.fromkeys(names_of_person(record))))


def names_of_person(record: Record | View) -> Iterator[str]:
    """Yield the names that the claims of a person state."""
    claims = () if record.observation is None else record.observation.claims
    if record.reconstruction is not None:
        claims = tuple(one.said for one in record.reconstruction.claims if one.said is not None)
    return (str(claim.value) for claim in claims if claim.type == "name")


def _name_matches(name: str, word: str) -> bool:
    """Return whether a name contains a word, ignoring case and accents.

    A word that ends in * matches the beginning of one.
    """
    name_words, search_words = _split_words(name), _split_words(word)
    if not word.endswith("*"):
        return set(search_words) <= set(name_words)
    return set(search_words[:-1]) <= set(name_words) and any(one.startswith(search_words[-1]) for one in name_words)


def _split_words(text: str) -> list[str]:
    bare = "".join(character for character in normalize("NFKD", text.casefold()) if not combining(character))
    return _WORD.findall(bare)
