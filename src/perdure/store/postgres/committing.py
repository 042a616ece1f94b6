"""One group of works, one transaction, one fsync; and what became of it when the answer is lost.

The works run together, without savepoints, and what they write is sent together at the end. Where that does not go
through (somebody else took a name, one of them was refused half-way, a row is needed out of turn), everything is
undone and they run again, with more care.

A connection that is lost *before* the commit has changed nothing, so the group simply runs again. One that is lost
*during* the commit may have: then a new connection asks for the number of this process's last commit, in a row that
the lost transaction has locked, so that the answer comes when that has ended, one way or the other.
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
from perdure.store.postgres.connection import Connection, translated
from perdure.store.postgres.line import Line
from perdure.store.postgres.locks import Again, Care, Lock, Locks
from perdure.store.postgres.questions import Needed
from perdure.store.postgres.writing import PostgresTransaction
from perdure.store.writer import Job, Outcome

LARGEST_GROUP: Final = 256

_MOST_SAVEPOINTS: Final = 60  # more than 64 in one transaction would slow down every other reader of the database
_ROUNDS: Final = 3  # in which the works of a group gather what they need to know, before each asks for itself
_TRIES: Final = 8
_PAUSE: Final = 0.01  # seconds; times the number of the try, and a random factor
_OUR_FAULT: Final = (pg.IntegrityError, pg.DataError, pg.ProgramLimitExceeded)  # of one work, or of two at once
_CHANCES: Final = (pg.UniqueViolation, pg.SerializationFailure, pg.DeadlockDetected)

# The number and the seal are one row of this process alone, so that nobody waits for anybody here.
_BEGIN: Final = (
    "UPDATE writers SET serial = %s, seen = now() WHERE id = %s AND NOT sealed "
    "RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
)
_REGISTER: Final = (
    "INSERT INTO writers (id, serial, sealed) SELECT %s, 0, value <> '' FROM guards WHERE name = 'sealed'"
)
_SETTLE: Final = "SELECT serial FROM writers WHERE id = %s FOR UPDATE"
_UNKNOWN: Final = (
    "the database was lost while it was keeping this, and has not come back within settle_seconds: "
    "it may be there or not. Look it up before you try again"
)


class GroupCommit:
    """The commits of one process, one after the other."""

    def __init__(self, line: Line, marks: HighWater, mark: CommitMarkFile, settle_seconds: float) -> None:
        self._line = line
        self._marks = marks
        self._mark = mark
        self._settle_seconds = settle_seconds
        self._serial = 0
        self._added = 0
        self._writer: str | None = None

    def __call__(self, jobs: list[Job], care: Care = Care.NONE) -> list[Outcome]:
        try:
            return self._done(jobs, care)
        except psycopg.Error as problem:
            return _all_refused(jobs, translated(problem))
        except PerdureError as problem:
            return _all_refused(jobs, problem)
        finally:
            self._line.end_transaction()

    def _done(self, jobs: list[Job], care: Care) -> list[Outcome]:
        locks: frozenset[Lock] = frozenset()
        for number in range(1, _TRIES + 1):
            is_last = number == _TRIES
            if care == Care.SAVEPOINTS and len(jobs) > _MOST_SAVEPOINTS:
                some = range(0, len(jobs), _MOST_SAVEPOINTS)
                return [one for start in some for one in self(jobs[start : start + _MOST_SAVEPOINTS], care)]
            try:
                return self._together(jobs, locks, care, is_last)
            except Again as again:
                locks, care = locks | again.locks, max(care, again.care)
            except (*_OUR_FAULT, *_CHANCES):
                if is_last:
                    raise
                care = Care.SAVEPOINTS
            except psycopg.OperationalError:
                if is_last or not self._line.was_lost:
                    raise
            self._line.end_transaction()
            if number > 1:
                time.sleep(random.uniform(0, _PAUSE * number))  # noqa: S311  (nothing secret about it)
        raise StoreUnavailable("other programs were in the way all the time: nothing was written", safe_to_retry=True)

    def _together(self, jobs: list[Job], beforehand: frozenset[Lock], care: Care, is_last: bool) -> list[Outcome]:
        connection = self._line.connection()
        writer, serial = self._registered(connection), self._serial + 1
        with connection.pipeline():  # one journey
            connection.execute("BEGIN")
            begun = connection.execute(_BEGIN, (serial, writer))
        row = begun.fetchone()
        if row is None:
            self._why_not(connection)
        self._added = max(self._added, row[0])
        locks = Locks(connection, beforehand)
        transaction = PostgresTransaction(connection, self._marks, locks, writer, self._added, care, is_last)
        if care == Care.SAVEPOINTS:
            outcomes = [_attempt_alone(transaction, job, is_last) for job in jobs]
        else:
            outcomes = _attempt_together(transaction, jobs)
        transaction.flush()
        locks.check()
        self._commit(connection, writer, serial)
        self._mark.reach(*transaction.reached)
        self._serial, self._added = serial, transaction.added
        return outcomes

    def _commit(self, connection: Connection, writer: str, serial: int) -> None:
        try:
            answer = connection.execute("COMMIT", prepare=False).statusmessage
        except psycopg.OperationalError:
            if not self._line.was_lost:
                raise
            if self._was_committed(writer, serial):
                return
            raise Again from None  # nothing was kept, for certain
        if answer != "COMMIT":  # somebody swallowed an error, and the server has undone it all
            raise Again(care=Care.SAVEPOINTS)

    def _was_committed(self, writer: str, serial: int) -> bool:
        """Look it up. As long as nobody can be asked, nothing is known."""
        until = time.monotonic() + self._settle_seconds
        while True:
            try:
                connection = self._line.connection()
                with connection.transaction():
                    row = connection.execute(_SETTLE, (writer,)).fetchone()
                break
            except (psycopg.Error, StoreUnavailable) as problem:
                self._line.end_transaction()
                if time.monotonic() > until:
                    self._writer = None  # under a new name: nothing of this one is ever asked again
                    raise OutcomeUnknown(_UNKNOWN) from problem
                time.sleep(0.2)
        if row is None:  # the database was replaced by another meanwhile
            self._writer = None
            raise OutcomeUnknown(_UNKNOWN)
        return int(row[0]) == serial

    def _registered(self, connection: Connection) -> str:
        """This process's own row, made once; locking the seal makes sure that a sealing cannot pass it by."""
        if self._writer is None:
            writer = uuid4().hex
            with connection.transaction():
                connection.execute("SELECT value FROM guards WHERE name = 'sealed' FOR SHARE")
                connection.execute("DELETE FROM writers WHERE seen < now() - interval '90 days' AND NOT sealed")
                connection.execute(_REGISTER, (writer,))
            self._writer, self._serial = writer, 0
        return self._writer

    def _why_not(self, connection: Connection) -> NoReturn:
        """The process's own row is sealed; or gone, where this process has slept for months: then it gets another."""
        connection.execute("ROLLBACK")
        row = connection.execute("SELECT value FROM guards WHERE name = 'sealed'").fetchone()
        if row is not None and row[0]:
            raise StoreSealed(row[0])
        self._writer = None
        raise Again


def _attempt_together(transaction: PostgresTransaction, jobs: list[Job]) -> list[Outcome]:
    """One after the other, in their order. When one needs to know something, those behind it are run as scouts.

    What all of them need is then asked at once, and they go on from there.
    """
    outcomes: list[Outcome] = []
    for number in range(_ROUNDS + 1):
        left = jobs[len(outcomes) :]
        may_postpone = number < _ROUNDS and len(left) > 1
        for at, job in enumerate(left):
            outcome = _attempt(transaction, job, may_postpone)
            if outcome is None:
                for other in left[at + 1 :]:
                    transaction.scout(other.work)
                transaction.ask_what_was_needed()
                break
            outcomes.append(outcome)
    return outcomes


def _attempt(transaction: PostgresTransaction, job: Job, may_postpone: bool) -> Outcome | None:
    """None: it must be run again when more is known."""
    try:
        with transaction.attempt():
            if not may_postpone:
                return Outcome(job, job.work(transaction))
            with transaction.postponing():
                return Outcome(job, job.work(transaction))
    except Needed:
        return None
    except psycopg.Error:
        raise
    except Exception as problem:
        return Outcome(job, problem=problem)


def _attempt_alone(transaction: PostgresTransaction, job: Job, is_last: bool) -> Outcome:
    """What the work writes is sent before the next one begins, so that a refusal is its own."""
    try:
        with transaction.attempt():
            value = job.work(transaction)
        return Outcome(job, value)
    except _CHANCES as problem:
        if not is_last:
            raise
        return Outcome(job, problem=translated(problem))
    except _OUR_FAULT as problem:
        return Outcome(job, problem=translated(problem))
    except psycopg.Error:
        raise
    except Exception as problem:
        return Outcome(job, problem=problem)


def _all_refused(jobs: list[Job], problem: BaseException) -> list[Outcome]:
    return [Outcome(job, problem=problem) for job in jobs]
