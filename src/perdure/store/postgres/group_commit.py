"""The group commit: one transaction and one fsync for the works of many callers, and its outcome after a lost reply.

The works run together, without savepoints, and their writes are sent together at the end. If that fails (another
process took a name, a work failed after it had written, a row must be locked out of order), everything is rolled back
and the works run again, more strictly.

A connection that is lost *before* the commit has changed nothing, so the group runs again. One that is lost *during*
the commit may have committed. Then a new connection reads the number of this process's last commit, from a row that the
lost transaction has locked, so that the read returns only when that transaction has ended.
"""

import random
import time
from typing import Final, NoReturn
from uuid import uuid4

import psycopg
from psycopg import errors as pg

from perdure.errors import OutcomeUnknown, PerdureError, StoreSealed, StoreUnavailable
from perdure.store.commit_mark import CommitMarkFile
from perdure.store.high_water import HighWater
from perdure.store.postgres.connection import Connection, to_store_error
from perdure.store.postgres.locks import Lock, Locks, RetryGroup, Strictness
from perdure.store.postgres.reconnecting import ReconnectingConnection
from perdure.store.postgres.transaction import PostgresTransaction
from perdure.store.postgres.transaction_reader import PrefetchNeeded
from perdure.store.writer import Job, Outcome

LARGEST_GROUP: Final = 256

_MOST_SAVEPOINTS: Final = 60  # more than 64 in one transaction would slow down all other readers of the database
_PREFETCH_ROUNDS: Final = 3  # in which the works of a group share their look-ups, before each makes its own
_TRIES: Final = 8
_PAUSE: Final = 0.01  # seconds; multiplied by the number of the try and a random factor
_WORK_ERRORS: Final = (
    pg.IntegrityError,
    pg.DataError,
    pg.ProgramLimitExceeded,
)  # caused by one work, or by two together
_CONFLICTS: Final = (pg.UniqueViolation, pg.SerializationFailure, pg.DeadlockDetected)

# The commit number and the read-only flag are in a row of this process alone, so that processes do not wait here.
_NEXT_SERIAL: Final = (
    "UPDATE writers SET serial = %s, seen = now() WHERE id = %s AND NOT sealed "
    "RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
)
_REGISTER: Final = (
    "INSERT INTO writers (id, serial, sealed) SELECT %s, 0, value <> '' FROM guards WHERE name = 'sealed'"
)
_LAST_SERIAL: Final = "SELECT serial FROM writers WHERE id = %s FOR UPDATE"
_OUTCOME_UNKNOWN: Final = (
    "the connection to the database was lost during the commit, and not restored within settle_seconds: "
    "the change may have been written or not. Check before you try again"
)


class GroupCommit:
    """Runs the commits of a process, one after the other."""

    def __init__(
        self, connection: ReconnectingConnection, marks: HighWater, mark: CommitMarkFile, settle_seconds: float
    ) -> None:
        self._reconnecting = connection
        self._marks = marks
        self._mark = mark
        self._settle_seconds = settle_seconds
        self._serial = 0
        self._added = 0
        self._writer: str | None = None

    def __call__(self, jobs: list[Job], strictness: Strictness = Strictness.NONE) -> list[Outcome]:
        try:
            return self._run_with_retries(jobs, strictness)
        except psycopg.Error as problem:
            return _fail_all(jobs, to_store_error(problem))
        except PerdureError as problem:
            return _fail_all(jobs, problem)
        finally:
            self._reconnecting.end_transaction()

    def _run_with_retries(self, jobs: list[Job], strictness: Strictness) -> list[Outcome]:
        locks: frozenset[Lock] = frozenset()
        for number in range(1, _TRIES + 1):
            is_last = number == _TRIES
            if strictness == Strictness.SAVEPOINTS and len(jobs) > _MOST_SAVEPOINTS:
                starts = range(0, len(jobs), _MOST_SAVEPOINTS)
                return [
                    outcome for start in starts for outcome in self(jobs[start : start + _MOST_SAVEPOINTS], strictness)
                ]
            try:
                return self._run_group(jobs, locks, strictness, is_last)
            except RetryGroup as retry:
                locks, strictness = locks | retry.locks, max(strictness, retry.strictness)
            except (*_WORK_ERRORS, *_CONFLICTS):
                if is_last:
                    raise
                strictness = Strictness.SAVEPOINTS
            except psycopg.OperationalError:
                if is_last or not self._reconnecting.was_lost:
                    raise
            self._reconnecting.end_transaction()
            if number > 1:
                time.sleep(random.uniform(0, _PAUSE * number))  # noqa: S311  (not a secret)
        raise StoreUnavailable(
            "conflict with other programs in every try: nothing was written. Try again", safe_to_retry=True
        )

    def _run_group(
        self, jobs: list[Job], locked_first: frozenset[Lock], strictness: Strictness, is_last: bool
    ) -> list[Outcome]:
        connection = self._reconnecting.get_connection()
        writer, serial = self._register_writer(connection), self._serial + 1
        with connection.pipeline():  # one round trip
            connection.execute("BEGIN")
            begun = connection.execute(_NEXT_SERIAL, (serial, writer))
        row = begun.fetchone()
        if row is None:
            self._raise_not_writable(connection)
        self._added = max(self._added, row[0])
        locks = Locks(connection, locked_first)
        transaction = PostgresTransaction(connection, self._marks, locks, writer, self._added, strictness, is_last)
        if strictness == Strictness.SAVEPOINTS:
            outcomes = [_run_job_in_savepoint(transaction, job, is_last) for job in jobs]
        else:
            outcomes = _run_jobs(transaction, jobs)
        transaction.flush()
        locks.check()
        self._commit(connection, writer, serial)
        self._mark.record_commit(*transaction.new_tip)
        self._serial, self._added = serial, transaction.last_number
        return outcomes

    def _commit(self, connection: Connection, writer: str, serial: int) -> None:
        try:
            answer = connection.execute("COMMIT", prepare=False).statusmessage
        except psycopg.OperationalError:
            if not self._reconnecting.was_lost:
                raise
            if self._was_committed(writer, serial):
                return
            raise RetryGroup from None  # it certainly wrote nothing
        if answer != "COMMIT":  # a work caught an error, and the server has rolled everything back
            raise RetryGroup(strictness=Strictness.SAVEPOINTS)

    def _was_committed(self, writer: str, serial: int) -> bool:
        """Read whether a commit was made. Retry until the server can be reached, or until the timeout."""
        until = time.monotonic() + self._settle_seconds
        while True:
            try:
                connection = self._reconnecting.get_connection()
                with connection.transaction():
                    row = connection.execute(_LAST_SERIAL, (writer,)).fetchone()
                break
            except (psycopg.Error, StoreUnavailable) as problem:
                self._reconnecting.end_transaction()
                if time.monotonic() > until:
                    self._writer = None  # register again: this writer's last commit is never read again
                    raise OutcomeUnknown(_OUTCOME_UNKNOWN) from problem
                time.sleep(0.2)
        if row is None:  # the database was replaced meanwhile
            self._writer = None
            raise OutcomeUnknown(_OUTCOME_UNKNOWN)
        return int(row[0]) == serial

    def _register_writer(self, connection: Connection) -> str:
        """Return the writer id of this process; insert its row once. The lock keeps it from missing read-only mode."""
        if self._writer is None:
            writer = uuid4().hex
            with connection.transaction():
                connection.execute("SELECT value FROM guards WHERE name = 'sealed' FOR SHARE")
                connection.execute("DELETE FROM writers WHERE seen < now() - interval '90 days' AND NOT sealed")
                connection.execute(_REGISTER, (writer,))
            self._writer, self._serial = writer, 0
        return self._writer

    def _raise_not_writable(self, connection: Connection) -> NoReturn:
        """Raise why the writer's row was not updated: read-only, or deleted after months of inactivity (then retry)."""
        connection.execute("ROLLBACK")
        row = connection.execute("SELECT value FROM guards WHERE name = 'sealed'").fetchone()
        if row is not None and row[0]:
            raise StoreSealed(row[0])
        self._writer = None
        raise RetryGroup


def _run_jobs(transaction: PostgresTransaction, jobs: list[Job]) -> list[Outcome]:
    """Run the jobs in their order. When one needs a look-up, the jobs after it are run dry, to collect theirs.

    All these look-ups are then made at once, and the jobs continue from there.
    """
    outcomes: list[Outcome] = []
    for number in range(_PREFETCH_ROUNDS + 1):
        remaining = jobs[len(outcomes) :]
        may_defer = number < _PREFETCH_ROUNDS and len(remaining) > 1
        for position, job in enumerate(remaining):
            outcome = _run_job(transaction, job, may_defer)
            if outcome is None:
                for other in remaining[position + 1 :]:
                    transaction.dry_run(other.work)
                transaction.run_deferred_lookups()
                break
            outcomes.append(outcome)
    return outcomes


def _run_job(transaction: PostgresTransaction, job: Job, may_defer: bool) -> Outcome | None:
    """Run a job; return None if it must be run again after the deferred look-ups."""
    try:
        with transaction.attempt():
            if not may_defer:
                return Outcome(job, job.work(transaction))
            with transaction.defer_lookups():
                return Outcome(job, job.work(transaction))
    except PrefetchNeeded:
        return None
    except psycopg.Error:
        raise
    except Exception as problem:
        return Outcome(job, problem=problem)


def _run_job_in_savepoint(transaction: PostgresTransaction, job: Job, is_last: bool) -> Outcome:
    """Run a job and send its writes before the next one begins, so that an error is known to be its own."""
    try:
        with transaction.attempt():
            value = job.work(transaction)
        return Outcome(job, value)
    except _CONFLICTS as problem:
        if not is_last:
            raise
        return Outcome(job, problem=to_store_error(problem))
    except _WORK_ERRORS as problem:
        return Outcome(job, problem=to_store_error(problem))
    except psycopg.Error:
        raise
    except Exception as problem:
        return Outcome(job, problem=problem)


def _fail_all(jobs: list[Job], problem: BaseException) -> list[Outcome]:
    return [Outcome(job, problem=problem) for job in jobs]
