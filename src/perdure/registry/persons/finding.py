"""Find persons: by words of their names, and by who they are in other systems."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from unicodedata import combining, normalize

from perdure.names import external
from perdure.records import record as records
from perdure.records.record import Record
from perdure.registry.looking import MOST_FOUND, find_by_value, search
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_AT_ONCE: Final = 100
_WORD: Final = re.compile(r"[^\W_]+")


class FoundPerson(NamedTuple):
    """A hit: the identifier, its state, and the names that are said to be this person's."""

    name: str
    state: str
    names: tuple[str, ...]


async def find_by_name(registry: Registry, words: Sequence[str], *, limit: int = 100) -> list[FoundPerson]:
    """Persons in one of whose names all these words are: reconstructions first, then observations, newest first.

    The index knows in what record a word is, and not where in it: of the newest thousand records of either type that
    hold the words, those are taken that hold them in a name.
    """
    hits = [
        hit.name
        for kind in ("PRID", "POID")  # a word of every record of its kind: of the name itself
        for hit in await search(registry, [*words, kind], limit=MOST_FOUND)
        if hit.name.startswith(f"{kind}-")
    ]

    def work(reader: Reader) -> list[FoundPerson]:
        found: list[FoundPerson] = []
        for person in _persons(reader, hits):
            if any(all(_holds(name, word) for word in words) for name in person.names):
                found.append(person)
            if len(found) == limit:
                break
        return found

    return await registry.store.read(work)


async def find_by_link(registry: Registry, scheme: str, text: str, *, limit: int = 100) -> list[FoundPerson]:
    """The reconstructions that are linked to this person of another system, however its identifier is written."""
    linked = external.parse(scheme, text).value
    hits = [hit.name for hit in await find_by_value(registry, linked, type=scheme, limit=limit)]
    return await registry.store.read(lambda reader: list(_persons(reader, hits)))


def _persons(reader: Reader, names: Sequence[str]) -> Iterator[FoundPerson]:
    """In their order; one that has been restricted meanwhile is left out."""
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        rows = reader.find_many(some)
        for name in some:
            row = rows[name]
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
