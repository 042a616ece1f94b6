"""The queries of a transaction, with as few round trips to the server as possible.

Queries for single names are answered from the write buffer, and from a cache that the works of a group share. The
look-ups that several works need are collected first, and made for all of them at once. Before any other query, the
write buffer is sent.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Final, Self, TypeVar

import psycopg

from perdure.registry.entities import Act, History, Identifier, Prefix, Revision, SearchHit
from perdure.registry.store_interface import TimelineState
from perdure.store.postgres.connection import Connection
from perdure.store.postgres.locks import Lock, Locks, Strictness
from perdure.store.postgres.reader import PostgresReader, ValueLookup
from perdure.store.postgres.write_buffer import Answer, AnswerKey, WriteBuffer
from perdure.store.sql_reader import AdminCache

T = TypeVar("T")

_LAST_DATES: Final = "SELECT key, last FROM timelines WHERE key = ANY(%s)"
_LOCK_NAME: Final = "SELECT 1 FROM identifiers WHERE key = %s FOR NO KEY UPDATE"


class PrefetchNeeded(BaseException):
    """A work needs a look-up that is deferred, so that it can be made for all works of the group at once."""


class CachedTransactionReader(AdminCache, PostgresReader):
    """The queries of a transaction; a subclass adds the writes."""

    def __init__(self, connection: Connection, locks: Locks, strictness: Strictness) -> None:
        super().__init__(connection, long_statement_seconds=0)
        self._locks = locks
        self._strictness = strictness
        self._buffer = WriteBuffer()
        self._may_defer = False
        self._is_dry_run = False
        self._deferred_names: set[str] = set()
        self._deferred_persons: set[str] = set()
        self._deferred_answers: set[AnswerKey] = set()
        self._deferred_values: set[ValueLookup] = set()
        self._clear_caches()

    @abstractmethod
    def flush(self) -> None:
        """Send the write buffer."""

    def _clear_caches(self) -> None:
        """Empty the caches that the works of a group share."""
        self._cached_names: dict[str, Identifier | None] = {}
        self._cached_newest: dict[str, Revision | None] = {}
        self._clear_admin_cache()
        self._peeked_timelines: dict[str, Fraction | None] = {}
        self._cached_persons: dict[str, str | None] = {}
        self._cached_answers: dict[AnswerKey, Answer | None] = {}
        self._cached_hits: dict[ValueLookup, list[SearchHit]] = {}
        self._reread_prefixes: set[str] = set()

    def _cache_written(self, writes: WriteBuffer) -> None:
        """Put the writes that are being sent into the caches."""
        self._cached_names.update(writes.names)
        self._cached_newest.update(writes.newest)
        self._cached_persons.update(writes.persons)
        self._cached_answers.update(writes.answers)
        self._cached_hits = {
            one: hits for one, hits in self._cached_hits.items() if not writes.may_have_value(one.data)
        }

    def _extend_timeout(self) -> None:
        """Keep the usual timeout: a write must not take that long."""

    @contextmanager
    def defer_lookups(self) -> Iterator[None]:
        """Raise `PrefetchNeeded` for look-ups within the block, as long as the work can be dropped and run again."""
        self._may_defer = True
        try:
            yield
        finally:
            self._may_defer = False

    def dry_run(self, work: Callable[[Self], object]) -> None:
        """Run a work to collect its look-ups, until it would lock or send anything; drop its writes."""
        mark = self._buffer.mark()
        self._is_dry_run = True
        try:
            with self.defer_lookups():
                work(self)
        except psycopg.Error:
            raise
        except (PrefetchNeeded, Exception):
            return  # it is run again, and raises then
        finally:
            self._is_dry_run = False
            self._buffer.roll_back_to(mark)

    def _stop_deferring(self) -> None:
        """Note that the work locks or sends something: from here on it cannot be dropped and run again."""
        if self._is_dry_run:
            raise PrefetchNeeded
        self._may_defer = False

    def run_deferred_lookups(self) -> None:
        """Make the look-ups of all deferred works, with one query of each kind."""
        if self._deferred_names:
            self._cached_names |= dict.fromkeys(self._deferred_names) | super().find_many(sorted(self._deferred_names))
        if self._deferred_persons:
            persons = super().persons(sorted(self._deferred_persons))
            self._cached_persons |= dict.fromkeys(self._deferred_persons) | persons
        if self._deferred_answers:
            answers = self._find_answers(sorted(self._deferred_answers))
            self._cached_answers |= dict.fromkeys(self._deferred_answers) | answers
        if self._deferred_values:
            self._cached_hits |= self._find_by_values(list(self._deferred_values))
        self._deferred_values.clear()
        self._deferred_names.clear()
        self._deferred_persons.clear()
        self._deferred_answers.clear()

    def find(self, key: str) -> Identifier | None:
        if key not in self._buffer.names and key not in self._cached_names:
            self._defer(self._deferred_names, [key])
            if self._strictness == Strictness.SAVEPOINTS:  # another process changed it in an earlier run: lock it now
                self.connection.execute(_LOCK_NAME, (key,))
            row = self._cached_names[key] = super().find(key)
            if row is not None and row.subject != key:  # both names from the same snapshot
                self._cached_names |= super().find_many([key, row.subject])
        return self._buffer.names.get(key) or self._cached_names[key]

    def find_many(self, keys: Sequence[str]) -> dict[str, Identifier]:
        unknown = [key for key in keys if key not in self._buffer.names and key not in self._cached_names]
        if unknown:
            self._defer(self._deferred_names, unknown)
            self._cached_names |= dict.fromkeys(unknown) | super().find_many(unknown)
        rows = ((key, self._buffer.names.get(key) or self._cached_names[key]) for key in keys)
        return {key: row for key, row in rows if row is not None}

    def _defer(self, deferred: set[T], keys: Sequence[T]) -> None:
        if self._may_defer:
            deferred.update(keys)
            raise PrefetchNeeded

    def newest_revision(self, subject: str) -> Revision | None:
        """Return the revision of the version that was read: there may be a newer one meanwhile."""
        if subject not in self._buffer.newest and subject not in self._cached_newest:
            row = self.find(subject)
            self._cached_newest[subject] = None if row is None else super().revision(subject, row.version)
        return self._buffer.newest.get(subject) or self._cached_newest[subject]

    def person(self, uuid_raw: str) -> str | None:
        return self.persons([uuid_raw]).get(uuid_raw)

    def persons(self, uuid_raws: Sequence[str]) -> dict[str, str]:
        buffered = self._buffer.persons
        unknown = [uuid for uuid in uuid_raws if uuid not in buffered and uuid not in self._cached_persons]
        if unknown:
            self._defer(self._deferred_persons, unknown)
            self._cached_persons |= dict.fromkeys(unknown) | super().persons(unknown)
        names = ((uuid, buffered.get(uuid) or self._cached_persons[uuid]) for uuid in uuid_raws)
        return {uuid: name for uuid, name in names if name is not None}

    def find_answer(self, agent: str, token: str) -> Answer | None:
        key = (agent, token)
        if key not in self._buffer.answers and key not in self._cached_answers:
            self._defer(self._deferred_answers, [key])
            self._cached_answers[key] = super().find_answer(agent, token)
        return self._buffer.answers.get(key) or self._cached_answers[key]

    def find_by_value(self, data: str, type: str | None, limit: int) -> list[SearchHit]:
        if self._buffer.updates:  # a changed name may have got the value, or lost it
            self.flush()
        lookup = ValueLookup(data, type, limit)
        if lookup not in self._cached_hits:
            self._defer(self._deferred_values, [lookup])
            self._cached_hits[lookup] = super().find_by_value(data, type, limit)
        return [*self._buffer.find_by_value(data, type), *self._cached_hits[lookup]][:limit]

    def timeline(self, key: str) -> Fraction | None:
        self._stop_deferring()
        if key in self._buffer.timelines:
            return self._buffer.timelines[key][0]
        last = self._locks.hold(Lock.timeline(key))
        return None if last is None else Fraction(last)

    def peek_timelines(self, keys: Sequence[str]) -> dict[str, TimelineState]:
        """Read the dates once for all works of a group: those of timelines that are not held are outdated anyway."""
        self._stop_deferring()
        unknown = [key for key in keys if key not in self._peeked_timelines]
        if unknown:
            found: dict[str, str | None] = dict(self._rows(_LAST_DATES, (unknown,)))
            self._peeked_timelines |= {
                key: None if (last := found.get(key)) is None else Fraction(last) for key in unknown
            }
        return {key: self._peek_timeline(key) for key in keys}

    def _peek_timeline(self, key: str) -> TimelineState:
        if key in self._buffer.timelines:
            return TimelineState(self._buffer.timelines[key][0], True)
        if self._locks.holds(Lock.timeline(key)):
            return TimelineState(self.timeline(key), True)
        return TimelineState(self._peeked_timelines[key], False)

    def try_timeline(self, key: str) -> bool:
        self._stop_deferring()
        return self._locks.try_hold(Lock.timeline(key))

    def reread_prefix(self, key: str) -> Prefix | None:
        if key not in self._reread_prefixes:  # it may have been read before its timeline was locked
            self._reread_prefixes.add(key)
            self._cached_prefixes.pop(key, None)
        return self.prefix(key)

    def fact(self, name: str) -> str | None:
        self._stop_deferring()
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

    def identifiers_after(self, key: str, limit: int, under: str | None = None) -> list[Identifier]:
        self.flush()
        return super().identifiers_after(key, limit, under)

    def identifiers_before(self, key: str, limit: int, under: str) -> list[Identifier]:
        self.flush()
        return super().identifiers_before(key, limit, under)

    def histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        self.flush()
        return super().histories(key, limit, under)

    def newest_histories(self, key: str, limit: int, under: str | None = None) -> list[History]:
        self.flush()
        return super().newest_histories(key, limit, under)

    def newest_histories_of(self, keys: Sequence[str]) -> dict[str, History]:
        self.flush()
        return super().newest_histories_of(keys)

    def search(self, words: Sequence[str], limit: int, behind: str | None = None) -> list[SearchHit]:
        self.flush()
        return super().search(words, limit, behind)

    def count_persons(self) -> int:
        self.flush()
        return super().count_persons()

    def active_names(self, key: str, limit: int, under: str) -> list[tuple[str, str]]:
        self.flush()
        return super().active_names(key, limit, under)

    def count_active(self, under: str) -> int:
        self.flush()
        return super().count_active(under)

    def active_key(self, number: int, under: str) -> str | None:
        self.flush()
        return super().active_key(number, under)

    def input_uuid(self, name: str) -> str | None:
        self.flush()
        return super().input_uuid(name)

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
