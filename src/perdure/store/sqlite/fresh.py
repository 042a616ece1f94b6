"""New names on their way into the database: those of a whole group of works go there together.

Each statement lets go of the interpreter and has to wait for it again, behind whoever serves requests meanwhile. A few
statements for many names cost a fraction of a few for each.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import apsw

from perdure.registry.entities import Change

_INSERT: Final = (
    "INSERT INTO identifiers (id, key, target, state, version, name, scheme, created, subject, record) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
INSERT_REVISION: Final = (
    "INSERT INTO revisions (identifier, version, at, agent, action, note, record) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
# SQLite's clock counts milliseconds: the end of one, so that nobody who looked within it before is told nothing.
INSERT_CHANGE: Final = (
    "INSERT INTO changes (number, identifier, version) VALUES (max(coalesce((SELECT max(number) FROM changes), 0) + 1, "
    "CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000 + 999), ?, ?)"
)
_INSERT_WORDS: Final = "INSERT INTO words (rowid, text) VALUES (?, ?)"
INSERT_REVERSE: Final = "INSERT INTO reverse (data, type, identifier) VALUES (?, ?, ?)"
_INSERT_PERSON: Final = "INSERT INTO person_inputs (uuid_raw, name) VALUES (?, ?)"
_INSERT_DERIVATION: Final = "INSERT INTO derivations (prid, version, poid) VALUES (?, ?, ?)"


class Mark(NamedTuple):
    """How much was waiting at some moment."""

    rows: int
    revisions: int
    words: int
    reverse: int
    persons: int
    derivations: int


NOTHING: Final = Mark(0, 0, 0, 0, 0, 0)


class FreshNames:
    """What waits to be written. Whoever holds it writes it before anything else is asked or written."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.keys: set[str] = set()
        self._rows: list[tuple[Any, ...]] = []
        self._revisions: list[tuple[Any, ...]] = []
        self._words: list[tuple[int, str]] = []
        self._reverse: list[tuple[str, str, int]] = []
        self.persons: dict[str, str] = {}  # in their order
        self._derivations: list[tuple[str, int, str]] = []

    def __len__(self) -> int:
        """How many names."""
        return len(self._rows)

    def __bool__(self) -> bool:
        return bool(self._rows or self.persons or self._derivations)

    def derive(self, subject: str, version: int, observations: Sequence[str]) -> None:
        self._derivations.extend((subject, version, poid) for poid in observations)

    def add(self, places: Iterable[int], changes: Sequence[Change]) -> None:
        for rowid, change in zip(places, changes, strict=True):
            row = change.identifier
            subject = None if row.subject == row.key else row.subject
            self.keys.add(row.key)
            self._rows.append(
                (
                    rowid,
                    row.key,
                    row.target,
                    row.state,
                    row.version,
                    row.name,
                    row.scheme,
                    row.created,
                    subject,
                    row.record,
                )
            )
            self._revisions.extend(
                (rowid, one.version, one.at, one.agent, one.action, one.note, one.record) for one in change.revisions
            )
            self._words.append((rowid, change.words))
            self._reverse.extend((data, kind, rowid) for kind, data in change.reverse)

    def write(self) -> None:
        executemany = self._connection.executemany
        executemany(_INSERT, self._rows)
        executemany(INSERT_REVISION, self._revisions)
        executemany(INSERT_CHANGE, [one[:2] for one in self._revisions])
        executemany(_INSERT_WORDS, self._words)
        if self._reverse:
            executemany(INSERT_REVERSE, self._reverse)
        if self.persons:
            executemany(_INSERT_PERSON, list(self.persons.items()))
        if self._derivations:
            executemany(_INSERT_DERIVATION, self._derivations)
        self.drop()

    def mark(self) -> Mark:
        return Mark(
            len(self._rows),
            len(self._revisions),
            len(self._words),
            len(self._reverse),
            len(self.persons),
            len(self._derivations),
        )

    def keys_since(self, mark: Mark) -> list[str]:
        return [row[1] for row in self._rows[mark.rows :]]

    def drop(self, mark: Mark = NOTHING) -> None:
        """All that came since."""
        self.keys.difference_update(self.keys_since(mark))
        del self._rows[mark.rows :], self._revisions[mark.revisions :]
        del self._words[mark.words :], self._reverse[mark.reverse :]
        del self._derivations[mark.derivations :]
        for raw in list(self.persons)[mark.persons :]:
            del self.persons[raw]
