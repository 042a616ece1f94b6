"""What can be asked of the database: one statement per question."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from hashlib import sha256
from typing import Any, Final

import msgspec
from psycopg import sql

from perdure.records.record import OWN_LIFETIME
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
from perdure.store.commit_mark import LINEAGE, ChangeMark, Tip
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.postgres.connection import Connection, Row
from perdure.store.postgres.gathering import Answer, Token
from perdure.store.postgres.lexemes import question
from perdure.store.rows import PREFIX_COLUMNS, key_range, newest_history, prefix_of

_COLUMNS: Final = "i.key, i.name, i.scheme, i.state, i.target, i.version, i.record, i.subject, i.created"
_ONE: Final = "FROM identifiers AS i WHERE i.key = %s"
# `= ANY` would ask every partition for every key. Here each key is looked up in its own partition alone. A plain join
# may do so too, or read whole tables if they were empty when the server made its plan: OFFSET 0 leaves it no choice.
# The keys go there as JSON, which takes half of the time to write that an array takes.
_MANY: Final = (
    "FROM json_array_elements_text(%s::json) AS wanted (key) "
    'CROSS JOIN LATERAL (SELECT * FROM identifiers WHERE key = wanted.key COLLATE "C" OFFSET 0) AS i'
)
FIND: Final = f"SELECT {_COLUMNS} {_ONE}"
FIND_MANY: Final = f"SELECT {_COLUMNS} {_MANY}"
# No more than an answer needs. Where a value has a lifetime of its own, the target alone is not the whole answer.
_PLAIN: Final = f"i.target IS NOT NULL AND position('\\x{OWN_LIFETIME.hex()}'::bytea IN i.record) = 0"
FIND_REDIRECT: Final = f"SELECT i.key, i.target, i.version {_ONE} AND {_PLAIN}"
FIND_REDIRECTS: Final = f"SELECT i.key, i.target, i.version {_MANY} WHERE {_PLAIN}"
FIND_RECORD: Final = f"SELECT i.key, i.version, i.record {_ONE}"
FIND_RECORDS: Final = f"SELECT i.key, i.version, i.record {_MANY}"
PERSONS: Final = (
    "SELECT p.uuid_raw, p.name FROM json_array_elements_text(%s::json) AS wanted (uuid_raw) "
    'CROSS JOIN LATERAL (SELECT * FROM person_inputs WHERE uuid_raw = wanted.uuid_raw COLLATE "C" OFFSET 0) AS p'
)
ANSWERS: Final = (
    "SELECT a.agent, a.token, a.digest, a.answer, a.at FROM unnest(%s::text[], %s::text[]) AS wanted (agent, token) "
    'CROSS JOIN LATERAL (SELECT * FROM answers WHERE agent = wanted.agent COLLATE "C" '
    'AND token = wanted.token COLLATE "C" OFFSET 0) AS a'
)
_ACTIVE: Final = "FROM identifiers AS i WHERE i.state = 'active' AND i.key > %s AND i.key < %s"
_AFTER: Final = f"SELECT {_COLUMNS} FROM identifiers AS i WHERE i.key > %s AND i.key < %s ORDER BY i.key LIMIT %s"
_HISTORIES: Final = sql.SQL(
    f"COPY (SELECT {_COLUMNS}, i.added, p.uuid_raw FROM identifiers AS i LEFT JOIN person_names AS p ON p.name = i.key "
    "WHERE i.key > {after} AND i.key < {end} ORDER BY i.key LIMIT {limit}) TO STDOUT (FORMAT BINARY)"
)
# Each is looked up in its own partition, as above.
_NEWEST_HISTORIES: Final = (
    f"SELECT {_COLUMNS}, i.added, p.uuid_raw, r.at, r.agent, r.action, r.note, r.digest, r.original "
    "FROM (SELECT * FROM identifiers WHERE key > %s AND key < %s ORDER BY key LIMIT %s) AS i "
    "LEFT JOIN LATERAL (SELECT uuid_raw FROM person_names WHERE name = i.key OFFSET 0) AS p ON true "
    "LEFT JOIN LATERAL (SELECT at, agent, action, note, digest, original FROM revisions "
    "WHERE key = i.key AND version = i.version OFFSET 0) AS r ON true ORDER BY i.key"
)
_HISTORY_TYPES: Final = ("text",) * 5 + ("int4", "bytea", "text", "text", "int8", "text")
_REVISION_COLUMNS: Final = "version, at, agent, action, record, note, digest, original"
_REVISIONS_BETWEEN: Final = sql.SQL(
    f"COPY (SELECT key, {_REVISION_COLUMNS} FROM revisions "
    "WHERE key >= {first} AND key <= {last} ORDER BY key, version) TO STDOUT (FORMAT BINARY)"
)
_REVISION_TYPES: Final = ("text", "int4", "text", "text", "text", "bytea", "text", "bytea", "bytea")

_REVISION: Final = f"SELECT {_REVISION_COLUMNS} FROM revisions WHERE key = %s ORDER BY version"
REVISION_OF_VERSION: Final = f"SELECT {_REVISION_COLUMNS} FROM revisions WHERE key = %s AND version = %s"
_NEWEST_REVISION: Final = f"{_REVISION} DESC LIMIT 1"
_ACT: Final = "SELECT version, at, agent, action, note FROM revisions WHERE key = %s"
_ACTS: Final = f"{_ACT} AND version > %s ORDER BY version LIMIT %s"
_NEWEST_ACT: Final = f"{_ACT} ORDER BY version DESC LIMIT 1"
_NEWEST_ACT_OF: Final = f"{_ACT} AND action = ANY(%s) ORDER BY version DESC LIMIT 1"

_CHANGED: Final = (
    "SELECT r.added, coalesce(i.name, i.key), i.scheme, i.state, r.version, r.at, r.agent, r.action "
    "FROM revisions AS r JOIN identifiers AS i ON i.key = r.key"
)
# What another process is just writing may have a lower number, and come later.
_SETTLED: Final = 60_000_000
_CHANGES: Final = (
    f"{_CHANGED} WHERE r.added > %s AND r.added < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - %s "
    "ORDER BY r.added LIMIT %s"
)
_CHANGES_OF: Final = f"{_CHANGED} WHERE r.added = %s ORDER BY r.key, r.version"

# The newest of all partitions is among the newest of each, which their indexes give at once.
_NEWEST_CHANGE: Final = f"SELECT added, key, {_REVISION_COLUMNS} FROM revisions ORDER BY added DESC LIMIT 1"

_SEARCHED: Final = (
    "SELECT coalesce(i.name, i.key), i.state, i.target FROM words AS w JOIN identifiers AS i ON i.key = w.key "
    "WHERE w.lexemes @@ %s::tsquery"
)
_NEWEST_FIRST: Final = "ORDER BY w.added DESC, w.key DESC LIMIT %s"
_SEARCH: Final = f"{_SEARCHED} {_NEWEST_FIRST}"
_PLACE: Final = "SELECT added, key FROM words WHERE key = %s"
_SEARCH_BEHIND: Final = f"{_SEARCHED} AND (w.added, w.key) < (%s, %s) {_NEWEST_FIRST}"
_REVERSE: Final = (
    "SELECT coalesce(i.name, i.key), i.state, i.target FROM reverse AS r JOIN identifiers AS i ON i.key = r.key "
    "WHERE r.data = %s AND (%s::text IS NULL OR r.type = %s) ORDER BY r.added DESC, r.key DESC LIMIT %s"
)

_PREFIX: Final = f"SELECT {PREFIX_COLUMNS} FROM prefixes"
_AGENT: Final = "SELECT id, name, identifier, created, kind FROM agents"
_KEY: Final = "SELECT id, agent, digest, created, expires, revoked, label FROM keys"
_GRANTS: Final = (
    "SELECT agent, scope, action, own, until, given_by, given_at FROM grants WHERE agent = %s "
    "ORDER BY scope, action, own"
)
_EVENTS: Final = (
    "SELECT at, agent, action, subject, detail, digest FROM events ORDER BY added DESC, writer DESC LIMIT %s"
)

_FACTS: Final = "SELECT name, value FROM facts WHERE name <> ALL(%s) ORDER BY name"

NUMBER_OF_PERSONS: Final = "SELECT count(*) FROM identifiers WHERE scheme = 'ppid'"
_COUNTS: Final = (
    "SELECT count(*), count(*) FILTER (WHERE state = 'reserved'), count(*) FILTER (WHERE state = 'active'), "
    "count(*) FILTER (WHERE state = 'withdrawn'), count(*) FILTER (WHERE scheme = 'handle'), "
    "count(*) FILTER (WHERE scheme = 'ibi'), count(*) FILTER (WHERE scheme = 'ppid'), "
    "(SELECT count(*) FROM revisions), (SELECT count(*) FROM prefixes), (SELECT count(*) FROM agents), "
    "(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r') "
    "FROM identifiers"
)
_COUNTED: Final = (
    "identifiers",
    "reserved",
    "active",
    "withdrawn",
    "handle",
    "ibi",
    "ppid",
    "revisions",
    "prefixes",
    "agents",
    "bytes",
)

# Each finds rows that contradict others; what is found is named by the key of an identifier.
_CONTRADICTIONS: Final = (
    (
        "SELECT i.key FROM identifiers AS i "
        "LEFT JOIN (SELECT key, count(*) AS number FROM revisions GROUP BY key) AS r ON r.key = i.key "
        "WHERE i.subject IS NULL AND i.version <> coalesce(r.number, 0)",
        "the number of its revisions is not its version",
    ),
    (
        "SELECT i.key FROM identifiers AS i LEFT JOIN revisions AS r ON r.key = i.key AND r.version = i.version "
        "WHERE i.subject IS NULL AND r.record IS DISTINCT FROM i.record",
        "its record is not that of its newest revision",
    ),
    (
        "SELECT a.key FROM identifiers AS a LEFT JOIN identifiers AS i ON i.key = a.subject "
        "WHERE a.subject IS NOT NULL AND (a.record, a.version, a.state, a.target, a.created) IS DISTINCT FROM "
        "(i.record, i.version, i.state, i.target, i.created)",
        "it differs from the identifier that it is an alias of",
    ),
    (
        "SELECT r.key FROM revisions AS r LEFT JOIN identifiers AS i ON i.key = r.key WHERE i.key IS NULL",
        "it has revisions and no row",
    ),
    (
        "SELECT i.key FROM identifiers AS i LEFT JOIN words AS w ON w.key = i.key WHERE w.key IS NULL",
        "full-text search does not know it",
    ),
    (
        "SELECT w.key FROM words AS w LEFT JOIN identifiers AS i ON i.key = w.key "
        "WHERE i.added IS DISTINCT FROM w.added",
        "full-text search puts it in another order",
    ),
    (
        "SELECT r.key FROM reverse AS r LEFT JOIN identifiers AS i ON i.key = r.key "
        "WHERE i.state IS DISTINCT FROM 'active'",
        "reverse look-up leads to it, and it is not active",
    ),
    (
        "SELECT coalesce(n.name, p.name) FROM person_inputs AS p FULL JOIN person_names AS n ON n.name = p.name "
        "WHERE n.uuid_raw IS DISTINCT FROM p.uuid_raw",
        "its inputs lead to it, or it to them, but not both",
    ),
    (
        "SELECT s.key FROM secrets AS s LEFT JOIN identifiers AS i ON i.key = s.key WHERE i.key IS NULL",
        "a secret is kept for it, and it is not there",
    ),
)


def identifier_of(row: Row) -> Identifier:
    """From its columns, two of which say nothing where they would only repeat the key: most of the time."""
    key, name, scheme, state, target, version, record, subject, created = row
    return Identifier(key, name or key, scheme, state, target, version, record, subject or key, created)


def digest(data: str) -> bytes:
    """What reverse look-up compares."""
    return sha256(data.encode()).digest()


def as_json(keys: Sequence[str]) -> str:
    """Keys on their way to the server."""
    return msgspec.json.encode(keys).decode()


class PostgresReader:
    """Questions to one connection. What they mean is said in the protocol."""

    def __init__(self, connection: Connection, long_statement_seconds: float) -> None:
        self.connection = connection
        self._long = long_statement_seconds

    def _rows(self, question: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self.connection.execute(question, parameters, binary=True).fetchall()

    def _row(self, question: str, parameters: Sequence[Any] = ()) -> Row | None:
        return self.connection.execute(question, parameters, binary=True).fetchone()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything asked inside sees the same state."""
        patience = self.connection.patience
        self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            self.connection.patience = patience
            if not self.connection.broken:
                self.connection.execute("ROLLBACK")

    def _take_time(self) -> None:
        """What goes over everything may take longer than a question of somebody who waits."""
        self.connection.execute("SELECT set_config('statement_timeout', %s, true)", (f"{self._long * 1000:.0f}ms",))
        self.connection.patience = max(self.connection.patience, self._long)

    def find(self, key: str) -> Identifier | None:
        row = self._row(FIND, (key,))
        return None if row is None else identifier_of(row)

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        return {row[0]: identifier_of(row) for row in self._rows(FIND_MANY, (as_json(keys),))} if keys else {}

    def revisions(self, subject: str) -> list[Revision]:
        return [Revision(*row) for row in self._rows(_REVISION, (subject,))]

    def revision(self, subject: str, version: int) -> Revision | None:
        row = self._row(REVISION_OF_VERSION, (subject, version))
        return None if row is None else Revision(*row)

    def newest_revision(self, subject: str) -> Revision | None:
        row = self._row(_NEWEST_REVISION, (subject,))
        return None if row is None else Revision(*row)

    def acts(self, subject: str, after: int, limit: int) -> list[Act]:
        return [Act(*row) for row in self._rows(_ACTS, (subject, after, limit))]

    def newest_act(self, subject: str, actions: Sequence[str] = ()) -> Act | None:
        row = self._row(_NEWEST_ACT_OF, (subject, list(actions))) if actions else self._row(_NEWEST_ACT, (subject,))
        return None if row is None else Act(*row)

    def changes(self, after: int, limit: int) -> list[Changed]:
        rows = self._rows(_CHANGES, (after, _SETTLED, limit))
        if len(rows) == limit:  # two processes may give the same number: none of them is cut off
            rows = [row for row in rows if row[0] < rows[-1][0]] + self._rows(_CHANGES_OF, (rows[-1][0],))
        return [Changed(*row) for row in rows]

    def newest_change(self) -> NewestChange | None:
        row = self._row(_NEWEST_CHANGE)
        return None if row is None else NewestChange(row[0], row[1], Revision(*row[2:]))

    def tip(self) -> Tip:
        newest = self.newest_change()
        change = ChangeMark() if newest is None else ChangeMark(newest.number, newest.key, newest.revision.digest)
        return Tip(change, EventMark.parse(self.fact(NEWEST_EVENT)))

    def change_digests(self, number: int) -> list[bytes]:
        return [digest for (digest,) in self._rows("SELECT digest FROM revisions WHERE added = %s", (number,))]

    def event_digests(self, number: int) -> list[bytes]:
        return [digest for (digest,) in self._rows("SELECT digest FROM events WHERE added = %s", (number,))]

    def after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        return [identifier_of(row) for row in self._rows(_AFTER, (*key_range(key, under), limit))]

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        self._take_time()
        start, end = key_range(key, under)
        asked = _HISTORIES.format(after=sql.Literal(start), end=sql.Literal(end), limit=sql.Literal(limit))
        rows = self._copied(asked, _HISTORY_TYPES)
        if not rows:
            return []
        asked = _REVISIONS_BETWEEN.format(first=sql.Literal(rows[0][0]), last=sql.Literal(rows[-1][0]))
        revisions: dict[str, list[Revision]] = {}
        for subject, *rest in self._copied(asked, _REVISION_TYPES):
            revisions.setdefault(subject, []).append(Revision(*rest))
        return [
            History(identifier_of(row[:9]), row[9], tuple(revisions.get(row[0], ())), uuid_raw=row[10]) for row in rows
        ]

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        rows = self._rows(_NEWEST_HISTORIES, (*key_range(key, under), limit))
        return [newest_history(identifier_of(row[:9]), *row[9:]) for row in rows]

    def _copied(self, asked: sql.Composed, types: Sequence[str]) -> list[Row]:
        with self.connection.cursor().copy(asked) as copy:
            copy.set_types(types)
            return list(copy.rows())

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[Found]:
        asked = question(words)
        if asked is None:
            return []
        if behind is None:
            return [Found(*row) for row in self._rows(_SEARCH, (asked, limit))]
        place = self._row(_PLACE, (behind,))
        return [] if place is None else [Found(*row) for row in self._rows(_SEARCH_BEHIND, (asked, *place, limit))]

    def reverse(self, data: str, type: str | None, limit: int) -> list[Found]:
        return [Found(*row) for row in self._rows(_REVERSE, (digest(data), type, type, limit))]

    def prefix(self, key: str) -> Prefix | None:
        row = self._row(f"{_PREFIX} WHERE key = %s OR opaque = %s ORDER BY key <> %s LIMIT 1", (key, key, key))
        return None if row is None else prefix_of(row)

    def prefixes(self) -> list[Prefix]:
        return [prefix_of(row) for row in self._rows(f"{_PREFIX} ORDER BY key")]

    def timeline(self, key: str) -> Fraction | None:
        row = self._row("SELECT last FROM timelines WHERE key = %s", (key,))
        return None if row is None or row[0] is None else Fraction(row[0])

    def timelines(self) -> dict[str, Fraction]:
        rows = self._rows("SELECT key, last FROM timelines WHERE last IS NOT NULL ORDER BY key")
        return {key: Fraction(last) for key, last in rows}

    def person(self, uuid_raw: str) -> str | None:
        return _one(self._row("SELECT name FROM person_inputs WHERE uuid_raw = %s", (uuid_raw,)))

    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]:
        return dict(self._rows(PERSONS, (as_json(uuid_raws),)))

    def number_of_persons(self) -> int:
        self._take_time()
        return int(self._rows(NUMBER_OF_PERSONS)[0][0])

    def active_names(self, key: str, limit: int, under: str) -> list[tuple[str, str]]:
        asked = f"SELECT i.key, coalesce(i.name, i.key) {_ACTIVE} ORDER BY i.key LIMIT %s"
        return [(found, name) for found, name in self._rows(asked, (*key_range(key, under), limit))]

    def number_of_active(self, under: str) -> int:
        return int(self._rows(f"SELECT count(*) {_ACTIVE}", key_range("", under))[0][0])

    def active_key(self, number: int, under: str) -> str | None:
        asked = f"SELECT i.key {_ACTIVE} ORDER BY i.key LIMIT 1 OFFSET %s"
        row = self._row(asked, (*key_range("", under), number - 1))
        return None if row is None else str(row[0])

    def input_of(self, name: str) -> str | None:
        return _one(self._row("SELECT uuid_raw FROM person_names WHERE name = %s", (name,)))

    def derivations(self, subject: str) -> list[tuple[int, str]]:
        rows = self._rows("SELECT version, poid FROM derivations WHERE prid = %s ORDER BY version, poid", (subject,))
        return [(version, poid) for version, poid in rows]

    def derived_from(self, poid: str) -> list[str]:
        rows = self._rows("SELECT DISTINCT prid FROM derivations WHERE poid = %s ORDER BY prid", (poid,))
        return [prid for (prid,) in rows]

    def agent(self, id: str) -> Agent | None:
        row = self._row(f"{_AGENT} WHERE id = %s", (id,))
        return None if row is None else Agent(*row)

    def agents(self) -> list[Agent]:
        return [Agent(*row) for row in self._rows(f"{_AGENT} ORDER BY id")]

    def key(self, id: str) -> Key | None:
        row = self._row(f"{_KEY} WHERE id = %s", (id,))
        return None if row is None else Key(*row)

    def keys(self, agent: str) -> list[Key]:
        return [Key(*row) for row in self._rows(f"{_KEY} WHERE agent = %s ORDER BY created, id", (agent,))]

    def grants(self, agent: str) -> list[Grant]:
        return [Grant(*row) for row in self._rows(_GRANTS, (agent,))]

    def events(self, limit: int) -> list[Event]:
        return [Event(*row) for row in self._rows(_EVENTS, (limit,))]

    def secret(self, key: str, index: int) -> bytes | None:
        row = self._row("SELECT sealed FROM secrets WHERE key = %s AND value_index = %s", (key, index))
        return None if row is None else row[0]

    def secrets(self) -> list[tuple[str, int, bytes]]:
        rows = self._rows("SELECT key, value_index, sealed FROM secrets ORDER BY key, value_index")
        return [(key, index, sealed) for key, index, sealed in rows]

    def answered(self, agent: str, token: str) -> Answer | None:
        return self._answers([(agent, token)]).get((agent, token))

    def _answers(self, tokens: Sequence[Token]) -> dict[Token, Answer]:
        rows = self._rows(ANSWERS, [[agent for agent, _ in tokens], [token for _, token in tokens]])
        return {(agent, token): (digest, answer, at) for agent, token, digest, answer, at in rows}

    def fact(self, name: str) -> str | None:
        return _one(self._row("SELECT value FROM facts WHERE name = %s", (name,)))

    def facts(self) -> dict[str, str]:
        """Those of the registry; what concerns this database alone stays here."""
        return dict(self._rows(_FACTS, ([NEWEST_EVENT, LINEAGE],)))

    def sealed(self) -> str | None:
        """Why nothing can be written, if it cannot."""
        return _one(self._row("SELECT value FROM guards WHERE name = 'sealed'")) or None

    def counts(self) -> dict[str, int]:
        self._take_time()
        return dict(zip(_COUNTED, self._rows(_COUNTS)[0], strict=True))

    def contradictions(self) -> Iterator[str]:
        self._take_time()
        for asked, meaning in _CONTRADICTIONS:
            for (key,) in self._rows(asked):
                yield f"{key}: {meaning}"


def _one(row: Row | None) -> str | None:
    return None if row is None else str(row[0])
