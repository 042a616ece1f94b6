"""The writes to the database, inside a transaction that the group commit begins and ends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from operator import itemgetter
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from perdure.errors import Conflict, NameTaken, StoreDamaged
from perdure.registry.entities import (
    Agent,
    Change,
    Event,
    Grant,
    Identifier,
    Key,
    Peer,
    Pool,
    Prefix,
    ResolutionCount,
    SearchHit,
)
from perdure.registry.history_digest import event_digest, original_digest
from perdure.registry.holdings import Collection, Holding
from perdure.registry.store_interface import Prefetch, TimelineState
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.high_water import HighWater
from perdure.store.row_mapping import (
    HOLDING_COLUMNS,
    MOST_ANSWERS_DELETED,
    PEER_COLUMNS,
    PERIOD_COLUMNS,
    PREFIX_COLUMNS,
    to_holding_row,
    to_peer_row,
    to_period_rows,
    to_pool_row,
    to_prefix_row,
)
from perdure.store.sql_reader import AdminCache
from perdure.store.sqlite.insert_buffer import (
    EMPTY_MARK,
    REVERSE,
    REVISIONS,
    BufferMark,
    InsertBuffer,
    number_changes,
    revision_row,
)
from perdure.store.sqlite.reader import FIND, FIND_MANY, PERSON, REVERSE_LOOKUP, Runner, SqliteReader
from perdure.store.sqlite.secure_delete import Scrubber

_LARGEST_BUFFER: Final = 500  # names
_TAKEN_KEYS: Final = "SELECT key FROM identifiers WHERE key IN (SELECT value FROM json_each(?))"
_ROWID: Final = "SELECT key, id FROM identifiers WHERE key = ?"
_ROWIDS: Final = "SELECT key, id FROM identifiers WHERE key IN (SELECT value FROM json_each(?))"
_UNUSED_PERSONS: Final = (
    "SELECT value ->> 0, value ->> 1 FROM json_each(?) "
    "WHERE NOT EXISTS (SELECT 1 FROM person_inputs WHERE uuid_raw = value ->> 0) "
    "AND NOT EXISTS (SELECT 1 FROM identifiers WHERE key = value ->> 1)"
)
_REPLACE_WORDS: Final = "INSERT OR REPLACE INTO words (rowid, text) VALUES (?, ?)"
_DELETE_REVERSE: Final = "DELETE FROM reverse WHERE data = ? AND type = ? AND identifier = ?"
_UPDATE: Final = "UPDATE identifiers SET target = ?, state = ?, version = ?, created = ?, record = ? WHERE id = ?"
_REDACT: Final = (
    "UPDATE revisions SET record = ?, note = CASE action WHEN 'redact' THEN note END, original = ? "
    "WHERE identifier = ? AND version = ?"
)
_INSERT_EVENT: Final = (
    "INSERT INTO events (id, at, agent, action, subject, detail, digest) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_ANSWER: Final = "INSERT INTO answers (agent, token, digest, answer, at) VALUES (?, ?, ?, ?, ?)"
_FORGET_ANSWERS: Final = (
    "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM answers WHERE at < ? ORDER BY at LIMIT ?)"
)


class SavepointNeeded(Exception):
    """A constraint failed, and the work at fault is not known: run all works of the group in savepoints."""


class Position(NamedTuple):
    """The state of a transaction before a work."""

    changes: int  # to rows, without those by flushes
    inserted: int
    flushes: int
    buffer: BufferMark


class SqliteTransaction(AdminCache, SqliteReader):
    """The queries and writes of a transaction."""

    def __init__(self, connection: apsw.Connection, high_water: HighWater, scrubber: Scrubber) -> None:
        super().__init__(connection)
        self._executemany = self._wrap_runner(connection.executemany)
        self._buffer = InsertBuffer(connection)
        self._inserted = 0  # names, in total
        self._flushes = self._flushed = 0  # number of flushes, and of changed rows by them
        self._high_water = high_water
        self._scrubber = scrubber
        self._is_redacting = False
        self.checks_names = False  # whether each new name is looked up; otherwise the index refuses a duplicate
        self.reset()

    def _wrap_runner(self, runner: Runner) -> Runner:
        """Flush the insert buffer before each statement, so that every query and every write sees the new names."""

        def run(*arguments: Any) -> apsw.Cursor:
            if self._buffer:
                self.flush()
            return runner(*arguments)

        return run

    def reset(self) -> None:
        """Empty the caches and the buffer. Works of a group share the caches: no other program can write now."""
        self._buffer.drop()
        self._next_row: int | None = None
        self._clear_admin_cache()
        self._cached_timelines: dict[str, Fraction | None] = {}
        self._unused: set[str] = set()  # inputs and names of persons that were not in the database

    def prefetch_persons(self, persons: Sequence[Prefetch]) -> None:
        """Look up the persons of a whole group with one query, instead of two for each."""
        if persons:
            parameters = (msgspec.json.encode(persons).decode(),)
            for pair in self.connection.execute(_UNUSED_PERSONS, parameters):
                self._unused.update(pair)

    def flush(self) -> None:
        """Write the names in the buffer."""
        before = self.connection.total_changes()
        try:
            self._buffer.write()
        except apsw.ConstraintError:
            if self.checks_names:
                raise
            raise SavepointNeeded from None
        self._flushed += self.connection.total_changes() - before
        self._flushes += 1
        self._unused.clear()  # they may be in the database now

    def finish(self) -> None:
        """Do what is left before the commit. The search index keeps deleted content until it is optimised."""
        self.flush()
        if self._is_redacting:
            self._execute("INSERT INTO words (words) VALUES ('optimize')")
            self._execute("PRAGMA secure_delete = OFF")
            self._scrubber.request()
            self._is_redacting = False

    def position(self) -> Position:
        """Return the state before a work."""
        changes = self.connection.total_changes() - self._flushed
        return Position(changes, self._inserted, self._flushes, self._buffer.mark())

    def roll_back_to(self, position: Position) -> bool:
        """Drop the names that a work has put into the buffer.

        Return False if the work did anything else, if the names were flushed, or if one exists: NameTaken comes first.
        """
        if self.connection.total_changes() - self._flushed != position.changes:
            return False
        if self._inserted - len(self._buffer) > position.inserted:
            return False
        mark = position.buffer if self._flushes == position.flushes else EMPTY_MARK
        if self._find_taken(self._buffer.keys_since(mark)):
            return False
        self._buffer.drop(mark)
        self._inserted = position.inserted
        return True

    @contextmanager
    def attempt(self) -> Iterator[None]:
        self._execute("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            self._buffer.drop()
            self._execute("ROLLBACK TO attempt")
            self._execute("RELEASE attempt")
            self.reset()
            raise
        self._execute("RELEASE attempt")

    def find(self, key: str) -> Identifier | None:
        """Flush only if this name is in the buffer."""
        if key in self._buffer.keys:
            self.flush()
        if key in self._unused:
            return None
        row = self.connection.execute(FIND, (key,)).fetchone()
        return None if row is None else Identifier(*row)

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        """Flush only if one of these names is in the buffer."""
        if len(keys) == 1 or not self._buffer.keys.isdisjoint(keys):
            return super().find_many(keys)
        parameters = (msgspec.json.encode(keys).decode(),)
        return {row[0]: Identifier(*row) for row in self.connection.execute(FIND_MANY, parameters)}

    def find_by_value(self, data: str, type: str | None, limit: int) -> list[SearchHit]:
        """Flush only if a name with this value is in the buffer."""
        if data in self._buffer.reverse_data:
            self.flush()
        return [SearchHit(*row) for row in self.connection.execute(REVERSE_LOOKUP, (data, type, limit))]

    def insert(self, changes: Sequence[Change]) -> None:
        if self._next_row is None:
            self._next_row = (self._execute("SELECT max(id) FROM identifiers").get or 0) + 1
        first = self._next_row
        self._next_row += len(changes)
        rowids = self._allocate_rowids([change.added for change in changes], first)
        keys = [change.identifier.key for change in changes]
        taken = self._buffer.keys.intersection(keys)
        if self.checks_names:
            taken |= self._find_taken(keys)
        if taken or len(set(keys)) < len(keys):  # before anything is written, so that the caller may continue
            rows = (change.identifier for change in changes)
            raise NameTaken(next(row.name for row in rows if row.key in taken or keys.count(row.key) > 1))
        self._buffer.add(rowids, changes)
        self._inserted += len(changes)
        if len(self._buffer) >= _LARGEST_BUFFER:
            self.flush()

    def _find_taken(self, keys: list[str]) -> set[str]:
        if not keys:
            return set()
        parameters = (msgspec.json.encode(keys).decode(),)
        return {key for (key,) in self.connection.execute(_TAKEN_KEYS, parameters)}

    def _allocate_rowids(self, requested: Sequence[int | None], first: int) -> Sequence[int]:
        """Return the row ids of new names: after all others, or those that the names had in another store."""
        if requested[:1] in ([], [None]):
            return range(first, first + len(requested))
        rowids: list[int] = []
        taken: set[int] = set()
        for added in requested:
            rowid = first if added is None else added
            while rowid in taken or self._execute("SELECT 1 FROM identifiers WHERE id = ?", (rowid,)).get is not None:
                rowid += 1
            taken.add(rowid)
            rowids.append(rowid)
        self._next_row = None
        return rowids

    def update(self, changes: Sequence[Change]) -> None:
        rowids = self._find_rowids([change.identifier.key for change in changes])
        revisions = [
            revision_row(rowid, revision)
            for rowid, change in zip(rowids, changes, strict=True)
            for revision in change.revisions
        ]
        # In the order of the rows: neighbours share pages, and the search index writes a new segment for a lower row.
        ordered = sorted(zip(rowids, changes, strict=True), key=itemgetter(0))
        rows = [(change.identifier, rowid) for rowid, change in ordered]
        self._executemany(
            _UPDATE, [(row.target, row.state, row.version, row.created, row.record, rowid) for row, rowid in rows]
        )
        removed: list[tuple[str, str, int]] = []
        added: list[tuple[str, str, int]] = []
        for rowid, change in ordered:
            before, now = set(change.reverse_before), set(change.reverse)
            removed.extend((data, kind, rowid) for kind, data in before - now)
            added.extend((data, kind, rowid) for kind, data in now - before)
        if revisions:
            REVISIONS.insert(self.connection, sorted(revisions, key=itemgetter(0, 1)))
            number_changes(self.connection, revisions)
        self._executemany(_REPLACE_WORDS, [(rowid, change.words) for rowid, change in ordered])
        self._executemany(_DELETE_REVERSE, removed)
        REVERSE.insert(self.connection, added)

    def _find_rowids(self, keys: Sequence[str]) -> list[int]:
        """Return the row ids of names that exist."""
        query = (_ROWID, tuple(keys)) if len(keys) == 1 else (_ROWIDS, (msgspec.json.encode(keys).decode(),))
        found: dict[Any, Any] = dict(self._rows(*query))
        for key in keys:
            if key not in found:
                raise StoreDamaged(f"{key} is to be updated, and was not found")
        return [found[key] for key in keys]

    def redact(self, subject: str, records: Mapping[int, bytes]) -> None:
        self._is_redacting = True
        self._execute("PRAGMA secure_delete = ON")  # deleted content is overwritten
        rowid = self._execute("SELECT id FROM identifiers WHERE key = ?", (subject,)).get
        originals = {revision.version: original_digest(revision) for revision in self.revisions(subject)}
        self._executemany(
            _REDACT, [(record, originals[version], rowid, version) for version, record in records.items()]
        )

    def put_prefix(self, prefix: Prefix) -> None:
        self._cached_prefixes.clear()
        self._execute(
            f"INSERT INTO prefixes ({PREFIX_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET "
            "minter = excluded.minter, policy = excluded.policy, pattern = excluded.pattern, opaque = excluded.opaque, "
            "subsystem = excluded.subsystem, pass_through = excluded.pass_through, ttl = excluded.ttl, "
            "joiners = excluded.joiners",
            to_prefix_row(prefix),
        )
        self._executemany(
            f"INSERT INTO label_periods ({PERIOD_COLUMNS}, prefix) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (label, started) DO UPDATE SET ended = excluded.ended",
            to_period_rows(prefix),
        )

    def reread_prefix(self, key: str) -> Prefix | None:
        return self.prefix(key)  # no other program can write now

    def timeline(self, key: str) -> Fraction | None:
        """Read it once for all works of a group: no other program can write now."""
        if key not in self._cached_timelines:
            self._cached_timelines[key] = super().timeline(key)
        return self._cached_timelines[key]

    def peek_timelines(self, keys: Sequence[str]) -> dict[str, TimelineState]:
        return {key: TimelineState(self.timeline(key), True) for key in keys}

    def try_timeline(self, key: str) -> bool:
        """Return True: the database has one writer, which holds all timelines."""
        return True

    def put_timeline(self, key: str, last: Fraction, ahead: Fraction) -> None:
        self._high_water.reach(key, last, ahead)  # before the commit: a mark too high costs nothing
        self.connection.execute(  # without a flush: no name depends on this row
            "INSERT INTO timelines (key, last) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET last = excluded.last",
            (key, str(last)),
        )
        self._cached_timelines[key] = last

    def person(self, uuid_raw: str) -> str | None:
        if uuid_raw in self._buffer.persons:
            return self._buffer.persons[uuid_raw]
        return None if uuid_raw in self._unused else self.connection.execute(PERSON, (uuid_raw,)).get

    def put_persons(self, names: Mapping[str, str]) -> None:
        if not self._buffer.persons.keys().isdisjoint(names):
            self.flush()  # which raises an error for the duplicate
        self._buffer.persons.update(names)

    def put_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None:
        self._buffer.add_derivations(subject, version, observations)

    def put_pool(self, pool: Pool) -> None:
        self._cached_pools.clear()
        self._execute(
            "INSERT INTO pools (name, policy, members, created) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET policy = excluded.policy, members = excluded.members",
            to_pool_row(pool),
        )

    def remove_pool(self, name: str) -> None:
        self._cached_pools.clear()
        self._execute("DELETE FROM pools WHERE name = ?", (name,))

    def put_agent(self, agent: Agent) -> None:
        self._cached_agents.clear()
        self._execute(
            "INSERT INTO agents (id, name, identifier, created, kind, retired) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, identifier = excluded.identifier, "
            "retired = excluded.retired",
            (agent.id, agent.name, agent.identifier, agent.created, agent.kind, agent.retired),
        )

    def put_key(self, key: Key) -> None:
        self._execute(
            "INSERT INTO keys (id, agent, digest, created, expires, revoked, label) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, revoked = excluded.revoked",
            (key.id, key.agent, key.digest, key.created, key.expires, key.revoked, key.label),
        )

    def put_grant(self, grant: Grant) -> None:
        self._cached_grants.clear()
        self._execute(
            "INSERT OR REPLACE INTO grants (agent, scope, action, own, until, given_by, given_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (grant.agent, grant.scope, grant.action, int(grant.own), grant.until, grant.given_by, grant.given_at),
        )

    def remove_grant(self, agent: str, scope: str, action: str) -> None:
        self._cached_grants.clear()
        self._execute("DELETE FROM grants WHERE agent = ? AND scope = ? AND action = ?", (agent, scope, action))

    def put_peer(self, peer: Peer) -> None:
        self._execute(
            f"INSERT INTO peers ({PEER_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET url = excluded.url, prefixes = excluded.prefixes, "
            "server = excluded.server, public_key = excluded.public_key, private = excluded.private, "
            "announced = excluded.announced, checkpoint = excluded.checkpoint, seen = excluded.seen",
            to_peer_row(peer),
        )

    def remove_peer(self, name: str) -> None:
        self._execute("DELETE FROM peers WHERE name = ?", (name,))

    def put_event(self, event: Event) -> None:
        last = EventMark.parse(self.fact(NEWEST_EVENT))
        mark = EventMark(last.number + 1, event_digest(event, last.digest))
        row = mark.number, event.at, event.agent, event.action, event.subject, event.detail, mark.digest
        self._execute(_INSERT_EVENT, row)
        self.put_fact(NEWEST_EVENT, str(mark))

    def add_resolutions(self, counts: Sequence[ResolutionCount]) -> None:
        self._executemany(
            "INSERT INTO resolutions (key, day, client, count) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (key, day, client) DO UPDATE SET count = count + excluded.count",
            [(one.key, one.day, one.client, one.count) for one in counts],
        )

    def put_collection(self, collection: Collection) -> None:
        self._execute(
            "INSERT INTO collections (name, path, url, created) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET path = excluded.path, url = excluded.url",
            msgspec.structs.astuple(collection),
        )

    def put_holding(self, holding: Holding) -> None:
        self._execute(
            f"INSERT INTO holdings ({HOLDING_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (subject, collection) DO UPDATE SET label = excluded.label, role = excluded.role, "
            "role_since = excluded.role_since, version = excluded.version, files = excluded.files, "
            "size = excluded.size, digest = excluded.digest, main_file = excluded.main_file, put_at = excluded.put_at, "
            "source = excluded.source, verified_at = excluded.verified_at, outcome = excluded.outcome, "
            "names = excluded.names",
            to_holding_row(holding),
        )
        self._remove_held_names(holding.subject, holding.collection)
        self._executemany(
            "INSERT INTO held_names (subject, collection, name) VALUES (?, ?, ?)",
            [(holding.subject, holding.collection, name) for name in holding.names],
        )

    def remove_holding(self, subject: str, collection: str) -> None:
        self._remove_held_names(subject, collection)
        self._execute("DELETE FROM holdings WHERE subject = ? AND collection = ?", (subject, collection))

    def _remove_held_names(self, subject: str, collection: str) -> None:
        self._execute("DELETE FROM held_names WHERE subject = ? AND collection = ?", (subject, collection))

    def put_fact(self, name: str, value: str) -> None:
        self._execute("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", (name, value))

    def put_secret(self, key: str, index: int, sealed: bytes | None) -> None:
        if sealed is None:
            self._execute("DELETE FROM secrets WHERE key = ? AND value_index = ?", (key, index))
        else:
            self._execute(
                "INSERT INTO secrets (key, value_index, sealed) VALUES (?, ?, ?) "
                "ON CONFLICT (key, value_index) DO UPDATE SET sealed = excluded.sealed",
                (key, index, sealed),
            )

    def put_answer(self, agent: str, token: str, digest: bytes, answer: bytes, at: str) -> None:
        if self.find_answer(agent, token) is not None:  # no other program can write now
            raise Conflict(token, "no answer yet", "one")
        self._execute(_INSERT_ANSWER, (agent, token, digest, answer, at))

    def forget_answers(self, before: str) -> int:
        self._execute(_FORGET_ANSWERS, (before, MOST_ANSWERS_DELETED))
        return self.connection.changes()
