"""Queries: the current record of an identifier, its history, and its target. Reading needs no permission."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, InvalidName, NoSuchName, NoTarget, Withdrawn, WrongState
from perdure.records import record as records
from perdure.records.target import first_stored_url, first_url
from perdure.records.validation import check_one_line, check_storable
from perdure.registry.entities import Act, Agent, Revision, SearchHit
from perdure.registry.identifier_lookup import find_located, require_identifier
from perdure.registry.identifier_view import (
    View,
    is_hidden,
    view_identifier,
    visibility_of,
    visible_acts,
    visible_revision,
    visible_revision_at,
)
from perdure.registry.name_keys import find_own_name, locate
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

MOST_FOUND: Final = 1000
_MOST_WORDS: Final = 20
_LONGEST_WORD: Final = 1000
_SHORTEST_BEGINNING: Final = 3


class Resolution(NamedTuple):
    """The target of a name; `name` is its canonical spelling."""

    name: str
    target: str
    version: int


async def show(registry: Registry, text: str, *, version: int | None = None, by: Agent | None = None) -> View:
    """Return the record with its authority metadata, now or at a version.

    Values that are not public need a grant to edit.
    """

    return await registry.store.read(lambda reader: view_identifier(registry, reader, text, version, by))


async def find_name(registry: Registry, text: str) -> str:
    """Return the registered name that a text means. Raise NoSuchName if there is none."""
    return await registry.store.read(lambda reader: require_identifier(reader, text)[0].name)


async def history(registry: Registry, text: str, *, by: Agent | None = None) -> list[Revision]:
    """Return every version, with time, agent and action. Values that are not public need a grant to edit."""

    def work(reader: Reader) -> list[Revision]:
        identifier, current, prefix = require_identifier(reader, text)
        revisions = reader.revisions(identifier.subject)
        visibility = visibility_of(reader, by, current, prefix.key, registry.current_time(), identifier.key)
        hidden = is_hidden(identifier.scheme, visibility.visible_part(current))
        past = [records.decode(revision.record) for revision in revisions]
        last = {value.index: value for record in past for value in record.values}
        return [visible_revision(*one, visibility, hidden, last) for one in zip(revisions, past, strict=True)]

    return await registry.store.read(work)


async def list_acts(
    registry: Registry, text: str, *, after: int = 0, limit: int = 100, by: Agent | None = None
) -> list[Act]:
    """List what was done to an identifier, without the records: the versions after `after`, in their order."""
    if after < 0:
        raise InvalidInput("history", "after", "versions are numbered from 1")
    most = check_limit(limit, "history")

    def work(reader: Reader) -> list[Act]:
        identifier, record, prefix = require_identifier(reader, text)
        done = reader.acts(identifier.subject, after, most)
        visible = visibility_of(reader, by, record, prefix.key, registry.current_time(), identifier.key).visible_part(
            record
        )
        return visible_acts(done, identifier.scheme, visible)

    return await registry.store.read(work)


async def list_revisions(
    registry: Registry, text: str, *, after: int = 0, limit: int = 100, by: Agent | None = None
) -> list[Revision]:
    """List versions with their records: those after `after`, in their order. `history` lists all of them at once."""
    if after < 0:
        raise InvalidInput("history", "after", "versions are numbered from 1")
    most = check_limit(limit, "history")

    def work(reader: Reader) -> list[Revision]:
        newest = require_identifier(reader, text)[0].version
        versions = range(after + 1, min(newest, after + most) + 1)
        return [visible_revision_at(registry, reader, text, version, by) for version in versions]

    return await registry.store.read(work)


async def search(registry: Registry, words: Sequence[str], *, limit: int = 100) -> list[SearchHit]:
    """Search for identifiers whose names, targets, values or descriptions contain all these words, the newest first.

    The web address of a name, at any resolver, stands for that name if it is registered here. So do other forms.
    """

    def work(reader: Reader) -> list[SearchHit]:
        names = [_name_or_word(reader, word) for word in words]
        check_words(names)
        return reader.search(names, check_limit(limit))

    check_words(words)
    return await registry.store.scan(work)


def _name_or_word(reader: Reader, word: str) -> str:
    text = word
    try:
        text = find_own_name(reader, word) or word
        found = find_located(reader, locate(reader, text))
    except (InvalidName, InvalidInput, NoSuchName):
        return text
    return text if found is None else found.name


def check_words(words: Sequence[str]) -> None:
    """Check that these words can be searched for together."""
    if not 1 <= len(words) <= _MOST_WORDS:
        raise InvalidInput("search", "words", f"one to {_MOST_WORDS} words are required")
    for word in words:
        check_one_line(word, "words", _LONGEST_WORD)
        if word.endswith("*") and len(word.rstrip("*")) < _SHORTEST_BEGINNING:
            raise InvalidInput(
                "search", "words", f"a word that ends in * needs at least {_SHORTEST_BEGINNING} characters before it"
            )
        if not any(character.isalnum() for character in word):
            raise InvalidInput("search", "words", f"{word!a} has no letter or digit to search for")


async def find_by_value(
    registry: Registry, data: str, *, type: str | None = "URL", limit: int = 100
) -> list[SearchHit]:
    """Reverse look-up: find the identifiers with exactly this target, or with exactly this value."""
    check_storable(data, "data")
    kind = None if type is None else check_storable(type, "type").upper()
    return await registry.store.scan(lambda reader: reader.find_by_value(data, kind, check_limit(limit)))


async def resolve(registry: Registry, text: str) -> Resolution:
    """Return the target of a name. Raise Withdrawn, NoSuchName, WrongState or NoTarget if it has none."""

    def work(reader: Reader) -> Resolution:
        identifier, record, _ = require_identifier(reader, text)
        if record.tombstone is not None:
            raise Withdrawn(identifier.name, record.tombstone.reason, record.tombstone.replaced_by)
        if record.state != "active":
            raise WrongState(identifier.name, record.state, "active")
        target = identifier.target or first_url(record)
        if target is None:
            raise NoTarget(identifier.name, first_stored_url(record))
        return Resolution(identifier.name, target, identifier.version)

    return await registry.store.read(work)


def check_limit(limit: int, part: str = "search") -> int:
    """Return the limit, or raise InvalidInput if it is out of range."""
    if not 1 <= limit <= MOST_FOUND:
        raise InvalidInput(part, "limit", f"the limit must be between 1 and {MOST_FOUND}")
    return limit
