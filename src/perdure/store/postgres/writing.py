"""What can be written to the database, inside a transaction that the group commit opens and ends.

A question costs a journey to the server, so what is written to the tables of names is gathered here and goes there
together: at the end, or before a question that could see it. Questions for single names are answered from what is
gathered, where it knows. Nobody is locked out while a name is looked at: that a row is still what it was is checked
when it is written, and if it is not, the whole group is undone and run again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Final, TypeVar

import psycopg

from perdure.errors import Conflict, NameTaken, StoreDamaged
from perdure.registry.entities import (
    Act,
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
from perdure.store.postgres import settings, tables
from perdure.store.postgres.changes import send_changed, send_fresh, send_moved
from perdure.store.postgres.connection import Connection
from perdure.store.postgres.gathering import NOTHING, Answer, Gathered, Token
from perdure.store.postgres.locks import SETTINGS, Again, Care, Lock, Locks
from perdure.store.postgres.reading import REVISION_OF_VERSION, PostgresReader
from perdure.store.postgres.sending import Sending

T = TypeVar("T")

_HOLD_NAME: Final = "SELECT 1 FROM identifiers WHERE key = %s FOR NO KEY UPDATE"
_REDACT: Final = "UPDATE revisions SET record = %s, note = NULL WHERE key = %s AND version = %s"
_TAKEN_BY_OTHERS: Final = (tables.IDENTIFIERS.name, tables.ANSWERS.name)


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
        self._needed_answers: set[Token] = set()
        self._sent = 0  # how often something went to the server that memory cannot take back
        self._gathered = Gathered()
        self._forget()

    def _forget(self) -> None:
        """What many works of one group ask for is asked once."""
        self._known: dict[str, Identifier | None] = {}
        self._known_newest: dict[str, Revision | None] = {}
        self._known_prefixes: dict[str, Prefix | None] = {}
        self._known_grants: dict[str, list[Grant]] = {}
        self._known_agents: dict[str, Agent | None] = {}
        self._known_persons: dict[str, str | None] = {}
        self._known_answers: dict[Token, Answer | None] = {}

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
    def postponing(self) -> Iterator[None]:
        """Inside, a question that others may have too is not asked but raised, as long as the work can be dropped."""
        self._may_postpone = True
        try:
            yield
        finally:
            self._may_postpone = False

    def scout(self, work: Callable[["PostgresTransaction"], object]) -> None:
        """Run a work for what it will need to know, as far as that goes without holding or sending anything."""
        mark = self._gathered.mark()
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
            self._gathered.go_back(mark)

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
        if self._needed_answers:
            self._known_answers |= dict.fromkeys(self._needed_answers) | self._answers(sorted(self._needed_answers))
        self._needed_names.clear()
        self._needed_persons.clear()
        self._needed_answers.clear()

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
            self._gathered.go_back(NOTHING)
            self._forget()
            raise
        self.connection.execute("RELEASE attempt")

    def flush(self) -> None:
        """Send what was gathered."""
        if not self._gathered:
            return
        self._act()
        self._locks.check()  # what was only looked at must not be written: it would be taken out of turn
        self._sent += 1
        gathered, self._gathered = self._gathered, Gathered()
        self._known.update(gathered.names)
        self._known_newest.update(gathered.newest)
        self._known_persons.update(gathered.persons)
        self._known_answers.update(gathered.answers)
        for timeline, (last, ahead) in sorted(gathered.moved.items()):
            self._marks.reach(timeline, last, ahead)  # before the commit: a mark too high costs nothing
            self._locks.changed(Lock.timeline(timeline), str(last))
        first = self._added + 1
        self._added += len(gathered.fresh)
        numbers = iter(self._numbers(gathered))
        with self._sending() as send:
            send_moved(send, gathered.moved)
            send_fresh(send, gathered.fresh, first, numbers)
            if not send_changed(send, gathered.changed, numbers):
                raise self._why_not(gathered.changed) if self._care == Care.SAVEPOINTS else Again(care=Care.SAVEPOINTS)
            send.rows(tables.PERSON_INPUTS, sorted(gathered.persons.items()))
            send.rows(tables.PERSON_NAMES, sorted((name, raw) for raw, name in gathered.persons.items()))
            send.rows(tables.DERIVATIONS, sorted(gathered.derived))
            send.rows(tables.ANSWERS, [(*whose, *said) for whose, said in sorted(gathered.answers.items())])

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
        if key not in self._gathered.names and key not in self._known:
            self._postpone(self._needed_names, [key])
            if self._care == Care.SAVEPOINTS:  # it has been changed by others before: now they have to wait
                self.connection.execute(_HOLD_NAME, (key,))
            row = self._known[key] = super().find(key)
            if row is not None and row.subject != key:  # both names of one state
                self._known |= super().find_many([key, row.subject])
        return self._gathered.names.get(key) or self._known[key]

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        unknown = [key for key in keys if key not in self._gathered.names and key not in self._known]
        if unknown:
            self._postpone(self._needed_names, unknown)
            self._known |= dict.fromkeys(unknown) | super().find_many(unknown)
        found = ((key, self._gathered.names.get(key) or self._known[key]) for key in keys)
        return {key: row for key, row in found if row is not None}

    def _postpone(self, needed: set[T], keys: Sequence[T]) -> None:
        if self._may_postpone:
            needed.update(keys)
            raise Needed

    def newest_revision(self, subject: str) -> Revision | None:
        """Of the version that the row has, as it was looked at: a newer one may have come since."""
        if subject not in self._gathered.newest and subject not in self._known_newest:
            row = self.find(subject)
            one = None if row is None else self._row(REVISION_OF_VERSION, (subject, row.version))
            self._known_newest[subject] = None if one is None else Revision(*one)
        return self._gathered.newest.get(subject) or self._known_newest[subject]

    def person(self, uuid_raw: str) -> str | None:
        return self.persons([uuid_raw]).get(uuid_raw)

    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]:
        gathered = self._gathered.persons
        unknown = [one for one in uuid_raws if one not in gathered and one not in self._known_persons]
        if unknown:
            self._postpone(self._needed_persons, unknown)
            self._known_persons |= dict.fromkeys(unknown) | super().persons(unknown)
        found = ((one, gathered.get(one) or self._known_persons[one]) for one in uuid_raws)
        return {one: name for one, name in found if name is not None}

    def answered(self, agent: str, token: str) -> Answer | None:
        whose = (agent, token)
        if whose not in self._gathered.answers and whose not in self._known_answers:
            self._postpone(self._needed_answers, [whose])
            self._known_answers[whose] = super().answered(agent, token)
        return self._gathered.answers.get(whose) or self._known_answers[whose]

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
        self._act()
        if key in self._gathered.moved:
            return self._gathered.moved[key][0]
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

    def revision(self, subject: str, version: int) -> Revision | None:
        self.flush()
        return super().revision(subject, version)

    def acts(self, subject: str, after: int, limit: int) -> list[Act]:
        self.flush()
        return super().acts(subject, after, limit)

    def newest_act(self, subject: str, actions: Sequence[str] = ()) -> Act | None:
        self.flush()
        return super().newest_act(subject, actions)

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

    def derived_from(self, poid: str) -> list[str]:
        self.flush()
        return super().derived_from(poid)

    def counts(self) -> dict[str, int]:
        self.flush()
        return super().counts()

    def contradictions(self) -> Iterator[str]:
        self.flush()
        return super().contradictions()

    # What is written

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
        self._sent += 1
        for version, record in records.items():
            self.connection.execute(_REDACT, (record, subject, version))

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
