"""The writes to the database, inside a transaction that the group commit begins and ends.

A round trip to the server is slow, so writes to the tables of names are buffered and sent together: at the end, or
before a query that could see them. A name that is read is not locked. When it is written, the update checks that the
row is unchanged; if it is not, the whole group is rolled back and run again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Final

import psycopg

from perdure.errors import Conflict, NameTaken, StoreDamaged
from perdure.registry.entities import Agent, Change, Event, Grant, Key, Peer, Pool, Prefix, ResolutionCount
from perdure.registry.history_digest import event_digest, original_digest
from perdure.registry.holdings import Collection, Holding
from perdure.store.commit_mark import ChangeMark, Tip
from perdure.store.event_chain import NEWEST_EVENT, EventMark
from perdure.store.high_water import HighWater
from perdure.store.postgres import admin_statements, bulk_insert
from perdure.store.postgres.change_statements import send_inserts, send_timelines, send_updates
from perdure.store.postgres.connection import Connection
from perdure.store.postgres.locks import ADMIN_LOCK, HOLDINGS_LOCK, Lock, Locks, RetryGroup, Strictness
from perdure.store.postgres.pipeline import Pipeline
from perdure.store.postgres.reader import PostgresReader
from perdure.store.postgres.transaction_reader import CachedTransactionReader
from perdure.store.postgres.write_buffer import EMPTY_MARK, WriteBuffer

_REDACT: Final = (
    "UPDATE revisions SET record = %s, note = CASE action WHEN 'redact' THEN note END, original = %s "
    "WHERE key = %s AND version = %s"
)
_INSERT_EVENT: Final = (
    "INSERT INTO events (added, writer, at, agent, action, subject, detail, digest) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
)
_CONTESTED_TABLES: Final = (bulk_insert.IDENTIFIERS.name, bulk_insert.PERSON_INPUTS.name, bulk_insert.ANSWERS.name)


class PostgresTransaction(CachedTransactionReader):
    """The queries and writes of a transaction."""

    def __init__(
        self,
        connection: Connection,
        marks: HighWater,
        locks: Locks,
        writer: str,
        added: int,
        strictness: Strictness,
        is_last: bool,
    ) -> None:
        super().__init__(connection, locks, strictness)
        self._is_last = is_last
        self._marks = marks
        self._writer = writer
        self._added = added
        self._sent = 0  # number of writes to the server, which dropping the buffer does not undo
        self.new_tip = Tip()  # the newest change and event of this transaction

    @property
    def last_number(self) -> int:
        """The last number that was allocated for a name or a revision."""
        return self._added

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo the block if it raises: drop its buffered writes. For writes at the server, retry with savepoints."""
        if self._strictness == Strictness.SAVEPOINTS:
            self.flush()
            with self.savepoint():
                yield
                self.flush()
            return
        sent, mark = self._sent, self._buffer.mark()
        try:
            yield
        except (RetryGroup, psycopg.Error):
            raise
        except BaseException:
            if self._sent != sent:
                raise RetryGroup(strictness=Strictness.SAVEPOINTS) from None
            self._buffer.roll_back_to(mark)
            raise

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what the block has sent if it raises, and release its row locks."""
        self.connection.execute("SAVEPOINT attempt")
        held, tip = self._locks.snapshot(), self.new_tip
        try:
            yield
        except BaseException:
            self.new_tip = tip
            if not self.connection.broken:
                self.connection.execute("ROLLBACK TO attempt; RELEASE attempt", prepare=False)
            self._locks.roll_back_to(held)
            self._buffer.roll_back_to(EMPTY_MARK)
            self._clear_caches()
            raise
        self.connection.execute("RELEASE attempt")

    def flush(self) -> None:
        if not self._buffer:
            return
        self._stop_deferring()
        self._locks.check()  # a row that is not locked must not be written: that would lock it out of order
        self._sent += 1
        writes, self._buffer = self._buffer, WriteBuffer()
        self._cache_written(writes)
        for timeline, (last, ahead) in sorted(writes.timelines.items()):
            self._marks.reach(timeline, last, ahead)  # before the commit: a mark that is too high is harmless
            self._locks.record_value(Lock.timeline(timeline), str(last))
        first = self._added + 1
        self._added += len(writes.inserts)
        allocated = self._allocate_numbers(writes)
        numbers = iter(allocated)
        self._record_tip(writes, allocated)
        with self._open_pipeline() as pipeline:
            send_timelines(pipeline, writes.timelines)
            send_inserts(pipeline, writes.inserts, first, numbers)
            if not send_updates(pipeline, writes.updates, numbers):
                if self._strictness == Strictness.SAVEPOINTS:
                    raise self._explain_mismatch(writes.updates)
                raise RetryGroup(strictness=Strictness.SAVEPOINTS)
            pipeline.send_rows(bulk_insert.PERSON_INPUTS, sorted(writes.persons.items()))
            pipeline.send_rows(bulk_insert.PERSON_NAMES, sorted((name, raw) for raw, name in writes.persons.items()))
            pipeline.send_rows(bulk_insert.DERIVATIONS, sorted(writes.derivations))
            pipeline.send_rows(bulk_insert.ANSWERS, [(*key, *answer) for key, answer in sorted(writes.answers.items())])

    def _record_tip(self, writes: WriteBuffer, numbers: range) -> None:
        """Record the revision with the last number: the one with the last key, of the changes that are sent last."""
        for changes in (writes.updates, writes.inserts):
            last = max(
                (change for change in changes if change.revisions),
                key=lambda change: change.identifier.key,
                default=None,
            )
            if last is not None:
                self.new_tip = self.new_tip._replace(
                    change=ChangeMark(numbers[-1], last.identifier.key, last.revisions[-1].digest)
                )
                return

    def _allocate_numbers(self, writes: WriteBuffer) -> range:
        """Allocate a number for each revision, from the same sequence as the numbers of names."""
        count = sum(len(change.revisions) for changes in (writes.inserts, writes.updates) for change in changes)
        self._added += count
        return range(self._added - count + 1, self._added + 1)

    @contextmanager
    def _open_pipeline(self) -> Iterator[Pipeline]:
        """Send all statements together. Fewer rows written than sent means that another process was first: retry."""
        pipeline = Pipeline(self.connection)
        with pipeline:
            yield pipeline
        if pipeline.conflicting_table is None:
            return
        if self._strictness < Strictness.SAVEPOINTS:
            raise RetryGroup(strictness=Strictness(self._strictness + 1))
        if pipeline.conflicting_table in _CONTESTED_TABLES:  # the other process has committed: the next run sees it
            raise RetryGroup
        raise StoreDamaged(f"duplicate row in {pipeline.conflicting_table}: a row to be inserted exists already")

    def _explain_mismatch(self, changes: Sequence[Change]) -> BaseException:
        current = PostgresReader.find_many(
            self, [change.identifier.key for change in changes]
        )  # as they are now, without the cache
        for change in changes:
            key = change.identifier.key
            if key not in current:
                return StoreDamaged(f"{key} is to be updated, and was not found")
            if self._is_last and change.revisions and current[key].version != change.revisions[0].version - 1:
                expected = f"version {change.revisions[0].version - 1}"
                return Conflict(change.identifier.name, expected, f"version {current[key].version}")
        return RetryGroup()  # another process was first: the next run sees its write

    def insert(self, changes: Sequence[Change]) -> None:
        keys = [change.identifier.key for change in changes]
        taken = {key for key in keys if key in self._buffer.names or self._cached_names.get(key) is not None}
        if self._strictness:
            taken |= self.find_many(keys).keys()
        if taken or len(set(keys)) < len(keys):
            rows = (change.identifier for change in changes)
            raise NameTaken(next(row.name for row in rows if row.key in taken or keys.count(row.key) > 1))
        self._buffer.insert(changes)

    def update(self, changes: Sequence[Change]) -> None:
        if self._buffer.has_update_for(changes):
            self.flush()  # one statement can update a row only once
        self._buffer.update(changes)

    def redact(self, subject: str, records: Mapping[int, bytes]) -> None:
        self.flush()
        self._stop_deferring()
        originals = {revision.version: original_digest(revision) for revision in self.revisions(subject)}
        self._sent += 1
        for version, record in records.items():
            self.connection.execute(_REDACT, (record, originals[version], subject, version))

    def put_timeline(self, key: str, last: Fraction, ahead: Fraction) -> None:
        self._stop_deferring()
        self._locks.hold(Lock.timeline(key))
        self._buffer.timelines[key] = (last, ahead)

    def put_persons(self, names: Mapping[str, str]) -> None:
        if self._buffer.has_person_of(names):
            self.flush()  # which raises an error for the duplicate
        self._buffer.persons.update(names)

    def put_derivations(self, subject: str, version: int, observations: Sequence[str]) -> None:
        self._buffer.derivations.extend((subject, version, poid) for poid in observations)

    def put_prefix(self, prefix: Prefix) -> None:
        self._begin_admin_change()
        self._cached_prefixes.clear()
        admin_statements.put_prefix(self.connection, prefix)

    def put_pool(self, pool: Pool) -> None:
        self._begin_admin_change()
        self._cached_pools.clear()
        admin_statements.put_pool(self.connection, pool)

    def remove_pool(self, name: str) -> None:
        self._begin_admin_change()
        self._cached_pools.clear()
        admin_statements.remove_pool(self.connection, name)

    def put_agent(self, agent: Agent) -> None:
        self._begin_admin_change()
        self._cached_agents.clear()
        admin_statements.put_agent(self.connection, agent)

    def put_key(self, key: Key) -> None:
        self._begin_admin_change()
        admin_statements.put_key(self.connection, key)

    def put_grant(self, grant: Grant) -> None:
        self._begin_admin_change()
        self._cached_grants.clear()
        admin_statements.put_grant(self.connection, grant)

    def remove_grant(self, agent: str, scope: str, action: str) -> None:
        self._begin_admin_change()
        self._cached_grants.clear()
        admin_statements.remove_grant(self.connection, agent, scope, action)

    def put_peer(self, peer: Peer) -> None:
        self._begin_admin_change()
        admin_statements.put_peer(self.connection, peer)

    def remove_peer(self, name: str) -> None:
        self._begin_admin_change()
        admin_statements.remove_peer(self.connection, name)

    def put_secret(self, key: str, index: int, sealed: bytes | None) -> None:
        self._stop_deferring()
        self._sent += 1
        admin_statements.put_secret(self.connection, key, index, sealed)

    def put_answer(self, agent: str, token: str, digest: bytes, answer: bytes, at: str) -> None:
        if self.find_answer(agent, token) is not None:
            raise Conflict(token, "no answer yet", "one")
        self._buffer.answers[agent, token] = (digest, answer, at)

    def forget_answers(self, before: str) -> int:
        self.flush()
        self._stop_deferring()
        self._sent += 1
        self._cached_answers.clear()
        return admin_statements.forget_answers(self.connection, before)

    def put_event(self, event: Event) -> None:
        last = EventMark.parse(self.fact(NEWEST_EVENT))
        self._locks.check()
        self._sent += 1
        self._added = max(self._added, last.number) + 1
        mark = EventMark(self._added, event_digest(event, last.digest))
        row = event.at, event.agent, event.action, event.subject, event.detail, mark.digest
        self.connection.execute(_INSERT_EVENT, (mark.number, self._writer, *row))
        self.put_fact(NEWEST_EVENT, str(mark))
        self.new_tip = self.new_tip._replace(event=mark)

    def add_resolutions(self, counts: Sequence[ResolutionCount]) -> None:
        self._stop_deferring()
        self._sent += 1
        admin_statements.add_resolutions(self.connection, counts)

    def put_collection(self, collection: Collection) -> None:
        self._begin_holdings_change()
        admin_statements.put_collection(self.connection, collection)

    def put_holding(self, holding: Holding) -> None:
        self._begin_holdings_change()
        admin_statements.put_holding(self.connection, holding)

    def remove_holding(self, subject: str, collection: str) -> None:
        self._begin_holdings_change()
        admin_statements.remove_holding(self.connection, subject, collection)

    def put_fact(self, name: str, value: str) -> None:
        self._stop_deferring()
        is_new = self._locks.hold(Lock.fact(name)) is None  # a row that does not exist cannot be locked
        self._locks.check()
        self._sent += 1
        do = "NOTHING" if is_new else "UPDATE SET value = excluded.value"
        put = self.connection.execute(
            f"INSERT INTO facts (name, value) VALUES (%s, %s) ON CONFLICT (name) DO {do}", (name, value)
        )
        if put.rowcount == 0:
            raise RetryGroup  # another process was first: the next run sees it
        self._locks.record_value(Lock.fact(name), value)

    def _begin_admin_change(self) -> None:
        """Lock prefixes, agents and grants as a whole, so that two processes cannot decide upon them at once."""
        self._stop_deferring()
        self._locks.require(ADMIN_LOCK)
        self._sent += 1

    def _begin_holdings_change(self) -> None:
        """Lock all holdings, so that two processes cannot decide at once where the original of an item is."""
        self._stop_deferring()
        self._locks.require(HOLDINGS_LOCK)
        self._sent += 1
