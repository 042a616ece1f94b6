"""New names on their way into the database: those of a whole group of works go there together, by few statements."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import apsw

from perdure.registry.entities import Change, Revision
from perdure.store.sqlite.many_rows import Rows

_IDENTIFIERS: Final = Rows(
    "identifiers", "id", "key", "target", "state", "version", "name", "scheme", "created", "subject", "record"
)
REVISIONS: Final = Rows(
    "revisions", "identifier", "version", "at", "agent", "action", "note", "record", "digest", "original"
)
REVERSE: Final = Rows("reverse", "data", "type", "identifier")
_CHANGES: Final = Rows("changes", "number", "identifier", "version")
_WORDS: Final = Rows("words", "rowid", "text")
_PERSONS: Final = Rows("person_inputs", "uuid_raw", "name")
_DERIVATIONS: Final = Rows("derivations", "prid", "version", "poid")
# SQLite's clock counts milliseconds: the end of one, so that nobody who looked within it before is told nothing.
_NEXT_CHANGE: Final = (
    "SELECT max(coalesce((SELECT max(number) FROM changes), 0) + 1, "
    "CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000 + 999)"
)


def revision_row(rowid: int, one: Revision) -> tuple[Any, ...]:
    return rowid, one.version, one.at, one.agent, one.action, one.note, one.record, one.digest, one.original


def number_changes(connection: apsw.Connection, revisions: Sequence[Sequence[Any]]) -> None:
    """Where revisions come in the order of all that was ever changed; of each, the identifier and the version."""
    first: int = connection.execute(_NEXT_CHANGE).get
    _CHANGES.insert(connection, [(number, one[0], one[1]) for number, one in enumerate(revisions, first)])


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
            self._revisions.extend([revision_row(rowid, one) for one in change.revisions])
            self._words.append((rowid, change.words))
            self._reverse.extend((data, kind, rowid) for kind, data in change.reverse)

    def write(self) -> None:
        connection = self._connection
        _IDENTIFIERS.insert(connection, self._rows)
        if self._revisions:
            REVISIONS.insert(connection, self._revisions)
            number_changes(connection, self._revisions)
        _WORDS.insert(connection, self._words)
        REVERSE.insert(connection, self._reverse)
        _PERSONS.insert(connection, list(self.persons.items()))
        _DERIVATIONS.insert(connection, self._derivations)
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
