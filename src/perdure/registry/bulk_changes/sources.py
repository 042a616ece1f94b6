"""The identifiers of a bulk change, chunk by chunk: those that a query selects, or those of a list."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from hashlib import sha256
from itertools import islice
from typing import Final, NamedTuple, Protocol

from perdure.errors import NoSuchName, NotAuthorised, PerdureError
from perdure.registry.bulk_changes.bulk_change import BulkProblem
from perdure.registry.bulk_changes.bulk_edits import BulkEdit
from perdure.registry.entities import Agent, History
from perdure.registry.identifier_lookup import suggest_names
from perdure.registry.identifier_query import IdentifierQuery, Selection
from perdure.registry.key_ranges import read_ranges
from perdure.registry.name_keys import LocatedName, correct_pilin_spelling, locate
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

CHUNK: Final = 2000


class SourceChunk(NamedTuple):
    """Identifiers, and the position after them. `seen` is the number of selected names, with those left out."""

    cursor: str
    seen: int
    histories: list[History]
    problems: Sequence[BulkProblem] = ()


class Source(Protocol):
    """The identifiers of a bulk change. Each object of two names comes once, under its own key."""

    def chunks(self, registry: Registry, by: Agent, edit: BulkEdit, after: str) -> AsyncIterator[SourceChunk]: ...
    def select_again(self, registry: Registry, by: Agent, edit: BulkEdit, reader: Reader, stored: History) -> bool:
        """Return whether an identifier that was changed meanwhile still belongs to the source."""
        ...


class QuerySource:
    """The identifiers that a query selects, in the order of their keys."""

    def __init__(self, query: IdentifierQuery) -> None:
        self._query = query

    async def chunks(self, registry: Registry, by: Agent, edit: BulkEdit, after: str) -> AsyncIterator[SourceChunk]:
        key, is_last, is_empty = after, False, not after
        while not is_last:

            def work(reader: Reader, key: str = key, is_empty: bool = is_empty) -> tuple[SourceChunk, bool]:
                selection = self._open(registry, by, edit, reader)
                rows = read_ranges(reader.newest_histories, key, CHUNK, selection.beginnings)
                found = [
                    row for row in rows if row.identifier.subject == row.identifier.key and selection.includes(row)
                ]
                if selection.is_own and is_empty and not found and len(rows) < CHUNK:
                    raise NotAuthorised(by.id, edit.permission, selection.scope)  # nothing here is the agent's own
                cursor = rows[-1].identifier.key if rows else key
                concerned = [row for row in found if edit.concerns(row.identifier)]
                return SourceChunk(cursor, len(found), concerned), len(rows) < CHUNK

            chunk, is_last = await registry.store.scan(work)
            key, is_empty = chunk.cursor, is_empty and not chunk.seen
            yield chunk

    def _open(self, registry: Registry, by: Agent, edit: BulkEdit, reader: Reader) -> Selection:
        return Selection(reader, by, self._query, registry.current_time(), (edit.permission, "edit", "admin"))

    def select_again(self, registry: Registry, by: Agent, edit: BulkEdit, reader: Reader, stored: History) -> bool:
        return self._open(registry, by, edit, reader).includes(stored)


class NameSource:
    """The identifiers of a list, which can be read several times. The position is the number of names read."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def digest(self) -> str:
        """Return a digest of the list, by which an interrupted change recognises it."""
        digest = sha256()
        for name in self._names():
            digest.update(name.encode("utf-8", "surrogateescape") + b"\n")
        return digest.hexdigest()

    def first_names(self, count: int) -> list[str]:
        """Return the first names of the list."""
        return list(islice(self._names(), count))

    async def chunks(self, registry: Registry, by: Agent, edit: BulkEdit, after: str) -> AsyncIterator[SourceChunk]:
        done = int(after or 0)
        names = iter(islice(self._names(), done, None))
        while batch := list(islice(names, CHUNK)):
            done += len(batch)

            def work(reader: Reader, batch: list[str] = batch) -> tuple[list[History], list[BulkProblem]]:
                return _look_up(reader, batch)

            histories, problems = await registry.store.scan(work)
            yield SourceChunk(str(done), len(batch), histories, problems)

    def select_again(self, registry: Registry, by: Agent, edit: BulkEdit, reader: Reader, stored: History) -> bool:
        return True


def _look_up(reader: Reader, names: list[str]) -> tuple[list[History], list[BulkProblem]]:
    """Return the identifiers with these names, each once, and the names that are not registered."""
    located: list[LocatedName] = []
    problems: list[BulkProblem] = []
    for name in names:
        try:
            located.append(locate(reader, name))
        except PerdureError as problem:
            problems.append(BulkProblem(name, str(problem)))
    found = reader.newest_histories_of([one.key for one in located])
    missing = [one for one in located if one.key not in found]
    corrected = {one.key: right.key for one in missing if (right := correct_pilin_spelling(one)) is not None}
    found |= reader.newest_histories_of(list(corrected.values()))
    subjects: dict[str, History] = {}
    others: list[str] = []
    for one in located:
        stored = found.get(one.key) or found.get(corrected.get(one.key, ""))
        if stored is None:
            problems.append(BulkProblem(one.name, str(NoSuchName(one.name, suggest_names(reader, one)))))
        elif stored.identifier.subject == stored.identifier.key:
            subjects[stored.identifier.key] = stored
        else:
            others.append(stored.identifier.subject)
    return list((reader.newest_histories_of(others) | subjects).values()), problems
