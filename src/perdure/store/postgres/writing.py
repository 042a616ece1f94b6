"""What can be written to the database, inside a transaction that the group commit opens and ends.

A journey to the server takes its time, so what is written to the tables of names is gathered here and goes there
together: at the end, or before a question that could see it. Nobody is locked out while a name is looked at: that a
row is still what it was is checked when it is written, and if it is not, the whole group is undone and run again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Final

import psycopg

from perdure.errors import Conflict, NameTaken, StoreDamaged
from perdure.registry.entities import Agent, Change, Event, Grant, Key, Prefix
from perdure.registry.history_digest import event_digest, original_digest
from perdure.store.commit_mark import ChangeMark, Tip
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.high_water import HighWater
from perdure.store.postgres import settings, tables
from perdure.store.postgres.changes import send_changed, send_fresh, send_moved
from perdure.store.postgres.connection import Connection
from perdure.store.postgres.gathering import NOTHING, Gathered
from perdure.store.postgres.locks import SETTINGS, Again, Care, Lock, Locks
from perdure.store.postgres.questions import TransactionQuestions
from perdure.store.postgres.reading import PostgresReader
from perdure.store.postgres.sending import Sending

_REDACT: Final = (
    "UPDATE revisions SET record = %s, note = CASE action WHEN 'redact' THEN note END, original = %s "
    "WHERE key = %s AND version = %s"
)
_INSERT_EVENT: Final = (
    "INSERT INTO events (added, writer, at, agent, action, subject, detail, digest) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
)
_TAKEN_BY_OTHERS: Final = (tables.IDENTIFIERS.name, tables.PERSON_INPUTS.name, tables.ANSWERS.name)


class PostgresTransaction(TransactionQuestions):
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
        super().__init__(connection, locks, care)
        self._is_last = is_last
        self._marks = marks
        self._writer = writer
        self._added = added
        self._sent = 0  # how often something went to the server that memory cannot take back
        self.reached = Tip()  # the last change and the last event of this transaction

    @property
    def added(self) -> int:
        """The last place in the order of names that was given away."""
        return self._added

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is only gathered is dropped again; what is at the server already needs a savepoint there."""
        if self._care == Care.SAVEPOINTS:
            self.flush()
            with self.savepoint():
                yield
                self.flush()
            return
        sent, mark = self._sent, self._gathered.mark()
        try:
            yield
        except (Again, psycopg.Error):
            raise
        except BaseException:
            if self._sent != sent:
                raise Again(care=Care.SAVEPOINTS) from None
            self._gathered.go_back(mark)
            raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What is sent inside is undone if it raises, with the rows that were taken for it."""
        self.connection.execute("SAVEPOINT attempt")
        held, reached = self._locks.copy(), self.reached
        try:
            yield
        except BaseException:
            self.reached = reached
            if not self.connection.broken:
                self.connection.execute("ROLLBACK TO attempt; RELEASE attempt", prepare=False)
            self._locks.go_back(held)
            self._gathered.go_back(NOTHING)
            self._forget()
            raise
        self.connection.execute("RELEASE attempt")

    def flush(self) -> None:
        if not self._gathered:
            return
        self._act()
        self._locks.check()  # what was only looked at must not be written: it would be taken out of turn
        self._sent += 1
        gathered, self._gathered = self._gathered, Gathered()
        self._remember(gathered)
        for timeline, (last, ahead) in sorted(gathered.moved.items()):
            self._marks.reach(timeline, last, ahead)  # before the commit: a mark too high costs nothing
            self._locks.changed(Lock.timeline(timeline), str(last))
        first = self._added + 1
        self._added += len(gathered.fresh)
        given = self._numbers(gathered)
        numbers = iter(given)
        self._reach(gathered, given)
        with self._sending() as send:
            send_moved(send, gathered.moved)
            send_fresh(send, gathered.fresh, first, numbers)
            if not send_changed(send, gathered.changed, numbers):
                raise self._why_not(gathered.changed) if self._care == Care.SAVEPOINTS else Again(care=Care.SAVEPOINTS)
            send.rows(tables.PERSON_INPUTS, sorted(gathered.persons.items()))
            send.rows(tables.PERSON_NAMES, sorted((name, raw) for raw, name in gathered.persons.items()))
            send.rows(tables.DERIVATIONS, sorted(gathered.derived))
            send.rows(tables.ANSWERS, [(*whose, *said) for whose, said in sorted(gathered.answers.items())])

    def _reach(self, gathered: Gathered, numbers: range) -> None:
        """Remember the revision that gets the last number: the last by its key, of those that are sent last."""
        for changes in (gathered.changed, gathered.fresh):
            last = max((one for one in changes if one.revisions), key=lambda one: one.identifier.key, default=None)
            if last is not None:
                self.reached = self.reached._replace(
                    change=ChangeMark(numbers[-1], last.identifier.key, last.revisions[-1].digest)
                )
                return

    def _numbers(self, gathered: Gathered) -> range:
        """One for each revision, in the order that also names have."""
        count = sum(len(one.revisions) for changes in (gathered.fresh, gathered.changed) for one in changes)
        self._added += count
        return range(self._added - count + 1, self._added + 1)

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
        if sending.missed in _TAKEN_BY_OTHERS:  # whoever took it has committed by now: the next run sees it
            raise Again
        raise StoreDamaged(f"the database refused: what is to be written to {sending.missed} is there already")

    def _why_not(self, changes: Sequence[Change]) -> BaseException:
        there = PostgresReader.find_many(self, [one.identifier.key for one in changes])  # as it is now, not as known
        for one in changes:
            key = one.identifier.key
            if key not in there:
                return StoreDamaged(f"{key} was to be changed and is not there")
            if self._is_last and one.revisions and there[key].version != one.revisions[0].version - 1:
                expected = f"version {one.revisions[0].version - 1}"
                return Conflict(one.identifier.name, expected, f"version {there[key].version}")
        return Again()  # somebody else was first: what they wrote is seen the next time

    def insert(self, changes: Sequence[Change]) -> None:
        keys = [change.identifier.key for change in changes]
        taken = {key for key in keys if key in self._gathered.names or self._known.get(key) is not None}
        if self._care:
            taken |= self.find_many(keys).keys()
        if taken or len(set(keys)) < len(keys):
            wanted = (change.identifier for change in changes)
            raise NameTaken(next(one.name for one in wanted if one.key in taken or keys.count(one.key) > 1))
        self._gathered.insert(changes)

    def update(self, changes: Sequence[Change]) -> None:
        if self._gathered.changes_one_of(changes):
            self.flush()  # one statement can change a row once
        self._gathered.update(changes)

    def redact(self, subject: str, records: Mapping[int, bytes]) -> None:
        self.flush()
        self._act()
        originals = {one.version: original_digest(one) for one in self.revisions(subject)}
        self._sent += 1
        for version, record in records.items():
            self.connection.execute(_REDACT, (record, originals[version], subject, version))

    def put_timeline(self, key: str, last: Fraction, ahead: Fraction) -> None:
        self._act()
        self._locks.hold(Lock.timeline(key))
        self._gathered.moved[key] = (last, ahead)

    def put_persons(self, names: Mapping[str, str]) -> None:
        if self._gathered.knows_one_of(names):
            self.flush()  # and be refused
        self._gathered.persons.update(names)

    def put_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None:
        self._gathered.derived.extend((subject, version, poid) for poid in observations)

    def put_prefix(self, prefix: Prefix) -> None:
        self._change_settings()
        self._known_prefixes.clear()
        settings.put_prefix(self.connection, prefix)

    def put_agent(self, agent: Agent) -> None:
        self._change_settings()
        self._known_agents.clear()
        settings.put_agent(self.connection, agent)

    def put_key(self, key: Key) -> None:
        self._change_settings()
        settings.put_key(self.connection, key)

    def put_grant(self, grant: Grant) -> None:
        self._change_settings()
        self._known_grants.clear()
        settings.put_grant(self.connection, grant)

    def remove_grant(self, agent: str, scope: str, action: str) -> None:
        self._change_settings()
        self._known_grants.clear()
        settings.remove_grant(self.connection, agent, scope, action)

    def put_secret(self, key: str, index: int, sealed: bytes | None) -> None:
        self._act()
        self._sent += 1
        settings.put_secret(self.connection, key, index, sealed)

    def put_answer(self, agent: str, token: str, digest: bytes, answer: bytes, at: str) -> None:
        if self.answered(agent, token) is not None:
            raise Conflict(token, "no answer yet", "one")
        self._gathered.answers[agent, token] = (digest, answer, at)

    def forget_answers(self, before: str) -> int:
        self.flush()
        self._act()
        self._sent += 1
        self._known_answers.clear()
        return settings.forget_answers(self.connection, before)

    def put_event(self, event: Event) -> None:
        last = EventMark.parse(self.fact(NEWEST_EVENT))
        self._locks.check()
        self._sent += 1
        self._added = max(self._added, last.number) + 1
        mark = EventMark(self._added, event_digest(event, last.digest))
        said = event.at, event.agent, event.action, event.subject, event.detail, mark.digest
        self.connection.execute(_INSERT_EVENT, (mark.number, self._writer, *said))
        self.put_fact(NEWEST_EVENT, str(mark))
        self.reached = self.reached._replace(event=mark)

    def put_fact(self, name: str, value: str) -> None:
        self._act()
        is_new = self._locks.hold(Lock.fact(name)) is None  # what is not there could not be held
        self._locks.check()
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
