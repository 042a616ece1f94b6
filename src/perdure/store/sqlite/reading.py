"""What can be asked of the database: one statement per question."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Final

import apsw

from perdure.registry.entities import (
    Act,
    Agent,
    Changed,
    Event,
    Found,
    Grant,
    History,
    Identifier,
    Key,
    NewestChange,
    Prefix,
    Revision,
)
from perdure.registry.protocol import UNSCRUBBED
from perdure.store.commit_mark import LINEAGE, ChangeMark, Tip
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.rows import PREFIX_COLUMNS, key_range, newest_history, prefix_of

SEALED: Final = "sealed"  # the fact that says why nothing can be written

_IDENTIFIER: Final = (
    "SELECT key, name, scheme, state, target, version, record, coalesce(subject, key), created FROM identifiers"
)
FIND: Final = f"{_IDENTIFIER} WHERE key = ?"
PERSON: Final = "SELECT name FROM person_inputs WHERE uuid_raw = ?"
_FIND_MANY: Final = f"{_IDENTIFIER} WHERE key IN (SELECT value FROM json_each(?))"
_ACTIVE: Final = "FROM identifiers WHERE state = 'active' AND key > ? AND key < ?"
_AFTER: Final = f"{_IDENTIFIER} WHERE key > ? AND key < ? ORDER BY key LIMIT ?"

_HISTORIES: Final = (
    "SELECT i.key, i.name, i.scheme, i.state, i.target, i.version, i.record, coalesce(i.subject, i.key), i.created, "
    "i.id, p.uuid_raw FROM identifiers AS i LEFT JOIN person_inputs AS p ON p.name = i.key "
    "WHERE i.key > ? AND i.key < ? ORDER BY i.key LIMIT ?"
)
_NEWEST_HISTORIES: Final = (
    "SELECT i.key, i.name, i.scheme, i.state, i.target, i.version, i.record, coalesce(i.subject, i.key), i.created, "
    "i.id, p.uuid_raw, r.at, r.agent, r.action, r.note, r.digest, r.original FROM identifiers AS i "
    "LEFT JOIN person_inputs AS p ON p.name = i.key "
    "LEFT JOIN revisions AS r ON r.identifier = i.id AND r.version = i.version "
    "WHERE i.key > ? AND i.key < ? ORDER BY i.key LIMIT ?"
)
_REVISIONS_OF: Final = (
    "SELECT version, at, agent, action, record, note, digest, original FROM revisions "
    "WHERE identifier = ? ORDER BY version"
)
_OF_KEY: Final = "FROM revisions AS r JOIN identifiers AS i ON i.id = r.identifier WHERE i.key = ?"
_REVISION_COLUMNS: Final = "r.version, r.at, r.agent, r.action, r.record, r.note, r.digest, r.original"
_REVISION: Final = f"SELECT {_REVISION_COLUMNS} {_OF_KEY}"
_ALL_REVISIONS: Final = f"{_REVISION} ORDER BY r.version"
_NEWEST_REVISION: Final = f"{_ALL_REVISIONS} DESC LIMIT 1"
_REVISION_OF_VERSION: Final = f"{_REVISION} AND r.version = ?"
_ACT: Final = f"SELECT r.version, r.at, r.agent, r.action, r.note {_OF_KEY}"
_ACTS: Final = f"{_ACT} AND r.version > ? ORDER BY r.version LIMIT ?"
_NEWEST_ACT: Final = f"{_ACT} ORDER BY r.version DESC LIMIT 1"
_NEWEST_ACT_OF: Final = f"{_ACT} AND r.action IN (SELECT value FROM json_each(?)) ORDER BY r.version DESC LIMIT 1"

# The newest first: that order is the index's own, so a common word costs no more than a rare one.
_SEARCHED: Final = (
    "SELECT i.name, i.state, i.target FROM words JOIN identifiers AS i ON i.id = words.rowid WHERE words MATCH ?"
)
_SEARCH: Final = f"{_SEARCHED} ORDER BY words.rowid DESC LIMIT ?"
_SEARCH_BEHIND: Final = (
    f"{_SEARCHED} AND words.rowid < (SELECT id FROM identifiers WHERE key = ?) ORDER BY words.rowid DESC LIMIT ?"
)
_REVERSE: Final = (
    "SELECT i.name, i.state, i.target FROM reverse AS r JOIN identifiers AS i ON i.id = r.identifier "
    "WHERE r.data = ?1 AND (?2 IS NULL OR r.type = ?2) ORDER BY r.identifier DESC LIMIT ?3"
)

_CHANGES: Final = (
    "SELECT c.number, i.name, i.scheme, i.state, r.version, r.at, r.agent, r.action FROM changes AS c "
    "JOIN identifiers AS i ON i.id = c.identifier "
    "JOIN revisions AS r ON r.identifier = c.identifier AND r.version = c.version "
    "WHERE c.number > ? ORDER BY c.number LIMIT ?"
)

_NEWEST: Final = (
    "FROM changes AS c JOIN identifiers AS i ON i.id = c.identifier "
    "JOIN revisions AS r ON r.identifier = c.identifier AND r.version = c.version ORDER BY c.number DESC LIMIT 1"
)
_NEWEST_CHANGE: Final = f"SELECT c.number, i.key, {_REVISION_COLUMNS} {_NEWEST}"
_TIP: Final = f"SELECT c.number, i.key, r.digest {_NEWEST}"  # at every commit, so without the record
_CHANGE_DIGESTS: Final = (
    "SELECT r.digest FROM changes AS c JOIN revisions AS r ON r.identifier = c.identifier AND r.version = c.version "
    "WHERE c.number = ?"
)

_PREFIX: Final = f"SELECT {PREFIX_COLUMNS} FROM prefixes"
_PREFIX_BY_KEY: Final = f"{_PREFIX} WHERE key = ?"
_PREFIX_BY_OPAQUE: Final = f"{_PREFIX} WHERE opaque = ?"
_PREFIXES: Final = f"{_PREFIX} ORDER BY key"

_AGENT: Final = "SELECT id, name, identifier, created, kind FROM agents"
_KEY: Final = "SELECT id, agent, digest, created, expires, revoked, label FROM keys"
_GRANTS: Final = (
    "SELECT agent, scope, action, own, until, given_by, given_at FROM grants WHERE agent = ? "
    "ORDER BY scope, action, own"
)
_EVENTS: Final = "SELECT at, agent, action, subject, detail, digest FROM events ORDER BY id DESC LIMIT ?"

_FACTS: Final = "SELECT name, value FROM facts WHERE name NOT IN (?, ?, ?, ?) ORDER BY name"
_SEALED_OF: Final = "SELECT sealed FROM secrets WHERE key = ? AND value_index = ?"
_ALL_SEALED: Final = "SELECT key, value_index, sealed FROM secrets ORDER BY key, value_index"
_ANSWERED: Final = "SELECT digest, answer, at FROM answers WHERE agent = ? AND token = ?"

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

# Each finds rows that contradict others; what is found is named by the key of an identifier.
_CONTRADICTIONS: Final = (
    (
        "SELECT i.key FROM identifiers AS i WHERE i.subject IS NULL AND i.version <> "
        "(SELECT count(*) FROM revisions AS r WHERE r.identifier = i.id)",
        "the number of its revisions is not its version",
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
        "full-text search does not know it",
    ),
    (
        "SELECT r.data FROM reverse AS r LEFT JOIN identifiers AS i ON i.id = r.identifier "
        "WHERE i.state IS NOT 'active'",
        "reverse look-up leads to an identifier that is not active",
    ),
    (
        "SELECT s.key FROM secrets AS s LEFT JOIN identifiers AS i ON i.key = s.key WHERE i.key IS NULL",
        "a secret is kept for it, and it is not there",
    ),
)


class SqliteReader:
    """Questions to one connection. What they mean is said in the protocol."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._execute = connection.execute

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything asked inside sees the same state."""
        self._execute("BEGIN; SELECT 1 FROM facts")
        try:
            yield
        finally:
            if self.connection.in_transaction:  # after an error of the disk, SQLite has ended it already
                self._execute("ROLLBACK")  # there is nothing to keep, and a damaged index could refuse a COMMIT

    def find(self, key: str) -> Identifier | None:
        row = self._execute(FIND, (key,)).fetchone()
        return None if row is None else Identifier(*row)

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        if len(keys) == 1:
            found = self.find(keys[0])
            return {} if found is None else {found.key: found}
        return {row[0]: Identifier(*row) for row in self._execute(_FIND_MANY, (json.dumps(keys),))}

    def revisions(self, subject: str) -> list[Revision]:
        return [Revision(*row) for row in self._execute(_ALL_REVISIONS, (subject,))]

    def revision(self, subject: str, version: int) -> Revision | None:
        row = self._execute(_REVISION_OF_VERSION, (subject, version)).fetchone()
        return None if row is None else Revision(*row)

    def newest_revision(self, subject: str) -> Revision | None:
        row = self._execute(_NEWEST_REVISION, (subject,)).fetchone()
        return None if row is None else Revision(*row)

    def acts(self, subject: str, after: int, limit: int) -> list[Act]:
        return [Act(*row) for row in self._execute(_ACTS, (subject, after, limit))]

    def newest_act(self, subject: str, actions: Sequence[str] = ()) -> Act | None:
        asked = (_NEWEST_ACT_OF, (subject, json.dumps(actions))) if actions else (_NEWEST_ACT, (subject,))
        row = self._execute(*asked).fetchone()
        return None if row is None else Act(*row)

    def changes(self, after: int, limit: int) -> list[Changed]:
        return [Changed(*row) for row in self._execute(_CHANGES, (after, limit))]

    def newest_change(self) -> NewestChange | None:
        row = self._execute(_NEWEST_CHANGE).fetchone()
        return None if row is None else NewestChange(row[0], row[1], Revision(*row[2:]))

    def tip(self) -> Tip:
        row = self._execute(_TIP).fetchone()
        return Tip(ChangeMark() if row is None else ChangeMark(*row), EventMark.parse(self.fact(NEWEST_EVENT)))

    def change_digests(self, number: int) -> list[bytes]:
        return [digest for (digest,) in self._execute(_CHANGE_DIGESTS, (number,))]

    def event_digests(self, number: int) -> list[bytes]:
        return [digest for (digest,) in self._execute("SELECT digest FROM events WHERE id = ?", (number,))]

    def after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        return [Identifier(*row) for row in self._execute(_AFTER, (*key_range(key, under), limit))]

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        rows: list[tuple[Any, ...]] = self._execute(_HISTORIES, (*key_range(key, under), limit)).fetchall()
        return [
            History(
                Identifier(*row[:9]),
                row[9],
                tuple(Revision(*one) for one in self._execute(_REVISIONS_OF, (row[9],))),
                uuid_raw=row[10],
            )
            for row in rows
        ]

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        rows: list[tuple[Any, ...]] = self._execute(_NEWEST_HISTORIES, (*key_range(key, under), limit)).fetchall()
        return [newest_history(Identifier(*row[:9]), *row[9:]) for row in rows]

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[Found]:
        asked = (_match(words), limit) if behind is None else (_match(words), behind, limit)
        return [Found(*row) for row in self._execute(_SEARCH if behind is None else _SEARCH_BEHIND, asked)]

    def reverse(self, data: str, type: str | None, limit: int) -> list[Found]:
        return [Found(*row) for row in self._execute(_REVERSE, (data, type, limit))]

    def prefix(self, key: str) -> Prefix | None:
        row = self._execute(_PREFIX_BY_KEY, (key,)).fetchone() or self._execute(_PREFIX_BY_OPAQUE, (key,)).fetchone()
        return None if row is None else prefix_of(row)

    def prefixes(self) -> list[Prefix]:
        return [prefix_of(row) for row in self._execute(_PREFIXES)]

    def timeline(self, key: str) -> Fraction | None:
        row = self._execute("SELECT last FROM timelines WHERE key = ?", (key,)).fetchone()
        return None if row is None else Fraction(row[0])

    def timelines(self) -> dict[str, Fraction]:
        return {key: Fraction(last) for key, last in self._execute("SELECT key, last FROM timelines ORDER BY key")}

    def person(self, uuid_raw: str) -> str | None:
        return _one(self._execute(PERSON, (uuid_raw,)).fetchone())

    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]:
        rows = self._execute(
            "SELECT uuid_raw, name FROM person_inputs WHERE uuid_raw IN (SELECT value FROM json_each(?))",
            (json.dumps(uuid_raws),),
        )
        return dict(rows)

    def number_of_persons(self) -> int:
        return int(self._execute(NUMBER_OF_PERSONS).get)

    def active_names(self, key: str, limit: int, under: str) -> list[tuple[str, str]]:
        asked = f"SELECT key, name {_ACTIVE} ORDER BY key LIMIT ?"
        return [(found, name) for found, name in self._execute(asked, (*key_range(key, under), limit))]

    def number_of_active(self, under: str) -> int:
        return int(self._execute(f"SELECT count(*) {_ACTIVE}", key_range("", under)).get)

    def active_key(self, number: int, under: str) -> str | None:
        asked = f"SELECT key {_ACTIVE} ORDER BY key LIMIT 1 OFFSET ?"
        return _one(self._execute(asked, (*key_range("", under), number - 1)).fetchone())

    def input_of(self, name: str) -> str | None:
        return _one(self._execute("SELECT uuid_raw FROM person_inputs WHERE name = ?", (name,)).fetchone())

    def derivations(self, subject: str) -> list[tuple[int, str]]:
        rows = self._execute("SELECT version, poid FROM derivations WHERE prid = ? ORDER BY version, poid", (subject,))
        return [(version, poid) for version, poid in rows]

    def derived_from(self, poid: str) -> list[str]:
        rows = self._execute("SELECT DISTINCT prid FROM derivations WHERE poid = ? ORDER BY prid", (poid,))
        return [prid for (prid,) in rows]

    def agent(self, id: str) -> Agent | None:
        row = self._execute(f"{_AGENT} WHERE id = ?", (id,)).fetchone()
        return None if row is None else Agent(*row)

    def agents(self) -> list[Agent]:
        return [Agent(*row) for row in self._execute(f"{_AGENT} ORDER BY id")]

    def key(self, id: str) -> Key | None:
        row = self._execute(f"{_KEY} WHERE id = ?", (id,)).fetchone()
        return None if row is None else Key(*row)

    def keys(self, agent: str) -> list[Key]:
        return [Key(*row) for row in self._execute(f"{_KEY} WHERE agent = ? ORDER BY created, id", (agent,))]

    def grants(self, agent: str) -> list[Grant]:
        return [
            Grant(row[0], row[1], row[2], bool(row[3]), row[4], row[5], row[6])
            for row in self._execute(_GRANTS, (agent,))
        ]

    def events(self, limit: int) -> list[Event]:
        return [Event(*row) for row in self._execute(_EVENTS, (limit,))]

    def secret(self, key: str, index: int) -> bytes | None:
        row = self._execute(_SEALED_OF, (key, index)).fetchone()
        return None if row is None else bytes(row[0])

    def secrets(self) -> list[tuple[str, int, bytes]]:
        return [(key, index, sealed) for key, index, sealed in self._execute(_ALL_SEALED)]

    def answered(self, agent: str, token: str) -> tuple[bytes, bytes, str] | None:
        row = self._execute(_ANSWERED, (agent, token)).fetchone()
        return None if row is None else (row[0], row[1], row[2])

    def fact(self, name: str) -> str | None:
        return _one(self._execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone())

    def facts(self) -> dict[str, str]:
        """Those of the registry; what concerns this file alone stays here."""
        return dict(self._execute(_FACTS, (SEALED, UNSCRUBBED, NEWEST_EVENT, LINEAGE)))

    def counts(self) -> dict[str, int]:
        counts = {name: int(self._execute(question).get) for name, question in _COUNTS.items()}
        return counts | {
            "bytes": int(self._execute("PRAGMA page_count").get) * int(self._execute("PRAGMA page_size").get)
        }

    def contradictions(self) -> Iterator[str]:
        # The check itself does not notice that others have changed the full-text index since this connection last
        # looked, and would call it damaged. A search does notice.
        yield from self._found("SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1", lambda row: None)
        yield from self._found(
            "PRAGMA integrity_check(20)", lambda row: None if row[0] == "ok" else f"the file is damaged: {row[0]}"
        )
        yield from self._found(
            "PRAGMA foreign_key_check",
            lambda row: f"a row of {row[0]} points to a row of {row[2]} that does not exist",
        )
        for question, meaning in _CONTRADICTIONS:

            def named(row: tuple[Any, ...], meaning: str = meaning) -> str:
                return f"{row[0]}: {meaning}"

            yield from self._found(question, named)

    def _found(self, question: str, said: Callable[[tuple[Any, ...]], str | None]) -> Iterator[str]:
        """What a question turns up; damage that stops it is itself a finding, and the next question is asked."""
        try:
            for row in self._execute(question):
                if (problem := said(row)) is not None:
                    yield problem
        except (apsw.CorruptError, UnicodeDecodeError) as damage:
            yield f"the file is damaged: {damage}"


def _one(row: tuple[Any, ...] | None) -> str | None:
    return None if row is None else str(row[0])


def _match(words: Sequence[str]) -> str:
    """Each word as a phrase of the query language, where nothing in it is obeyed; an asterisk at its end is."""
    quoted = []
    for word in words:
        text = word.rstrip("*").replace('"', '""')
        quoted.append(f'"{text}"{"*" if word.endswith("*") else ""}')
    return " ".join(quoted)
