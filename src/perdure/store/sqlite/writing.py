"""What can be written to the database, inside a transaction that the writer thread opens and ends."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Final, NamedTuple

import apsw
import msgspec

from perdure.errors import Conflict, NameTaken, StoreDamaged
from perdure.registry.entities import Agent, Change, Event, Grant, Identifier, Key, Prefix
from perdure.registry.history_digest import event_digest, original_digest
from perdure.registry.protocol import Foreseen
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.high_water import HighWater
from perdure.store.rows import MOST_FORGOTTEN, PREFIX_COLUMNS, prefix_row
from perdure.store.sqlite.fresh import NOTHING, REVERSE, REVISIONS, FreshNames, Mark, number_changes, revision_row
from perdure.store.sqlite.reading import FIND, PERSON, SqliteReader
from perdure.store.sqlite.scrubbing import Scrubbing

_MOST_WAITING: Final = 500  # names
_TAKEN: Final = "SELECT key FROM identifiers WHERE key IN (SELECT value FROM json_each(?))"
_FREE: Final = (
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


class CareNeeded(Exception):
    """Something does not fit, and it cannot be told to whom: all works of the group have to be run one by one."""


class Position(NamedTuple):
    """How far a transaction has come."""

    changes: int  # of the database, without those that new names make
    inserted: int
    settlings: int
    waiting: Mark


class SqliteTransaction(SqliteReader):
    """Questions and changes, of which all are kept or none."""

    def __init__(self, connection: apsw.Connection, high_water: HighWater, scrubbing: Scrubbing) -> None:
        super().__init__(connection)
        self._execute = self._after_fresh(connection.execute)
        self._executemany = self._after_fresh(connection.executemany)
        self._fresh = FreshNames(connection)
        self._inserted = 0  # names, ever
        self._settlings = self._settled = 0  # how often they were written, and how many changes that took
        self._high_water = high_water
        self._scrubbing = scrubbing
        self._is_redacting = False
        self.is_careful = False  # whether each name is looked for before it is taken, or all at once by the index
        self.begun()

    def _after_fresh(self, statement: Callable[..., apsw.Cursor]) -> Callable[..., apsw.Cursor]:
        """Whatever is asked, or written besides, sees the names that are on their way."""

        def run(*arguments: Any) -> apsw.Cursor:
            if self._fresh:
                self.settle()
            return statement(*arguments)

        return run

    def begun(self) -> None:
        """A transaction begins. What many works of one group ask for is asked once: nobody else can change it now."""
        self._fresh.drop()
        self._next_row: int | None = None
        self._known_prefixes: dict[str, Prefix | None] = {}
        self._known_grants: dict[str, list[Grant]] = {}
        self._free: set[str] = set()  # inputs and names of persons that nobody had when it was last looked

    def foresee(self, persons: Sequence[Foreseen]) -> None:
        """One question for a whole group, in place of two for each who will be looked for."""
        if persons:
            asked = (msgspec.json.encode(persons).decode(),)
            self._free.update(one for pair in self.connection.execute(_FREE, asked) for one in pair)

    def settle(self) -> None:
        """Write the names that are on their way."""
        before = self.connection.total_changes()
        try:
            self._fresh.write()
        except apsw.ConstraintError:
            if self.is_careful:
                raise
            raise CareNeeded from None
        self._settled += self.connection.total_changes() - before
        self._settlings += 1
        self._free.clear()  # somebody has them now

    def finish(self) -> None:
        """All that is left to do before the end. The search index keeps what was taken out until it is put in order."""
        self.settle()
        if self._is_redacting:
            self._execute("INSERT INTO words (words) VALUES ('optimize')")
            self._execute("PRAGMA secure_delete = OFF")
            self._scrubbing.want()
            self._is_redacting = False

    def position(self) -> Position:
        """Where one work begins."""
        changes = self.connection.total_changes() - self._settled
        return Position(changes, self._inserted, self._settlings, self._fresh.mark())

    def go_back(self, position: Position) -> bool:
        """Forget the names that are on their way since then.

        False, if anything else was done, if they were written, or if one was taken: that should have been said first.
        """
        if self.connection.total_changes() - self._settled != position.changes:
            return False
        if self._inserted - len(self._fresh) > position.inserted:
            return False
        mark = position.waiting if self._settlings == position.settlings else NOTHING
        if self._taken(self._fresh.keys_since(mark)):
            return False
        self._fresh.drop(mark)
        self._inserted = position.inserted
        return True

    @contextmanager
    def attempt(self) -> Iterator[None]:
        self._execute("SAVEPOINT attempt")
        try:
            yield
        except BaseException:
            self._fresh.drop()
            self._execute("ROLLBACK TO attempt")
            self._execute("RELEASE attempt")
            self.begun()
            raise
        self._execute("RELEASE attempt")

    def prefix(self, key: str) -> Prefix | None:
        if key not in self._known_prefixes:
            self._known_prefixes[key] = super().prefix(key)
        return self._known_prefixes[key]

    def grants(self, agent: str) -> list[Grant]:
        if agent not in self._known_grants:
            self._known_grants[agent] = super().grants(agent)
        return self._known_grants[agent]

    def find(self, key: str) -> Identifier | None:
        """Of a name that is not among them, those on their way say nothing."""
        if key in self._fresh.keys:
            self.settle()
        if key in self._free:
            return None
        row = self.connection.execute(FIND, (key,)).fetchone()
        return None if row is None else Identifier(*row)

    def insert(self, changes: Sequence[Change]) -> None:
        if self._next_row is None:
            self._next_row = (self._execute("SELECT max(id) FROM identifiers").get or 0) + 1
        first = self._next_row
        self._next_row += len(changes)
        places = self._places([one.added for one in changes], first)
        keys = [change.identifier.key for change in changes]
        taken = self._fresh.keys.intersection(keys)
        if self.is_careful:
            taken |= self._taken(keys)
        if taken or len(set(keys)) < len(keys):  # before anything is written: whoever called may go on without these
            wanted = (change.identifier for change in changes)
            raise NameTaken(next(one.name for one in wanted if one.key in taken or keys.count(one.key) > 1))
        self._fresh.add(places, changes)
        self._inserted += len(changes)
        if len(self._fresh) >= _MOST_WAITING:
            self.settle()

    def _taken(self, keys: list[str]) -> set[str]:
        if not keys:
            return set()
        asked = (msgspec.json.encode(keys).decode(),)
        return {key for (key,) in self.connection.execute(_TAKEN, asked)}

    def _places(self, wanted: Sequence[int | None], first: int) -> Sequence[int]:
        """The rows to insert at: behind all others, or where names had their place in the store that they come from."""
        if wanted[:1] in ([], [None]):
            return range(first, first + len(wanted))
        places: list[int] = []
        taken: set[int] = set()
        for added in wanted:
            place = first if added is None else added
            while place in taken or self._execute("SELECT 1 FROM identifiers WHERE id = ?", (place,)).get is not None:
                place += 1
            taken.add(place)
            places.append(place)
        self._next_row = None
        return places

    def update(self, changes: Sequence[Change]) -> None:
        for change in changes:
            row = change.identifier
            rowid = self._execute("SELECT id FROM identifiers WHERE key = ?", (row.key,)).get
            if rowid is None:
                raise StoreDamaged(f"{row.key} was to be changed and is not there")
            self._execute(_UPDATE, (row.target, row.state, row.version, row.created, row.record, rowid))
            if change.revisions:
                rows = [revision_row(rowid, one) for one in change.revisions]
                REVISIONS.insert(self.connection, rows)
                number_changes(self.connection, rows)
            self._execute(_REPLACE_WORDS, (rowid, change.words))
            before, now = set(change.reverse_before), set(change.reverse)
            self._executemany(_DELETE_REVERSE, [(data, kind, rowid) for kind, data in before - now])
            REVERSE.insert(self.connection, [(data, kind, rowid) for kind, data in now - before])

    def redact(self, subject: str, records: Mapping[int, bytes]) -> None:
        self._is_redacting = True
        self._execute("PRAGMA secure_delete = ON")  # what is let go of is overwritten
        rowid = self._execute("SELECT id FROM identifiers WHERE key = ?", (subject,)).get
        originals = {one.version: original_digest(one) for one in self.revisions(subject)}
        self._executemany(
            _REDACT, [(record, originals[version], rowid, version) for version, record in records.items()]
        )

    def put_prefix(self, prefix: Prefix) -> None:
        self._known_prefixes.clear()
        self._execute(
            f"INSERT INTO prefixes ({PREFIX_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET "
            "minter = excluded.minter, policy = excluded.policy, pattern = excluded.pattern, "
            "subsystem = excluded.subsystem, pass_through = excluded.pass_through",
            prefix_row(prefix),
        )

    def put_timeline(self, key: str, last: Fraction, ahead: Fraction) -> None:
        self._high_water.reach(key, last, ahead)  # before the commit: a mark too high costs nothing
        self._execute(
            "INSERT INTO timelines (key, last) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET last = excluded.last",
            (key, str(last)),
        )

    def person(self, uuid_raw: str) -> str | None:
        if uuid_raw in self._fresh.persons:
            return self._fresh.persons[uuid_raw]
        return None if uuid_raw in self._free else self.connection.execute(PERSON, (uuid_raw,)).get

    def put_persons(self, names: Mapping[str, str]) -> None:
        if not self._fresh.persons.keys().isdisjoint(names):
            self.settle()  # and be refused
        self._fresh.persons.update(names)

    def put_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None:
        self._fresh.derive(subject, version, observations)

    def put_agent(self, agent: Agent) -> None:
        self._execute(
            "INSERT INTO agents (id, name, identifier, created, kind) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, identifier = excluded.identifier",
            (agent.id, agent.name, agent.identifier, agent.created, agent.kind),
        )

    def put_key(self, key: Key) -> None:
        self._execute(
            "INSERT INTO keys (id, agent, digest, created, expires, revoked, label) VALUES (?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, revoked = excluded.revoked",
            (key.id, key.agent, key.digest, key.created, key.expires, key.revoked, key.label),
        )

    def put_grant(self, grant: Grant) -> None:
        self._known_grants.clear()
        self._execute(
            "INSERT OR REPLACE INTO grants (agent, scope, action, own, until, given_by, given_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (grant.agent, grant.scope, grant.action, int(grant.own), grant.until, grant.given_by, grant.given_at),
        )

    def remove_grant(self, agent: str, scope: str, action: str) -> None:
        self._known_grants.clear()
        self._execute("DELETE FROM grants WHERE agent = ? AND scope = ? AND action = ?", (agent, scope, action))

    def put_event(self, event: Event) -> None:
        last = EventMark.parse(self.fact(NEWEST_EVENT))
        mark = EventMark(last.number + 1, event_digest(event, last.digest))
        row = mark.number, event.at, event.agent, event.action, event.subject, event.detail, mark.digest
        self._execute(_INSERT_EVENT, row)
        self.put_fact(NEWEST_EVENT, str(mark))

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
        if self.answered(agent, token) is not None:  # nobody else can write meanwhile
            raise Conflict(token, "no answer yet", "one")
        self._execute(_INSERT_ANSWER, (agent, token, digest, answer, at))

    def forget_answers(self, before: str) -> int:
        self._execute(_FORGET_ANSWERS, (before, MOST_FORGOTTEN))
        return self.connection.changes()
