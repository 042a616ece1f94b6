"""What a transaction is going to write to the tables of names, before it goes to the server."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from perdure.registry.entities import Change, Identifier, Revision

Token = tuple[str, str]  # whose, and which
Answer = tuple[bytes, bytes, str]  # the request's digest, the answer, and when
Moved = dict[str, tuple[Fraction, Fraction]]  # the last date of a timeline, and how far its mark is to be ahead of that


class Mark(NamedTuple):
    """How much was gathered at some moment."""

    fresh: int
    changed: int
    persons: int
    derived: int
    answers: int
    moved: tuple[tuple[str, tuple[Fraction, Fraction]], ...]


NOTHING = Mark(0, 0, 0, 0, 0, ())


class Gathered:
    """Changes in the order in which they came, and what they say of single names."""

    def __init__(self) -> None:
        self.fresh: list[Change] = []
        self.changed: list[Change] = []
        self.persons: dict[str, str] = {}
        self.derived: list[tuple[str, int, str]] = []
        self.answers: dict[Token, Answer] = {}
        self.moved: Moved = {}
        self.names: dict[str, Identifier] = {}  # by key, what the changes come to
        self.newest: dict[str, Revision] = {}

    def __bool__(self) -> bool:
        return bool(self.fresh or self.changed or self.persons or self.derived or self.answers or self.moved)

    def insert(self, changes: Sequence[Change]) -> None:
        self.fresh.extend(changes)
        self._see(changes)

    def update(self, changes: Sequence[Change]) -> None:
        self.changed.extend(changes)
        self._see(changes)

    def changes_one_of(self, changes: Sequence[Change]) -> bool:
        changed = {one.identifier.key for one in self.changed}
        return any(one.identifier.key in changed for one in changes)

    def knows_one_of(self, names: Mapping[str, str]) -> bool:
        """Whether one of these inputs, or of these persons, is among those that were gathered."""
        return not self.persons.keys().isdisjoint(names) or not set(self.persons.values()).isdisjoint(names.values())

    def mark(self) -> Mark:
        lengths = len(self.fresh), len(self.changed), len(self.persons), len(self.derived), len(self.answers)
        return Mark(*lengths, tuple(self.moved.items()))

    def go_back(self, mark: Mark) -> None:
        """Drop what was gathered since."""
        if mark == self.mark():
            return
        del self.fresh[mark.fresh :], self.changed[mark.changed :], self.derived[mark.derived :]
        self.persons = dict(list(self.persons.items())[: mark.persons])
        self.answers = dict(list(self.answers.items())[: mark.answers])
        self.moved = dict(mark.moved)
        self.names.clear()
        self.newest.clear()
        self._see(self.fresh)
        self._see(self.changed)

    def _see(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.names[change.identifier.key] = change.identifier
            if change.revisions:
                self.newest[change.identifier.key] = change.revisions[-1]
