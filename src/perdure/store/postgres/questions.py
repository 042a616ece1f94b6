"""What a work asks inside of a transaction, where a journey to the server is saved whenever one can be.

Questions for single names are answered from what is gathered to be written, and from what others of the group have
asked already. What several works may need to know is found out beforehand, and asked for all of them at once. Any
other question is asked when what was gathered has been sent.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Final, Self, TypeVar

import psycopg

from perdure.registry.entities import Act, Agent, Found, Grant, History, Identifier, Prefix, Revision
from perdure.store.postgres.connection import Connection
from perdure.store.postgres.gathering import Answer, Gathered, Token
from perdure.store.postgres.locks import Care, Lock, Locks
from perdure.store.postgres.reading import REVISION_OF_VERSION, PostgresReader

T = TypeVar("T")

_HOLD_NAME: Final = "SELECT 1 FROM identifiers WHERE key = %s FOR NO KEY UPDATE"


class Needed(BaseException):
    """A work needs to know something that others of its group may need as well: it is asked for them all at once."""


class TransactionQuestions(PostgresReader, ABC):
    """The questions of a transaction; what it writes is left to those who know how."""

    def __init__(self, connection: Connection, locks: Locks, care: Care) -> None:
        super().__init__(connection, long_statement_seconds=0)
        self._locks = locks
        self._care = care
        self._gathered = Gathered()
        self._may_postpone = False
        self._is_scouting = False
        self._needed_names: set[str] = set()
        self._needed_persons: set[str] = set()
        self._needed_answers: set[Token] = set()
        self._forget()

    @abstractmethod
    def flush(self) -> None:
        """Send what was gathered."""

    def _forget(self) -> None:
        """What many works of one group ask for is asked once."""
        self._known: dict[str, Identifier | None] = {}
        self._known_newest: dict[str, Revision | None] = {}
        self._known_prefixes: dict[str, Prefix | None] = {}
        self._known_grants: dict[str, list[Grant]] = {}
        self._known_agents: dict[str, Agent | None] = {}
        self._known_persons: dict[str, str | None] = {}
        self._known_answers: dict[Token, Answer | None] = {}

    def _remember(self, gathered: Gathered) -> None:
        """It is being sent: what it says is known from now on."""
        self._known.update(gathered.names)
        self._known_newest.update(gathered.newest)
        self._known_persons.update(gathered.persons)
        self._known_answers.update(gathered.answers)

    def _take_time(self) -> None:
        """Nobody waits that long for a write."""

    @contextmanager
    def postponing(self) -> Iterator[None]:
        """Inside, a question that others may have too is not asked but raised, as long as the work can be dropped."""
        self._may_postpone = True
        try:
            yield
        finally:
            self._may_postpone = False

    def scout(self, work: Callable[[Self], object]) -> None:
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

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        self.flush()
        return super().newest_histories(key, limit, under)

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[Found]:
        self.flush()
        return super().search(words, limit, behind)

    def reverse(self, data: str, type: str | None, limit: int) -> list[Found]:
        self.flush()
        return super().reverse(data, type, limit)

    def number_of_persons(self) -> int:
        self.flush()
        return super().number_of_persons()

    def active_names(self, key: str, limit: int, under: str) -> list[tuple[str, str]]:
        self.flush()
        return super().active_names(key, limit, under)

    def number_of_active(self, under: str) -> int:
        self.flush()
        return super().number_of_active(under)

    def active_key(self, number: int, under: str) -> str | None:
        self.flush()
        return super().active_key(number, under)

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
