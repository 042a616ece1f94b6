"""The queries of a database file."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import apsw

from perdure.registry.entities import (
    Act,
    FeedEntry,
    History,
    Identifier,
    KeyChange,
    Revision,
    SearchHit,
)
from perdure.registry.holdings import Holding
from perdure.registry.store_interface import UNSCRUBBED
from perdure.store.commit_mark import LINEAGE, ChangeMark, Tip
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.row_mapping import (
    HOLDING_COLUMNS,
    PERIOD_COLUMNS,
    PREFIX_COLUMNS,
    Row,
    build_newest_history,
    first_column,
    group_holdings,
    key_range,
)
from perdure.store.sql_reader import SharedStatements, SqlReader

READ_ONLY_FACT: Final = "sealed"  # the fact that holds the reason why the store is read-only

Runner = Callable[..., apsw.Cursor]

_IDENTIFIER: Final = (
    "SELECT key, name, scheme, state, target, version, record, coalesce(subject, key), created FROM identifiers"
)
FIND: Final = f"{_IDENTIFIER} WHERE key = ?"
PERSON: Final = "SELECT name FROM person_inputs WHERE uuid_raw = ?"
FIND_MANY: Final = f"{_IDENTIFIER} WHERE key IN (SELECT value FROM json_each(?))"
_FROM_ACTIVE: Final = "FROM identifiers WHERE state = 'active' AND key > ? AND key < ?"
_AFTER: Final = f"{_IDENTIFIER} WHERE key > ? AND key < ? ORDER BY key LIMIT ?"
_BEFORE: Final = f"{_IDENTIFIER} WHERE key >= ? AND key < ? ORDER BY key DESC LIMIT ?"

_HISTORIES: Final = (
    "SELECT i.key, i.name, i.scheme, i.state, i.target, i.version, i.record, coalesce(i.subject, i.key), i.created, "
    "i.id, p.uuid_raw FROM identifiers AS i LEFT JOIN person_inputs AS p ON p.name = i.key "
    "WHERE i.key > ? AND i.key < ? ORDER BY i.key LIMIT ?"
)
_FROM_NEWEST: Final = (
    "SELECT i.key, i.name, i.scheme, i.state, i.target, i.version, i.record, coalesce(i.subject, i.key), i.created, "
    "i.id, p.uuid_raw, r.at, r.agent, r.action, r.note, r.digest, r.original FROM identifiers AS i "
    "LEFT JOIN person_inputs AS p ON p.name = i.key "
    "LEFT JOIN revisions AS r ON r.identifier = i.id AND r.version = i.version"
)
_NEWEST_HISTORIES: Final = f"{_FROM_NEWEST} WHERE i.key > ? AND i.key < ? ORDER BY i.key LIMIT ?"
_NEWEST_HISTORIES_OF: Final = f"{_FROM_NEWEST} WHERE i.key IN (SELECT value FROM json_each(?))"
_REVISIONS_OF: Final = (
    "SELECT version, at, agent, action, record, note, digest, original FROM revisions "
    "WHERE identifier = ? ORDER BY version"
)
_OF_KEY: Final = "FROM revisions AS r JOIN identifiers AS i ON i.id = r.identifier WHERE i.key = ?"
_REVISION_COLUMNS: Final = "r.version, r.at, r.agent, r.action, r.record, r.note, r.digest, r.original"
_REVISION: Final = f"SELECT {_REVISION_COLUMNS} {_OF_KEY}"
_ACT: Final = f"SELECT r.version, r.at, r.agent, r.action, r.note {_OF_KEY}"
_NEWEST_ACT: Final = f"{_ACT} ORDER BY r.version DESC LIMIT 1"
_NEWEST_ACT_OF: Final = f"{_ACT} AND r.action IN (SELECT value FROM json_each(?)) ORDER BY r.version DESC LIMIT 1"

# Newest first: the index has this order, so a common word costs no more than a rare one.
_SEARCH_HITS: Final = (
    "SELECT i.name, i.state, i.target FROM words JOIN identifiers AS i ON i.id = words.rowid WHERE words MATCH ?"
)
_SEARCH: Final = f"{_SEARCH_HITS} ORDER BY words.rowid DESC LIMIT ?"
_SEARCH_BEHIND: Final = (
    f"{_SEARCH_HITS} AND words.rowid < (SELECT id FROM identifiers WHERE key = ?) ORDER BY words.rowid DESC LIMIT ?"
)
REVERSE_LOOKUP: Final = (
    "SELECT i.name, i.state, i.target FROM reverse AS r JOIN identifiers AS i ON i.id = r.identifier "
    "WHERE r.data = ?1 AND (?2 IS NULL OR r.type = ?2) ORDER BY r.identifier DESC LIMIT ?3"
)

_CHANGES: Final = (
    "SELECT c.number, i.name, i.scheme, i.state, r.version, r.at, r.agent, r.action FROM changes AS c "
    "JOIN identifiers AS i ON i.id = c.identifier "
    "JOIN revisions AS r ON r.identifier = c.identifier AND r.version = c.version "
    "WHERE c.number > ? ORDER BY c.number LIMIT ?"
)

_KEY_CHANGES: Final = (
    "SELECT c.number, i.key, i.scheme, i.state, c.version = i.version FROM changes AS c "
    "JOIN identifiers AS i ON i.id = c.identifier WHERE c.number > ? ORDER BY c.number LIMIT ?"
)
_CHANGE_NUMBER: Final = (
    "SELECT number FROM changes WHERE identifier = (SELECT id FROM identifiers WHERE key = ?) AND version = ? "
    "AND number BETWEEN ? AND ?"
)
# A change is stored within this time after its revision was made, unless it was imported.
_BEFORE_CHANGE, _AFTER_CHANGE = 10_000_000, 300_000_000  # microseconds
_LARGEST_NUMBER: Final = (1 << 63) - 1
_HOLDINGS_OF: Final = (
    f"SELECT {HOLDING_COLUMNS} FROM holdings WHERE subject IN (SELECT value FROM json_each(?)) "
    "ORDER BY role = 'copy', collection"
)

_NEWEST: Final = (
    "FROM changes AS c JOIN identifiers AS i ON i.id = c.identifier "
    "JOIN revisions AS r ON r.identifier = c.identifier AND r.version = c.version ORDER BY c.number DESC LIMIT 1"
)
_TIP: Final = f"SELECT c.number, i.key, r.digest {_NEWEST}"  # read at every commit, so without the record

_PREFIX: Final = (
    f"SELECT {PREFIX_COLUMNS}, (SELECT json_group_array(json_array({PERIOD_COLUMNS})) "
    "FROM label_periods AS l WHERE l.prefix = p.key) FROM prefixes AS p"
)
_PREFIX_BY_KEY: Final = f"{_PREFIX} WHERE key = ?"
_PREFIX_BY_LABEL: Final = f"{_PREFIX} WHERE key = (SELECT prefix FROM label_periods WHERE label = ? LIMIT 1)"

_FACTS: Final = "SELECT name, value FROM facts WHERE name NOT IN (?, ?, ?, ?) ORDER BY name"
_ANSWER: Final = "SELECT digest, answer, at FROM answers WHERE agent = ? AND token = ?"

NUMBER_OF_PERSONS: Final = "SELECT count(*) FROM identifiers WHERE scheme = 'ppid'"
_COUNTS: Final = {
    "identifiers": "SELECT count(*) FROM identifiers",
    "reserved": "SELECT count(*) FROM identifiers WHERE state = 'reserved'",
    "active": "SELECT count(*) FROM identifiers WHERE state = 'active'",
    "withdrawn": "SELECT count(*) FROM identifiers WHERE state = 'withdrawn'",
    "handle": "SELECT count(*) FROM identifiers WHERE scheme = 'handle'",
    "ibi": "SELECT count(*) FROM identifiers WHERE scheme = 'ibi'",
    "ppid": NUMBER_OF_PERSONS,
    "revisions": "SELECT count(*) FROM revisions",
    "prefixes": "SELECT count(*) FROM prefixes",
    "agents": "SELECT count(*) FROM agents",
}

# Each query finds inconsistent rows; its first column is the key of an identifier.
_CONTRADICTIONS: Final = (
    (
        "SELECT i.key FROM identifiers AS i WHERE i.subject IS NULL AND i.version <> "
        "(SELECT count(*) FROM revisions AS r WHERE r.identifier = i.id)",
        "its version is not the number of its revisions",
    ),
    (
        "SELECT i.key FROM identifiers AS i LEFT JOIN revisions AS r ON r.identifier = i.id AND r.version = i.version "
        "WHERE i.subject IS NULL AND r.record IS NOT i.record",
        "its record is not that of its newest revision",
    ),
    (
        "SELECT a.key FROM identifiers AS a LEFT JOIN identifiers AS i ON i.key = a.subject "
        "WHERE a.subject IS NOT NULL AND (a.record, a.version, a.state, a.target, a.created) IS NOT "
        "(i.record, i.version, i.state, i.target, i.created)",
        "it differs from the identifier that it is an alias of",
    ),
    (
        "SELECT i.key FROM identifiers AS i LEFT JOIN words_docsize AS w ON w.id = i.id WHERE w.id IS NULL",
        "it is missing in the full-text index",
    ),
    (
        "SELECT r.data FROM reverse AS r LEFT JOIN identifiers AS i ON i.id = r.identifier "
        "WHERE i.state IS NOT 'active'",
        "reverse look-up finds an identifier that is not active",
    ),
    (
        "SELECT s.key FROM secrets AS s LEFT JOIN identifiers AS i ON i.key = s.key WHERE i.key IS NULL",
        "it has a secret, but does not exist",
    ),
    (
        "SELECT h.subject FROM holdings AS h JOIN identifiers AS i ON i.key = h.subject WHERE i.subject IS NOT NULL",
        "a collection holds it under a second name of its item",
    ),
)

_STATEMENTS: Final = SharedStatements(
    revisions=f"{_REVISION} ORDER BY r.version",
    revision=f"{_REVISION} AND r.version = ?",
    newest_revision=f"{_REVISION} ORDER BY r.version DESC LIMIT 1",
    acts=f"{_ACT} AND r.version > ? ORDER BY r.version LIMIT ?",
    newest_change=f"SELECT c.number, i.key, {_REVISION_COLUMNS} {_NEWEST}",
    change_digests=(
        "SELECT r.digest FROM changes AS c "
        "JOIN revisions AS r ON r.identifier = c.identifier AND r.version = c.version WHERE c.number = ?"
    ),
    event_digests="SELECT digest FROM events WHERE id = ?",
    active_names=f"SELECT key, name {_FROM_ACTIVE} ORDER BY key LIMIT ?",
    count_active=f"SELECT count(*) {_FROM_ACTIVE}",
    active_key=f"SELECT key {_FROM_ACTIVE} ORDER BY key LIMIT 1 OFFSET ?",
    input_uuid="SELECT uuid_raw FROM person_inputs WHERE name = ?",
    events="SELECT at, agent, action, subject, detail, digest FROM events ORDER BY id DESC LIMIT ?",
    prefixes=f"{_PREFIX} ORDER BY key",
)


class SqliteReader(SqlReader):
    """The queries on one connection. `Reader` documents them."""

    _statements = _STATEMENTS

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._execute = self._wrap_runner(connection.execute)

    def _wrap_runner(self, runner: Runner) -> Runner:
        """Return the function that runs every statement of this reader: `runner` itself.

        This is a hook. `SqliteTransaction` overrides it, to flush its insert buffer before each statement.
        """
        return runner

    def _rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self._execute(statement, parameters).fetchall()

    def _row(self, statement: str, parameters: Sequence[Any] = ()) -> Row | None:
        row: Row | None = self._execute(statement, parameters).fetchone()
        return row

    def _prefix_row(self, key: str) -> Row | None:
        return self._row(_PREFIX_BY_KEY, (key,)) or self._row(_PREFIX_BY_LABEL, (key,))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all queries in the block see the same state."""
        self._execute("BEGIN; SELECT 1 FROM facts")
        try:
            yield
        finally:
            if self.connection.in_transaction:  # after a disk error, SQLite has ended it already
                self._execute("ROLLBACK")  # nothing was written, and a damaged index could refuse a COMMIT

    def find(self, key: str) -> Identifier | None:
        row = self._execute(FIND, (key,)).fetchone()
        return None if row is None else Identifier(*row)

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        if len(keys) == 1:
            row = self.find(keys[0])
            return {} if row is None else {row.key: row}
        return {row[0]: Identifier(*row) for row in self._execute(FIND_MANY, (json.dumps(keys),))}

    def newest_act(self, subject: str, actions: Sequence[str] = ()) -> Act | None:
        query = (_NEWEST_ACT_OF, (subject, json.dumps(actions))) if actions else (_NEWEST_ACT, (subject,))
        row = self._row(*query)
        return None if row is None else Act(*row)

    def changes(self, after: int, limit: int) -> list[FeedEntry]:
        return [FeedEntry(*row) for row in self._execute(_CHANGES, (after, limit))]

    def key_changes(self, after: int, limit: int) -> list[KeyChange]:
        rows = self._execute(_KEY_CHANGES, (after, limit))
        return [KeyChange(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]

    def change_number(self, subject: str, version: int, near: int) -> int | None:
        for start, end in ((near - _BEFORE_CHANGE, near + _AFTER_CHANGE), (0, _LARGEST_NUMBER)):
            row = self._row(_CHANGE_NUMBER, (subject, version, start, end))
            if row is not None:
                return int(row[0])
        return None

    def holdings_of(self, subjects: Sequence[str]) -> dict[str, list[Holding]]:
        return group_holdings(self._rows(_HOLDINGS_OF, (json.dumps(list(subjects)),)))

    def tip(self) -> Tip:
        row = self._execute(_TIP).fetchone()
        return Tip(ChangeMark() if row is None else ChangeMark(*row), EventMark.parse(self.fact(NEWEST_EVENT)))

    def identifiers_after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        return [Identifier(*row) for row in self._execute(_AFTER, (*key_range(key, under), limit))]

    def identifiers_before(self, key: str, limit: int, under: str) -> list[Identifier]:
        return [Identifier(*row) for row in self._execute(_BEFORE, (under, key, limit))]

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        rows = self._rows(_HISTORIES, (*key_range(key, under), limit))
        return [
            History(
                Identifier(*row[:9]),
                row[9],
                tuple(Revision(*revision) for revision in self._execute(_REVISIONS_OF, (row[9],))),
                uuid_raw=row[10],
            )
            for row in rows
        ]

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        rows = self._rows(_NEWEST_HISTORIES, (*key_range(key, under), limit))
        return [build_newest_history(Identifier(*row[:9]), *row[9:]) for row in rows]

    def newest_histories_of(self, keys: Sequence[str]) -> dict[str, History]:
        rows = self._rows(_NEWEST_HISTORIES_OF, (json.dumps(keys),))
        return {row[0]: build_newest_history(Identifier(*row[:9]), *row[9:]) for row in rows}

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[SearchHit]:
        match = _format_match(words)
        query = (_SEARCH, (match, limit)) if behind is None else (_SEARCH_BEHIND, (match, behind, limit))
        return [SearchHit(*row) for row in self._execute(*query)]

    def find_by_value(self, data: str, type: str | None, limit: int) -> list[SearchHit]:
        return [SearchHit(*row) for row in self._execute(REVERSE_LOOKUP, (data, type, limit))]

    def person(self, uuid_raw: str) -> str | None:
        return first_column(self._execute(PERSON, (uuid_raw,)).fetchone())

    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]:
        rows = self._execute(
            "SELECT uuid_raw, name FROM person_inputs WHERE uuid_raw IN (SELECT value FROM json_each(?))",
            (json.dumps(uuid_raws),),
        )
        return dict(rows)

    def count_persons(self) -> int:
        return int(self._execute(NUMBER_OF_PERSONS).get)

    def find_answer(self, agent: str, token: str) -> tuple[bytes, bytes, str] | None:
        row = self._execute(_ANSWER, (agent, token)).fetchone()
        return None if row is None else (row[0], row[1], row[2])

    def facts(self) -> dict[str, str]:
        """Return the facts of the registry, without those that concern this file alone."""
        return dict(self._execute(_FACTS, (READ_ONLY_FACT, UNSCRUBBED, NEWEST_EVENT, LINEAGE)))

    def counts(self) -> dict[str, int]:
        counts = {name: int(self._execute(query).get) for name, query in _COUNTS.items()}
        return counts | {
            "bytes": int(self._execute("PRAGMA page_count").get) * int(self._execute("PRAGMA page_size").get)
        }

    def contradictions(self) -> Iterator[str]:
        # The check does not notice that another connection has changed the full-text index since this one last read
        # it, and would report damage. A search does notice.
        yield from self._list_problems("SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1", lambda row: None)
        yield from self._list_problems(
            "PRAGMA integrity_check(20)", lambda row: None if row[0] == "ok" else f"the file is damaged: {row[0]}"
        )
        yield from self._list_problems(
            "PRAGMA foreign_key_check",
            lambda row: f"a row of {row[0]} points to a row of {row[2]} that does not exist",
        )
        for query, meaning in _CONTRADICTIONS:

            def describe(row: Row, meaning: str = meaning) -> str:
                return f"{row[0]}: {meaning}"

            yield from self._list_problems(query, describe)

    def _list_problems(self, query: str, describe: Callable[[Row], str | None]) -> Iterator[str]:
        """Yield the problems that a query finds. Damage that stops it is one more, and does not stop the check."""
        try:
            for row in self._execute(query):
                if (problem := describe(row)) is not None:
                    yield problem
        except (apsw.CorruptError, UnicodeDecodeError) as damage:
            yield f"the file is damaged: {damage}"


def _format_match(words: Sequence[str]) -> str:
    """Write each word as a quoted phrase, so that it holds no operators, but for an asterisk at its end."""
    quoted = []
    for word in words:
        text = word.rstrip("*").replace('"', '""')
        quoted.append(f'"{text}"{"*" if word.endswith("*") else ""}')
    return " ".join(quoted)
