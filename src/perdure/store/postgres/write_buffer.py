"""The buffer of a transaction's writes to the tables of names."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from perdure.registry.entities import Change, Identifier, Revision, SearchHit

AnswerKey = tuple[str, str]  # the agent, and the token of its request
Answer = tuple[bytes, bytes, str]  # the request's digest, the answer, and its time
TimelineMoves = dict[str, tuple[Fraction, Fraction]]  # by timeline: its last date, and how far ahead its mark moves


class BufferMark(NamedTuple):
    """The size of the buffer at some moment."""

    inserts: int
    updates: int
    persons: int
    derivations: int
    answers: int
    timelines: tuple[tuple[str, tuple[Fraction, Fraction]], ...]


EMPTY_MARK = BufferMark(0, 0, 0, 0, 0, ())


class WriteBuffer:
    """Changes in their order, and their effect on single names."""

    def __init__(self) -> None:
        self.inserts: list[Change] = []
        self.updates: list[Change] = []
        self.persons: dict[str, str] = {}
        self.derivations: list[tuple[str, int, str]] = []
        self.answers: dict[AnswerKey, Answer] = {}
        self.timelines: TimelineMoves = {}
        self.names: dict[str, Identifier] = {}  # by key, after the changes
        self.newest: dict[str, Revision] = {}

    def __bool__(self) -> bool:
        return bool(self.inserts or self.updates or self.persons or self.derivations or self.answers or self.timelines)

    def insert(self, changes: Sequence[Change]) -> None:
        self.inserts.extend(changes)
        self._index_changes(changes)

    def update(self, changes: Sequence[Change]) -> None:
        self.updates.extend(changes)
        self._index_changes(changes)

    def has_update_for(self, changes: Sequence[Change]) -> bool:
        updated = {change.identifier.key for change in self.updates}
        return any(change.identifier.key in updated for change in changes)

    def find_by_value(self, data: str, type: str | None) -> list[SearchHit]:
        """Return the new names with this value, the newest first."""
        rows = [
            change.identifier
            for change in reversed(self.inserts)
            for kind, one in change.reverse
            if one == data and type in (None, kind)
        ]
        return [SearchHit(row.name, row.state, row.target) for row in rows]

    def may_have_value(self, data: str) -> bool:
        """Return whether a new name has this value, or a changed one may have it."""
        return bool(self.updates) or any(data == one for change in self.inserts for _, one in change.reverse)

    def has_person_of(self, names: Mapping[str, str]) -> bool:
        """Return whether one of these inputs or persons is in the buffer."""
        return not self.persons.keys().isdisjoint(names) or not set(self.persons.values()).isdisjoint(names.values())

    def mark(self) -> BufferMark:
        lengths = len(self.inserts), len(self.updates), len(self.persons), len(self.derivations), len(self.answers)
        return BufferMark(*lengths, tuple(self.timelines.items()))

    def roll_back_to(self, mark: BufferMark) -> None:
        """Drop the writes that were added since."""
        if mark == self.mark():
            return
        del self.inserts[mark.inserts :], self.updates[mark.updates :], self.derivations[mark.derivations :]
        self.persons = dict(list(self.persons.items())[: mark.persons])
        self.answers = dict(list(self.answers.items())[: mark.answers])
        self.timelines = dict(mark.timelines)
        self.names.clear()
        self.newest.clear()
        self._index_changes(self.inserts)
        self._index_changes(self.updates)

    def _index_changes(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.names[change.identifier.key] = change.identifier
            if change.revisions:
                self.newest[change.identifier.key] = change.revisions[-1]
