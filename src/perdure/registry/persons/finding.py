"""Find persons: by words of their names, and by who they are in other systems."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from unicodedata import combining, normalize

from perdure.errors import InvalidInput
from perdure.names import external
from perdure.records import record as records
from perdure.records.checks import storable
from perdure.records.record import Record
from perdure.registry.entities import Found, Identifier
from perdure.registry.looking import MOST_FOUND, bounded, check_words, find_by_value
from perdure.registry.naming import LONGEST_NAME, locate
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_KINDS: Final = ("PRID", "POID")  # each is a word of every record of its kind: of the name itself
_MOST_LOOKED_AT: Final = MOST_FOUND  # hits of the index, for one page
_MOST_BYTES: Final = 16 << 20  # of their records
_AT_ONCE: Final = 50  # records in memory
_WORD: Final = re.compile(r"[^\W_]+")


class FoundPerson(NamedTuple):
    """A hit: the identifier, its state, and the names that are said to be this person's."""

    name: str
    state: str
    names: tuple[str, ...]


class PageOfPersons(NamedTuple):
    """Some of those who were found. `next` is what to give as `after` for those that follow; None behind the last.

    There may be more although few were found, or nobody: a page takes so much work, and no more.
    """

    persons: list[FoundPerson]
    next: str | None


async def find_by_name(
    registry: Registry, words: Sequence[str], *, after: str | None = None, limit: int = 100
) -> PageOfPersons:
    """Persons in one of whose names all these words are: reconstructions first, then observations, newest first.

    The index knows in what record a word is, and not where in it: the records that hold the words are looked through
    for those that hold them in a name, some on each page, until all of them have been.
    """
    check_words(words)
    most = bounded(limit)
    return await registry.store.scan(lambda reader: _page(reader, words, after, most))


def _page(reader: Reader, words: Sequence[str], after: str | None, limit: int) -> PageOfPersons:
    first, behind = (_KINDS[0], None) if after is None else _read_cursor(reader, after)
    found: list[FoundPerson] = []
    hits_left, bytes_left = _MOST_LOOKED_AT, _MOST_BYTES
    for kind in _KINDS[_KINDS.index(first) :]:
        hits = reader.search([*words, kind], hits_left, behind)
        are_all = len(hits) < hits_left
        for number, (hit, row) in enumerate(_rows(reader, hits, kind), 1):
            if row is not None:
                bytes_left -= len(row.record)
                found.extend(_called(row, words))
            if len(found) == limit or bytes_left <= 0:
                is_end = kind == _KINDS[-1] and are_all and number == len(hits)
                return PageOfPersons(found, None if is_end else _cursor(reader, kind, hit))
        if not are_all:
            return PageOfPersons(found, _cursor(reader, kind, hits[-1]))
        hits_left -= len(hits)
        behind = None
    return PageOfPersons(found, None)


def _rows(reader: Reader, hits: Sequence[Found], kind: str) -> Iterator[tuple[Found, Identifier | None]]:
    """Each hit with its row, if it is a person of this kind: others may use that word too."""
    for start in range(0, len(hits), _AT_ONCE):
        some = hits[start : start + _AT_ONCE]
        rows = reader.find_many([hit.name for hit in some if hit.name.startswith(f"{kind}-")])
        yield from ((hit, rows.get(hit.name)) for hit in some)


def _called(row: Identifier, words: Sequence[str]) -> Iterator[FoundPerson]:
    """The person, if all these words are in one name."""
    for person in _shown(row):
        if any(all(_holds(name, word) for word in words) for name in person.names):
            yield person


def _cursor(reader: Reader, kind: str, last: Found) -> str:
    """Of which kind the last hit was looked for, and its key: where it stands never changes."""
    return f"{kind}:{locate(reader, last.name).key}"


def _read_cursor(reader: Reader, text: str) -> tuple[str, str]:
    kind, _, key = text.partition(":")
    is_one = kind in _KINDS and len(key) <= LONGEST_NAME and reader.find(storable(key, "after")) is not None
    if not is_one:
        raise InvalidInput("search", "after", "give what the page before gave as next")
    return kind, key


async def find_by_link(registry: Registry, scheme: str, text: str, *, limit: int = 100) -> list[FoundPerson]:
    """The reconstructions that are linked to this person of another system, however its identifier is written."""
    linked = external.parse(scheme, text).value
    hits = [hit.name for hit in await find_by_value(registry, linked, type=scheme, limit=limit)]
    return await registry.store.scan(lambda reader: list(_persons(reader, hits)))


def _persons(reader: Reader, names: Sequence[str]) -> Iterator[FoundPerson]:
    """In their order; one that has been restricted meanwhile is left out."""
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        rows = reader.find_many(some)
        for name in some:
            yield from _shown(rows[name])


def _shown(row: Identifier) -> Iterator[FoundPerson]:
    record = records.decode(row.record)
    if record.restriction is None:
        yield FoundPerson(row.name, row.state, tuple(dict.fromkeys(_names(record))))


def _names(record: Record) -> Iterator[str]:
    claims = () if record.observation is None else record.observation.claims
    if record.reconstruction is not None:
        claims = tuple(one.said for one in record.reconstruction.claims if one.said is not None)
    return (str(claim.value) for claim in claims if claim.type == "name")


def _holds(name: str, word: str) -> bool:
    """Whether a name has a word, without regard to case and accents; one that ends in * is the beginning of one."""
    there, wanted = _parts(name), _parts(word)
    if not word.endswith("*"):
        return set(wanted) <= set(there)
    return set(wanted[:-1]) <= set(there) and any(one.startswith(wanted[-1]) for one in there)


def _parts(text: str) -> list[str]:
    bare = "".join(character for character in normalize("NFKD", text.casefold()) if not combining(character))
    return _WORD.findall(bare)
