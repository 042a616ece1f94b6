"""The buffer of new names: those of a whole group of works are inserted together, with few statements."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import apsw

from perdure.registry.entities import Change, Revision
from perdure.store.sqlite.multi_insert import MultiInsert

_IDENTIFIERS: Final = MultiInsert(
    "identifiers", "id", "key", "target", "state", "version", "name", "scheme", "created", "subject", "record"
)
REVISIONS: Final = MultiInsert(
    "revisions", "identifier", "version", "at", "agent", "action", "note", "record", "digest", "original"
)
REVERSE: Final = MultiInsert("reverse", "data", "type", "identifier")
_CHANGES: Final = MultiInsert("changes", "number", "identifier", "version")
_WORDS: Final = MultiInsert("words", "rowid", "text")
_PERSONS: Final = MultiInsert("person_inputs", "uuid_raw", "name")
_DERIVATIONS: Final = MultiInsert("derivations", "prid", "version", "poid")
# SQLite's clock has milliseconds. The end of one is used, so that a client that read changes within it misses none.
_NEXT_CHANGE: Final = (
    "SELECT max(coalesce((SELECT max(number) FROM changes), 0) + 1, "
    "CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000 + 999)"
)


def revision_row(rowid: int, revision: Revision) -> tuple[Any, ...]:
    """Return the columns of a revision."""
    return (
        rowid,
        revision.version,
        revision.at,
        revision.agent,
        revision.action,
        revision.note,
        revision.record,
        revision.digest,
        revision.original,
    )


def number_changes(connection: apsw.Connection, revisions: Sequence[Sequence[Any]]) -> None:
    """Number revisions in the order of all changes. Each starts with the identifier's row and the version."""
    first: int = connection.execute(_NEXT_CHANGE).get
    _CHANGES.insert(connection, [(number, row[0], row[1]) for number, row in enumerate(revisions, first)])


class BufferMark(NamedTuple):
    """The size of the buffer at some moment."""

    rows: int
    revisions: int
    words: int
    reverse: int
    persons: int
    derivations: int


EMPTY_MARK: Final = BufferMark(0, 0, 0, 0, 0, 0)


class InsertBuffer:
    """Rows to be inserted. The transaction writes them before any other statement."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.keys: set[str] = set()
        self.reverse_data: set[str] = set()
        self._rows: list[tuple[Any, ...]] = []
        self._revisions: list[tuple[Any, ...]] = []
        self._words: list[tuple[int, str]] = []
        self._reverse: list[tuple[str, str, int]] = []
        self.persons: dict[str, str] = {}  # in insertion order
        self._derivations: list[tuple[str, int, str]] = []

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._rows)

    def __bool__(self) -> bool:
        return bool(self._rows or self.persons or self._derivations)

    def add_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None:
        self._derivations.extend((subject, version, poid) for poid in observations)

    def add(self, rowids: Iterable[int], changes: Sequence[Change]) -> None:
        for rowid, change in zip(rowids, changes, strict=True):
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
            self._revisions.extend([revision_row(rowid, revision) for revision in change.revisions])
            self._words.append((rowid, change.words))
            for kind, data in change.reverse:
                self.reverse_data.add(data)
                self._reverse.append((data, kind, rowid))

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

    def mark(self) -> BufferMark:
        return BufferMark(
            len(self._rows),
            len(self._revisions),
            len(self._words),
            len(self._reverse),
            len(self.persons),
            len(self._derivations),
        )

    def keys_since(self, mark: BufferMark) -> list[str]:
        return [row[1] for row in self._rows[mark.rows :]]

    def drop(self, mark: BufferMark = EMPTY_MARK) -> None:
        """Drop the rows that were added since."""
        self.keys.difference_update(self.keys_since(mark))
        del self._rows[mark.rows :], self._revisions[mark.revisions :]
        del self._words[mark.words :], self._reverse[mark.reverse :]
        self.reverse_data = {data for data, *_ in self._reverse}
        del self._derivations[mark.derivations :]
        for raw in list(self.persons)[mark.persons :]:
            del self.persons[raw]
