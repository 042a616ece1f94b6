"""The queries of a schema on a PostgreSQL server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec
from psycopg import sql

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
from perdure.store.commit_mark import LINEAGE, ChangeMark, Tip
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.postgres.connection import Connection, Row
from perdure.store.postgres.lexemes import format_tsquery
from perdure.store.postgres.write_buffer import Answer, AnswerKey
from perdure.store.row_mapping import (
    HOLDING_COLUMNS,
    PERIOD_COLUMNS,
    PREFIX_COLUMNS,
    build_newest_history,
    first_column,
    group_holdings,
    key_range,
)
from perdure.store.sql_reader import SharedStatements, SqlReader

_COLUMNS: Final = "i.key, i.name, i.scheme, i.state, i.target, i.version, i.record, i.subject, i.created"
_BY_KEY: Final = "FROM identifiers AS i WHERE i.key = %s"
# `= ANY` would search every partition for each key. This looks each key up in its own partition alone. A plain join
# may do so too, or may read whole tables if they were empty when the server made its plan: OFFSET 0 prevents that.
# The keys are sent as JSON, which takes half the time to write that an array takes.
_BY_KEYS: Final = (
    "FROM json_array_elements_text(%s::json) AS wanted (key) "
    'CROSS JOIN LATERAL (SELECT * FROM identifiers WHERE key = wanted.key COLLATE "C" OFFSET 0) AS i'
)
FIND: Final = f"SELECT {_COLUMNS} {_BY_KEY}"
FIND_MANY: Final = f"SELECT {_COLUMNS} {_BY_KEYS}"
# Only the columns of a response.
FIND_REDIRECT: Final = f"SELECT i.key, i.target, i.version {_BY_KEY} AND i.target IS NOT NULL"
FIND_REDIRECTS: Final = f"SELECT i.key, i.target, i.version {_BY_KEYS} WHERE i.target IS NOT NULL"
FIND_RECORD: Final = f"SELECT i.key, i.version, i.record {_BY_KEY}"
FIND_RECORDS: Final = f"SELECT i.key, i.version, i.record {_BY_KEYS}"
PERSONS: Final = (
    "SELECT p.uuid_raw, p.name FROM json_array_elements_text(%s::json) AS wanted (uuid_raw) "
    'CROSS JOIN LATERAL (SELECT * FROM person_inputs WHERE uuid_raw = wanted.uuid_raw COLLATE "C" OFFSET 0) AS p'
)
ANSWERS: Final = (
    "SELECT a.agent, a.token, a.digest, a.answer, a.at FROM unnest(%s::text[], %s::text[]) AS wanted (agent, token) "
    'CROSS JOIN LATERAL (SELECT * FROM answers WHERE agent = wanted.agent COLLATE "C" '
    'AND token = wanted.token COLLATE "C" OFFSET 0) AS a'
)
_FROM_ACTIVE: Final = "FROM identifiers AS i WHERE i.state = 'active' AND i.key > ? AND i.key < ?"
_AFTER: Final = f"SELECT {_COLUMNS} FROM identifiers AS i WHERE i.key > %s AND i.key < %s ORDER BY i.key LIMIT %s"
_BEFORE: Final = (
    f"SELECT {_COLUMNS} FROM identifiers AS i WHERE i.key >= %s AND i.key < %s ORDER BY i.key DESC LIMIT %s"
)
_HISTORIES: Final = sql.SQL(
    f"COPY (SELECT {_COLUMNS}, i.added, p.uuid_raw FROM identifiers AS i LEFT JOIN person_names AS p ON p.name = i.key "
    "WHERE i.key > {after} AND i.key < {end} ORDER BY i.key LIMIT {limit}) TO STDOUT (FORMAT BINARY)"
)
# Each key is looked up in its own partition, as above.
_NEWEST_COLUMNS: Final = (
    f"SELECT {_COLUMNS}, i.added, p.uuid_raw, r.at, r.agent, r.action, r.note, r.digest, r.original FROM "
)
_WITH_NEWEST: Final = (
    "LEFT JOIN LATERAL (SELECT uuid_raw FROM person_names WHERE name = i.key OFFSET 0) AS p ON true "
    "LEFT JOIN LATERAL (SELECT at, agent, action, note, digest, original FROM revisions "
    "WHERE key = i.key AND version = i.version OFFSET 0) AS r ON true"
)
_NEWEST_HISTORIES: Final = (
    f"{_NEWEST_COLUMNS} (SELECT * FROM identifiers WHERE key > %s AND key < %s ORDER BY key LIMIT %s) AS i "
    f"{_WITH_NEWEST} ORDER BY i.key"
)
_NEWEST_HISTORIES_OF: Final = (
    f"{_NEWEST_COLUMNS} json_array_elements_text(%s::json) AS wanted (key) "
    'CROSS JOIN LATERAL (SELECT * FROM identifiers WHERE key = wanted.key COLLATE "C" OFFSET 0) AS i '
    f"{_WITH_NEWEST}"
)
_HISTORY_TYPES: Final = ("text",) * 5 + ("int4", "bytea", "text", "text", "int8", "text")
_REVISION_COLUMNS: Final = "version, at, agent, action, record, note, digest, original"
_REVISIONS_BETWEEN: Final = sql.SQL(
    f"COPY (SELECT key, {_REVISION_COLUMNS} FROM revisions "
    "WHERE key >= {first} AND key <= {last} ORDER BY key, version) TO STDOUT (FORMAT BINARY)"
)
_REVISION_TYPES: Final = ("text", "int4", "text", "text", "text", "bytea", "text", "bytea", "bytea")

_REVISION: Final = f"SELECT {_REVISION_COLUMNS} FROM revisions WHERE key = ?"
_ACT: Final = "SELECT version, at, agent, action, note FROM revisions WHERE key = %s"
_NEWEST_ACT: Final = f"{_ACT} ORDER BY version DESC LIMIT 1"
_NEWEST_ACT_OF: Final = f"{_ACT} AND action = ANY(%s) ORDER BY version DESC LIMIT 1"

_CHANGE_COLUMNS: Final = (
    "SELECT r.added, coalesce(i.name, i.key), i.scheme, i.state, r.version, r.at, r.agent, r.action "
    "FROM revisions AS r JOIN identifiers AS i ON i.key = r.key"
)
# Another process may be about to commit a change with a lower number, so the newest changes are not returned yet.
_SETTLING_MICROSECONDS: Final = 60_000_000
_CHANGES: Final = (
    f"{_CHANGE_COLUMNS} WHERE r.added > %s "
    "AND r.added < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - %s ORDER BY r.added LIMIT %s"
)
_CHANGES_OF: Final = f"{_CHANGE_COLUMNS} WHERE r.added = %s ORDER BY r.key, r.version"

_KEY_CHANGE: Final = (
    "SELECT r.added, i.key, i.scheme, i.state, r.version = i.version "
    "FROM revisions AS r JOIN identifiers AS i ON i.key = r.key"
)
_KEY_CHANGES: Final = (
    f"{_KEY_CHANGE} WHERE r.added > %s "
    "AND r.added < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - %s ORDER BY r.added LIMIT %s"
)
_KEY_CHANGES_OF: Final = f"{_KEY_CHANGE} WHERE r.added = %s ORDER BY r.key, r.version"
_CHANGE_NUMBER: Final = "SELECT added FROM revisions WHERE key = %s AND version = %s"
_HOLDINGS_OF: Final = (
    f"SELECT {HOLDING_COLUMNS} FROM holdings WHERE subject = ANY(%s) ORDER BY role = 'copy', collection"
)

_SEARCH_HITS: Final = (
    "SELECT coalesce(i.name, i.key), i.state, i.target FROM words AS w JOIN identifiers AS i ON i.key = w.key "
    "WHERE w.lexemes @@ %s::tsquery"
)
_NEWEST_FIRST: Final = "ORDER BY w.added DESC, w.key DESC LIMIT %s"
_SEARCH: Final = f"{_SEARCH_HITS} {_NEWEST_FIRST}"
_SEARCH_POSITION: Final = "SELECT added, key FROM words WHERE key = %s"
_SEARCH_BEHIND: Final = f"{_SEARCH_HITS} AND (w.added, w.key) < (%s, %s) {_NEWEST_FIRST}"
_REVERSE: Final = (
    "SELECT w.number, h.name, h.state, h.target "
    "FROM unnest(%s::bytea[], %s::text[], %s::int8[]) WITH ORDINALITY AS w (data, type, most, number) "
    "CROSS JOIN LATERAL (SELECT coalesce(i.name, i.key) AS name, i.state, i.target, r.added, r.key "
    "FROM reverse AS r JOIN identifiers AS i ON i.key = r.key "
    "WHERE r.data = w.data AND (w.type IS NULL OR r.type = w.type) "
    "ORDER BY r.added DESC, r.key DESC LIMIT w.most) AS h ORDER BY w.number, h.added DESC, h.key DESC"
)

_PREFIXES: Final = (
    f"SELECT {PREFIX_COLUMNS}, (SELECT json_agg(json_build_array({PERIOD_COLUMNS}))::text "
    "FROM label_periods AS l WHERE l.prefix = p.key) FROM prefixes AS p"
)
_PREFIX: Final = (
    f"{_PREFIXES} WHERE key = %s OR key = (SELECT prefix FROM label_periods WHERE label = %s LIMIT 1) "
    "ORDER BY key <> %s LIMIT 1"
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
_COUNT_NAMES: Final = (
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

# Each query finds inconsistent rows; its first column is the key of an identifier.
_CONTRADICTIONS: Final = (
    (
        "SELECT i.key FROM identifiers AS i "
        "LEFT JOIN (SELECT key, count(*) AS number FROM revisions GROUP BY key) AS r ON r.key = i.key "
        "WHERE i.subject IS NULL AND i.version <> coalesce(r.number, 0)",
        "its version is not the number of its revisions",
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
        "it has revisions, but no row",
    ),
    (
        "SELECT i.key FROM identifiers AS i LEFT JOIN words AS w ON w.key = i.key WHERE w.key IS NULL",
        "it is missing in the full-text index",
    ),
    (
        "SELECT w.key FROM words AS w LEFT JOIN identifiers AS i ON i.key = w.key "
        "WHERE i.added IS DISTINCT FROM w.added",
        "its position in the full-text index is wrong",
    ),
    (
        "SELECT r.key FROM reverse AS r LEFT JOIN identifiers AS i ON i.key = r.key "
        "WHERE i.state IS DISTINCT FROM 'active'",
        "reverse look-up finds it, but it is not active",
    ),
    (
        "SELECT coalesce(n.name, p.name) FROM person_inputs AS p FULL JOIN person_names AS n ON n.name = p.name "
        "WHERE n.uuid_raw IS DISTINCT FROM p.uuid_raw",
        "its inputs and its name do not refer to each other",
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


class ValueLookup(NamedTuple):
    """A look-up of the newest names with a value."""

    data: str
    type: str | None
    limit: int


def to_identifier(row: Row) -> Identifier:
    """Build an identifier from its columns. Name and subject are NULL where they equal the key, as they mostly do."""
    key, name, scheme, state, target, version, record, subject, created = row
    return Identifier(key, name or key, scheme, state, target, version, record, subject or key, created)


def digest_data(data: str) -> bytes:
    """Return the digest by which reverse look-up compares data."""
    return sha256(data.encode()).digest()


def to_json_array(keys: Sequence[str]) -> str:
    """Write keys as the JSON that the queries for many keys take."""
    return msgspec.json.encode(keys).decode()


_STATEMENTS: Final = SharedStatements(
    revisions=f"{_REVISION} ORDER BY version",
    revision=f"{_REVISION} AND version = ?",
    newest_revision=f"{_REVISION} ORDER BY version DESC LIMIT 1",
    acts=(
        "SELECT version, at, agent, action, note FROM revisions WHERE key = ? AND version > ? ORDER BY version LIMIT ?"
    ),
    # The newest change of all partitions is one of the newest of each, which an index on each returns at once.
    newest_change=f"SELECT added, key, {_REVISION_COLUMNS} FROM revisions ORDER BY added DESC LIMIT 1",
    change_digests="SELECT digest FROM revisions WHERE added = ?",
    event_digests="SELECT digest FROM events WHERE added = ?",
    active_names=f"SELECT i.key, coalesce(i.name, i.key) {_FROM_ACTIVE} ORDER BY i.key LIMIT ?",
    count_active=f"SELECT count(*) {_FROM_ACTIVE}",
    active_key=f"SELECT i.key {_FROM_ACTIVE} ORDER BY i.key LIMIT 1 OFFSET ?",
    input_uuid="SELECT uuid_raw FROM person_names WHERE name = ?",
    events="SELECT at, agent, action, subject, detail, digest FROM events ORDER BY added DESC, writer DESC LIMIT ?",
    prefixes=f"{_PREFIXES} ORDER BY key",
).with_placeholder("%s")


class PostgresReader(SqlReader):
    """The queries on one connection. `Reader` documents them."""

    _statements = _STATEMENTS

    def __init__(self, connection: Connection, long_statement_seconds: float) -> None:
        self.connection = connection
        self._long = long_statement_seconds

    def _rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return self.connection.execute(statement, parameters, binary=True).fetchall()

    def _row(self, statement: str, parameters: Sequence[Any] = ()) -> Row | None:
        return self.connection.execute(statement, parameters, binary=True).fetchone()

    def _prefix_row(self, key: str) -> Row | None:
        return self._row(_PREFIX, (key, key, key))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all queries in the block see the same state."""
        timeout = self.connection.reply_timeout
        self.connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
        finally:
            self.connection.reply_timeout = timeout
            if not self.connection.broken:
                self.connection.execute("ROLLBACK")

    def _extend_timeout(self) -> None:
        """Allow a query that reads everything more time than a query that a client waits for."""
        self.connection.execute("SELECT set_config('statement_timeout', %s, true)", (f"{self._long * 1000:.0f}ms",))
        self.connection.reply_timeout = max(self.connection.reply_timeout, self._long)

    def find(self, key: str) -> Identifier | None:
        row = self._row(FIND, (key,))
        return None if row is None else to_identifier(row)

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        return {row[0]: to_identifier(row) for row in self._rows(FIND_MANY, (to_json_array(keys),))} if keys else {}

    def newest_act(self, subject: str, actions: Sequence[str] = ()) -> Act | None:
        row = self._row(_NEWEST_ACT_OF, (subject, list(actions))) if actions else self._row(_NEWEST_ACT, (subject,))
        return None if row is None else Act(*row)

    def changes(self, after: int, limit: int) -> list[FeedEntry]:
        rows = self._rows(_CHANGES, (after, _SETTLING_MICROSECONDS, limit))
        if len(rows) == limit:  # two processes may use the same number: return all with the last one
            rows = [row for row in rows if row[0] < rows[-1][0]] + self._rows(_CHANGES_OF, (rows[-1][0],))
        return [FeedEntry(*row) for row in rows]

    def key_changes(self, after: int, limit: int) -> list[KeyChange]:
        rows = self._rows(_KEY_CHANGES, (after, _SETTLING_MICROSECONDS, limit))
        if len(rows) == limit:
            rows = [row for row in rows if row[0] < rows[-1][0]] + self._rows(_KEY_CHANGES_OF, (rows[-1][0],))
        return [KeyChange(*row) for row in rows]

    def change_number(self, subject: str, version: int, near: int) -> int | None:
        row = self._row(_CHANGE_NUMBER, (subject, version))
        return None if row is None else int(row[0])

    def holdings_of(self, subjects: Sequence[str]) -> dict[str, list[Holding]]:
        return group_holdings(self._rows(_HOLDINGS_OF, (list(subjects),)))

    def tip(self) -> Tip:
        newest = self.newest_change()
        change = ChangeMark() if newest is None else ChangeMark(newest.number, newest.key, newest.revision.digest)
        return Tip(change, EventMark.parse(self.fact(NEWEST_EVENT)))

    def identifiers_after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        return [to_identifier(row) for row in self._rows(_AFTER, (*key_range(key, under), limit))]

    def identifiers_before(self, key: str, limit: int, under: str) -> list[Identifier]:
        return [to_identifier(row) for row in self._rows(_BEFORE, (under, key, limit))]

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        self._extend_timeout()
        start, end = key_range(key, under)
        query = _HISTORIES.format(after=sql.Literal(start), end=sql.Literal(end), limit=sql.Literal(limit))
        rows = self._copy_out(query, _HISTORY_TYPES)
        if not rows:
            return []
        query = _REVISIONS_BETWEEN.format(first=sql.Literal(rows[0][0]), last=sql.Literal(rows[-1][0]))
        revisions: dict[str, list[Revision]] = {}
        for subject, *rest in self._copy_out(query, _REVISION_TYPES):
            revisions.setdefault(subject, []).append(Revision(*rest))
        return [
            History(to_identifier(row[:9]), row[9], tuple(revisions.get(row[0], ())), uuid_raw=row[10]) for row in rows
        ]

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        rows = self._rows(_NEWEST_HISTORIES, (*key_range(key, under), limit))
        return [build_newest_history(to_identifier(row[:9]), *row[9:]) for row in rows]

    def newest_histories_of(self, keys: Sequence[str]) -> dict[str, History]:
        rows = self._rows(_NEWEST_HISTORIES_OF, (to_json_array(keys),)) if keys else []
        return {row[0]: build_newest_history(to_identifier(row[:9]), *row[9:]) for row in rows}

    def _copy_out(self, query: sql.Composed, types: Sequence[str]) -> list[Row]:
        with self.connection.cursor().copy(query) as copy:
            copy.set_types(types)
            return list(copy.rows())

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[SearchHit]:
        query = format_tsquery(words)
        if query is None:
            return []
        if behind is None:
            return [SearchHit(*row) for row in self._rows(_SEARCH, (query, limit))]
        position = self._row(_SEARCH_POSITION, (behind,))
        if position is None:
            return []
        return [SearchHit(*row) for row in self._rows(_SEARCH_BEHIND, (query, *position, limit))]

    def find_by_value(self, data: str, type: str | None, limit: int) -> list[SearchHit]:
        lookup = ValueLookup(data, type, limit)
        return self._find_by_values([lookup])[lookup]

    def _find_by_values(self, lookups: Sequence[ValueLookup]) -> dict[ValueLookup, list[SearchHit]]:
        """Return what `find_by_value` returns for each look-up, with one query."""
        hits: dict[ValueLookup, list[SearchHit]] = {one: [] for one in lookups}
        digests, types, limits = zip(*((digest_data(one.data), one.type, one.limit) for one in lookups), strict=True)
        for number, *row in self._rows(_REVERSE, (list(digests), list(types), list(limits))):
            hits[lookups[number - 1]].append(SearchHit(*row))
        return hits

    def person(self, uuid_raw: str) -> str | None:
        return first_column(self._row("SELECT name FROM person_inputs WHERE uuid_raw = %s", (uuid_raw,)))

    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]:
        return dict(self._rows(PERSONS, (to_json_array(uuid_raws),)))

    def count_persons(self) -> int:
        self._extend_timeout()
        return int(self._rows(NUMBER_OF_PERSONS)[0][0])

    def find_answer(self, agent: str, token: str) -> Answer | None:
        return self._find_answers([(agent, token)]).get((agent, token))

    def _find_answers(self, tokens: Sequence[AnswerKey]) -> dict[AnswerKey, Answer]:
        rows = self._rows(ANSWERS, [[agent for agent, _ in tokens], [token for _, token in tokens]])
        return {(agent, token): (digest, answer, at) for agent, token, digest, answer, at in rows}

    def facts(self) -> dict[str, str]:
        """Return the facts of the registry, without those that concern this database alone."""
        return dict(self._rows(_FACTS, ([NEWEST_EVENT, LINEAGE],)))

    def seal_reason(self) -> str | None:
        """Return why the store is read-only; None if it is not."""
        return first_column(self._row("SELECT value FROM guards WHERE name = 'sealed'")) or None

    def counts(self) -> dict[str, int]:
        self._extend_timeout()
        return dict(zip(_COUNT_NAMES, self._rows(_COUNTS)[0], strict=True))

    def contradictions(self) -> Iterator[str]:
        self._extend_timeout()
        for query, meaning in _CONTRADICTIONS:
            for (key,) in self._rows(query):
                yield f"{key}: {meaning}"
