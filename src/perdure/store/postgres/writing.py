"""What can be written to the database, inside a transaction that the group commit opens and ends.

A question costs a journey to the server, so what is written to the tables of names is gathered here and goes there
together: at the end, or before a question that could see it. Questions for single names are answered from what is
gathered, where it knows. Nobody is locked out while a name is looked at: that a row is still what it was is checked
when it is written, and if it is not, the whole group is undone and run again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from typing import Any, Final

import psycopg

from perdure.errors import Conflict, NameTaken, StoreDamaged
from perdure.registry.entities import (
    Agent,
    Change,
    Event,
    Found,
    Grant,
    History,
    Identifier,
    Key,
    Prefix,
    Revision,
)
from perdure.store.high_water import HighWater
from perdure.store.postgres import tables
from perdure.store.postgres.connection import Connection
from perdure.store.postgres.lexemes import written_vector
from perdure.store.postgres.locks import SETTINGS, Again, Care, Lock, Locks
from perdure.store.postgres.reading import REVISION_OF_VERSION, PostgresReader, digest
from perdure.store.postgres.sending import Sending
from perdure.store.rows import PREFIX_COLUMNS, prefix_row

_HOLD_NAME: Final = "SELECT 1 FROM identifiers WHERE key = %s FOR NO KEY UPDATE"
_UPDATE: Final = (
    "UPDATE identifiers AS i SET target = g.target, state = g.state, version = g.version, created = g.created, "
    "record = g.record FROM (SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::int4[], %s::text[], "
    "%s::bytea[], %s::int4[]) AS g (key, target, state, version, created, record, was) ORDER BY key) AS g "
    'WHERE i.key = g.key COLLATE "C" AND (g.was IS NULL OR i.version = g.was)'
)
_MOVE: Final = (
    "INSERT INTO timelines (key, last) SELECT * FROM unnest(%s::text[], %s::text[]) "
    "ON CONFLICT (key) DO UPDATE SET last = excluded.last"
)
_UPDATE_WORDS: Final = (
    "UPDATE words AS w SET lexemes = g.lexemes::tsvector FROM unnest(%s::text[], %s::text[]) AS g (key, lexemes) "
    'WHERE w.key = g.key COLLATE "C"'
)
_REVERSE_ROWS: Final = (
    "unnest(%s::bytea[], %s::text[], %s::text[]) AS g (data, type, key) "
    'JOIN identifiers AS i ON i.key = g.key COLLATE "C"'
)
_ADD_REVERSE: Final = (
    f"INSERT INTO reverse (data, type, added, key) SELECT g.data, g.type, i.added, i.key FROM {_REVERSE_ROWS} "
    "ON CONFLICT DO NOTHING"
)
_REMOVE_REVERSE: Final = (
    f"DELETE FROM reverse AS r USING {_REVERSE_ROWS} "
    'WHERE r.data = g.data AND r.type = g.type COLLATE "C" AND r.added = i.added AND r.key = i.key'
)


class Needed(BaseException):
    """A work needs to know something that others of its group may need as well: it is asked for them all at once."""


class PostgresTransaction(PostgresReader):
    """Questions and changes, of which all are kept or none."""

    def __init__(
        self,
        connection: Connection,
        marks: HighWater,
        locks: Locks,
        writer: str,
        added: int,
        care: Care,
        is_last: bool,
    ) -> None:
        super().__init__(connection, long_statement_seconds=0)
        self._is_last = is_last
        self._marks = marks
        self._locks = locks
        self._writer = writer
        self._added = added
        self._care = care
        self._may_postpone = False
        self._is_scouting = False
        self._needed_names: set[str] = set()
        self._needed_persons: set[str] = set()
        self._sent = 0  # how often something went to the server that memory cannot take back
        self._fresh: list[Change] = []
        self._changed: list[Change] = []
        self._persons: dict[str, str] = {}
        self._derived: list[tuple[str, int, str]] = []
        self._moved: dict[str, tuple[Fraction, Fraction]] = {}
        self._gathered: dict[str, Identifier] = {}  # by key, what the lists above say
        self._newest: dict[str, Revision] = {}
        self._forget()

    def _forget(self) -> None:
        """What many works of one group ask for is asked once."""
        self._known: dict[str, Identifier | None] = {}
        self._known_newest: dict[str, Revision | None] = {}
        self._known_prefixes: dict[str, Prefix | None] = {}
        self._known_grants: dict[str, list[Grant]] = {}
        self._known_agents: dict[str, Agent | None] = {}
        self._known_persons: dict[str, str | None] = {}

    @property
    def added(self) -> int:
        """The last place in the order of names that was given away."""
        return self._added

    def _take_time(self) -> None:
        """Nobody waits that long for a write."""

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is only gathered is dropped again; what is at the server already needs a savepoint there."""
        if self._care == Care.SAVEPOINTS:
            self.flush()
            with self.savepoint():
                yield
                self.flush()
            return
        sent, marks = self._sent, self._lengths()
        try:
            yield
        except (Again, psycopg.Error):
            raise
        except BaseException:
            if self._sent != sent:
                raise Again(care=Care.SAVEPOINTS) from None
            self._drop(*marks)
            raise

    @contextmanager
    def postponing(self) -> Iterator[None]:
        """Inside, a question that others may have too is not asked but raised, as long as the work can be dropped."""
        self._may_postpone = True
        try:
            yield
        finally:
            self._may_postpone = False

    def scout(self, work: Callable[["PostgresTransaction"], object]) -> None:
        """Run a work for what it will need to know, as far as that goes without holding or sending anything."""
        marks = self._lengths()
        self._is_scouting = True
        try:
            with self.postponing():
                work(self)
        except psycopg.Error:
            raise
        except (Needed, Exception):
            return  # it is run again, and says then what it has to say
        finally:
            self._is_scouting = False
            self._drop(*marks)

    def _act(self) -> None:
        """Something is held or sent: from here on the work cannot be dropped as if it had never begun."""
        if self._is_scouting:
            raise Needed
        self._may_postpone = False

    def ask_what_was_needed(self) -> None:
        """For all works that were postponed, in one question of each kind."""
        if self._needed_names:
            self._known |= dict.fromkeys(self._needed_names) | super().find_many(sorted(self._needed_names))
        if self._needed_persons:
            self._known_persons |= dict.fromkeys(self._needed_persons) | super().persons(sorted(self._needed_persons))
        self._needed_names.clear()
        self._needed_persons.clear()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What is sent inside is undone if it raises, with the rows that were taken for it."""
        self.connection.execute("SAVEPOINT attempt")
        held = self._locks.copy()
        try:
            yield
        except BaseException:
            if not self.connection.broken:
                self.connection.execute("ROLLBACK TO attempt; RELEASE attempt", prepare=False)
            self._locks.go_back(held)
            self._drop(0, 0, 0, 0, ())
            self._forget()
            raise
        self.connection.execute("RELEASE attempt")

    def _lengths(self) -> tuple[int, int, int, int, tuple[tuple[str, tuple[Fraction, Fraction]], ...]]:
        return (
            len(self._fresh),
            len(self._changed),
            len(self._persons),
            len(self._derived),
            tuple(self._moved.items()),
        )

    def _drop(
        self,
        fresh: int,
        changed: int,
        persons: int,
        derived: int,
        moved: tuple[tuple[str, tuple[Fraction, Fraction]], ...],
    ) -> None:
        """Go back to when so much was gathered."""
        if (fresh, changed, persons, derived, moved) == self._lengths():
            return
        del self._fresh[fresh:], self._changed[changed:], self._derived[derived:]
        self._persons = dict(list(self._persons.items())[:persons])
        self._moved = dict(moved)
        self._gathered.clear()
        self._newest.clear()
        for one in (*self._fresh, *self._changed):
            self._gather(one)

    def _gather(self, change: Change) -> None:
        self._gathered[change.identifier.key] = change.identifier
        if change.revisions:
            self._newest[change.identifier.key] = change.revisions[-1]

    def flush(self) -> None:
        """Send what was gathered. Rows go in the order of their keys, so that no two processes wait for each other."""
        fresh, changed = list(self._fresh), sorted(self._changed, key=_key)
        persons, derived, moved = self._persons, self._derived, self._moved
        if not (fresh or changed or persons or derived or moved):
            return
        self._act()
        self._locks.check()  # what was only looked at must not be written: it would be taken out of turn
        self._sent += 1
        self._known.update(self._gathered)
        self._known_newest.update(self._newest)
        self._known_persons.update(persons)
        self._persons, self._derived, self._moved = {}, [], {}
        for gathered in (self._fresh, self._changed, self._gathered, self._newest):
            gathered.clear()
        for timeline, (last, ahead) in sorted(moved.items()):
            self._marks.reach(timeline, last, ahead)  # before the commit: a mark too high costs nothing
        with self._sending() as send:
            self._send_moved(send, moved)
            self._send_fresh(send, fresh)
            self._send_changed(send, changed)
            send.rows(tables.PERSON_INPUTS, sorted(persons.items()))
            send.rows(tables.PERSON_NAMES, sorted((name, raw) for raw, name in persons.items()))
            send.rows(tables.DERIVATIONS, sorted(derived))

    @contextmanager
    def _sending(self) -> Iterator[Sending]:
        """All statements in one journey. Then look: where fewer rows were written than sent, somebody was first."""
        sending = Sending(self.connection)
        with sending:
            yield sending
        if sending.missed is None:
            return
        if self._care < Care.SAVEPOINTS:
            raise Again(care=Care(self._care + 1))
        if sending.missed == tables.IDENTIFIERS.name:  # whoever took it has committed by now: the next run sees it
            raise Again
        raise StoreDamaged(f"the database refused: what is to be written to {sending.missed} is there already")

    def _send_moved(self, send: Sending, moved: Mapping[str, tuple[Fraction, Fraction]]) -> None:
        if moved:
            send.statement(_MOVE, (list(moved), [str(last) for last, _ in moved.values()]))
        for timeline, (last, _) in moved.items():
            self._locks.changed(Lock.timeline(timeline), str(last))

    def _send_fresh(self, send: Sending, changes: Sequence[Change]) -> None:
        rows: list[tuple[Any, ...]] = []
        revisions: list[tuple[Any, ...]] = []
        words: list[tuple[Any, ...]] = []
        reverse: list[tuple[Any, ...]] = []
        first = self._added + 1  # in the order in which they came
        self._added += len(changes)
        placed = zip(changes, count(first))
        for change, place in sorted(placed, key=lambda pair: pair[0].identifier.key):
            row, key = change.identifier, change.identifier.key
            added = place if change.added is None else change.added
            subject = None if row.subject == key else row.subject
            rows.append(
                (
                    key,
                    row.name,
                    row.scheme,
                    row.state,
                    row.target,
                    row.version,
                    row.record,
                    subject,
                    row.created,
                    added,
                )
            )
            revisions.extend(_revision_row(key, one) for one in change.revisions)
            words.append((key, added, change.words))
            reverse.extend((digest(data), kind, added, key) for kind, data in change.reverse)
        send.rows(tables.IDENTIFIERS, rows)
        send.rows(tables.REVISIONS, revisions)
        send.rows(tables.WORDS, words)
        send.rows(tables.REVERSE, sorted(reverse))

    def _send_changed(self, send: Sending, changes: Sequence[Change]) -> None:
        if not changes:
            return
        columns: list[list[Any]] = [[], [], [], [], [], [], []]
        gone: list[tuple[bytes, str, str]] = []
        come: list[tuple[bytes, str, str]] = []
        for change in changes:
            row = change.identifier
            was = change.revisions[0].version - 1 if change.revisions else None
            values = (row.key, row.target, row.state, row.version, row.created, row.record, was)
            for column, value in zip(columns, values, strict=True):
                column.append(value)
            before, now = set(change.reverse_before), set(change.reverse)
            gone.extend((digest(data), kind, row.key) for kind, data in before - now)
            come.extend((digest(data), kind, row.key) for kind, data in now - before)
        if send.counted(_UPDATE, columns) != len(changes):  # what follows builds upon it
            raise self._why_not(changes) if self._care == Care.SAVEPOINTS else Again(care=Care.SAVEPOINTS)
        send.rows(
            tables.REVISIONS, [_revision_row(one.identifier.key, past) for one in changes for past in one.revisions]
        )
        vectors = [written_vector(one.words) for one in changes]
        send.statement(_UPDATE_WORDS, ([one.identifier.key for one in changes], vectors))
        for statement, entries in ((_REMOVE_REVERSE, gone), (_ADD_REVERSE, come)):
            if entries:
                send.statement(statement, [list(column) for column in zip(*sorted(entries), strict=True)])

    def _why_not(self, changes: Sequence[Change]) -> BaseException:
        there = super().find_many([one.identifier.key for one in changes])
        for one in changes:
            key = one.identifier.key
            if key not in there:
                return StoreDamaged(f"{key} was to be changed and is not there")
            if self._is_last and one.revisions and there[key].version != one.revisions[0].version - 1:
                expected = f"version {one.revisions[0].version - 1}"
                return Conflict(one.identifier.name, expected, f"version {there[key].version}")
        return Again()  # somebody else was first: what they wrote is seen the next time

    # What is asked

    def find(self, key: str) -> Identifier | None:
        if key not in self._gathered and key not in self._known:
            self._postpone(self._needed_names, [key])
            if self._care == Care.SAVEPOINTS:  # it has been changed by others before: now they have to wait
                self.connection.execute(_HOLD_NAME, (key,))
            row = self._known[key] = super().find(key)
            if row is not None and row.subject != key:  # both names of one state
                self._known |= super().find_many([key, row.subject])
        return self._gathered.get(key) or self._known[key]

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        unknown = [key for key in keys if key not in self._gathered and key not in self._known]
        if unknown:
            self._postpone(self._needed_names, unknown)
            self._known |= dict.fromkeys(unknown) | super().find_many(unknown)
        found = ((key, self._gathered.get(key) or self._known[key]) for key in keys)
        return {key: row for key, row in found if row is not None}

    def _postpone(self, needed: set[str], keys: Sequence[str]) -> None:
        if self._may_postpone:
            needed.update(keys)
            raise Needed

    def newest_revision(self, subject: str) -> Revision | None:
        """Of the version that the row has, as it was looked at: a newer one may have come since."""
        if subject not in self._newest and subject not in self._known_newest:
            row = self.find(subject)
            one = None if row is None else self._row(REVISION_OF_VERSION, (subject, row.version))
            self._known_newest[subject] = None if one is None else Revision(*one)
        return self._newest.get(subject) or self._known_newest[subject]

    def person(self, uuid_raw: str) -> str | None:
        return self.persons([uuid_raw]).get(uuid_raw)

    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]:
        unknown = [one for one in uuid_raws if one not in self._persons and one not in self._known_persons]
        if unknown:
            self._postpone(self._needed_persons, unknown)
            self._known_persons |= dict.fromkeys(unknown) | super().persons(unknown)
        found = ((one, self._persons.get(one) or self._known_persons[one]) for one in uuid_raws)
        return {one: name for one, name in found if name is not None}

    def prefix(self, key: str) -> Prefix | None:
        if key not in self._known_prefixes:
            self._known_prefixes[key] = super().prefix(key)
        return self._known_prefixes[key]

    def grants(self, agent: str) -> list[Grant]:
        if agent not in self._known_grants:
            self._known_grants[agent] = super().grants(agent)
        return self._known_grants[agent]

    def agent(self, id: str) -> Agent | None:
        if id not in self._known_agents:
            self._known_agents[id] = super().agent(id)
        return self._known_agents[id]

    def timeline(self, key: str) -> Fraction | None:
        if key in self._moved:
            return self._moved[key][0]
        self._act()
        last = self._locks.hold(Lock.timeline(key))
        return None if last is None else Fraction(last)

    def fact(self, name: str) -> str | None:
        self._act()
        return self._locks.hold(Lock.fact(name))

    def timelines(self) -> dict[str, Fraction]:
        self.flush()
        return super().timelines()

    def revisions(self, subject: str) -> list[Revision]:
        self.flush()
        return super().revisions(subject)

    def after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        self.flush()
        return super().after(key, limit, under)

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        self.flush()
        return super().histories(key, limit, under)

    def search(self, words: Sequence[str], limit: int) -> list[Found]:
        self.flush()
        return super().search(words, limit)

    def reverse(self, data: str, type: str | None, limit: int) -> list[Found]:
        self.flush()
        return super().reverse(data, type, limit)

    def input_of(self, name: str) -> str | None:
        self.flush()
        return super().input_of(name)

    def derivations(self, subject: str) -> list[tuple[int, str]]:
        self.flush()
        return super().derivations(subject)

    def counts(self) -> dict[str, int]:
        self.flush()
        return super().counts()

    def contradictions(self) -> Iterator[str]:
        self.flush()
        return super().contradictions()

    # What is written

    def insert(self, changes: Sequence[Change]) -> None:
        keys = [change.identifier.key for change in changes]
        taken = {key for key in keys if key in self._gathered or self._known.get(key) is not None}
        if self._care:
            taken |= self.find_many(keys).keys()
        if taken or len(set(keys)) < len(keys):
            wanted = (change.identifier for change in changes)
            raise NameTaken(next(one.name for one in wanted if one.key in taken or keys.count(one.key) > 1))
        self._fresh.extend(changes)
        for change in changes:
            self._gather(change)

    def update(self, changes: Sequence[Change]) -> None:
        again = {one.identifier.key for one in self._changed}
        if any(one.identifier.key in again for one in changes):
            self.flush()  # one statement can change a row once
        for change in changes:
            self._changed.append(change)
            self._gather(change)

    def put_timeline(self, key: str, last: Fraction, ahead: Fraction) -> None:
        self._act()
        self._locks.hold(Lock.timeline(key))
        self._moved[key] = (last, ahead)

    def put_persons(self, names: Mapping[str, str]) -> None:
        if not self._persons.keys().isdisjoint(names) or not set(self._persons.values()).isdisjoint(names.values()):
            self.flush()
        self._persons.update(names)

    def put_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None:
        self._derived.extend((subject, version, poid) for poid in observations)

    def put_prefix(self, prefix: Prefix) -> None:
        self._change_settings()
        self._known_prefixes.clear()
        self.connection.execute(
            f"INSERT INTO prefixes ({PREFIX_COLUMNS}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (key) DO UPDATE SET "
            "minter = excluded.minter, policy = excluded.policy, pattern = excluded.pattern, "
            "subsystem = excluded.subsystem",
            prefix_row(prefix),
        )

    def put_agent(self, agent: Agent) -> None:
        self._change_settings()
        self._known_agents.clear()
        self.connection.execute(
            "INSERT INTO agents (id, name, identifier, created, kind) VALUES (%s, %s, %s, %s, %s) "
            "ON CONFLICT (id) DO UPDATE SET name = excluded.name, identifier = excluded.identifier",
            (agent.id, agent.name, agent.identifier, agent.created, agent.kind),
        )

    def put_key(self, key: Key) -> None:
        self._change_settings()
        self.connection.execute(
            "INSERT INTO keys (id, agent, digest, created, expires, revoked, label) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s) "
            "ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, revoked = excluded.revoked",
            (key.id, key.agent, key.digest, key.created, key.expires, key.revoked, key.label),
        )

    def put_grant(self, grant: Grant) -> None:
        self._change_settings()
        self._known_grants.clear()
        self.connection.execute(
            "INSERT INTO grants (agent, scope, action, own, until, given_by, given_at) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (agent, scope, action, own) DO UPDATE SET "
            "until = excluded.until, given_by = excluded.given_by, given_at = excluded.given_at",
            (grant.agent, grant.scope, grant.action, grant.own, grant.until, grant.given_by, grant.given_at),
        )

    def remove_grant(self, agent: str, scope: str, action: str) -> None:
        self._change_settings()
        self._known_grants.clear()
        self.connection.execute(
            "DELETE FROM grants WHERE agent = %s AND scope = %s AND action = %s", (agent, scope, action)
        )

    def put_event(self, event: Event) -> None:
        self._act()
        self._sent += 1
        self._added += 1
        self.connection.execute(
            "INSERT INTO events (added, writer, at, agent, action, subject, detail) "
            "VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (self._added, self._writer, event.at, event.agent, event.action, event.subject, event.detail),
        )

    def put_fact(self, name: str, value: str) -> None:
        self._act()
        is_new = self._locks.hold(Lock.fact(name)) is None  # what is not there could not be held
        self._sent += 1
        do = "NOTHING" if is_new else "UPDATE SET value = excluded.value"
        put = self.connection.execute(
            f"INSERT INTO facts (name, value) VALUES (%s, %s) ON CONFLICT (name) DO {do}", (name, value)
        )
        if put.rowcount == 0:
            raise Again  # somebody else was first: the next run sees it
        self._locks.changed(Lock.fact(name), value)

    def _change_settings(self) -> None:
        """What is decided from prefixes, agents and grants must not be decided by two at once."""
        self._act()
        self._locks.demand(SETTINGS)
        self._sent += 1


def _key(change: Change) -> str:
    return change.identifier.key


def _revision_row(key: str, one: Revision) -> tuple[Any, ...]:
    return key, one.version, one.at, one.agent, one.action, one.note, one.record
