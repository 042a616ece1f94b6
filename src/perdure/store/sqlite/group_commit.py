"""The group commit: one transaction and one fsync for the works of many callers."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final
from uuid import uuid4

import apsw

from perdure.errors import PerdureError, StoreSealed
from perdure.store.commit_mark import LINEAGE, CommitMarkFile
from perdure.store.sqlite.connection import to_store_error
from perdure.store.sqlite.reader import READ_ONLY_FACT
from perdure.store.sqlite.transaction import SavepointNeeded, SqliteTransaction
from perdure.store.writer import Job, Outcome

LARGEST_GROUP: Final = 256


class GroupCommit:
    """Runs a group of works in one transaction. A work that fails is rolled back alone.

    Nearly all works that fail have written nothing by then, and nearly all new names are free. So the first run has no
    savepoints and does not look names up. If that assumption fails, the group is rolled back and run again with both.
    After a disk or file error, SQLite may have rolled the whole transaction back: then all works have failed.
    """

    def __init__(self, connection: apsw.Connection, transaction: SqliteTransaction, mark: CommitMarkFile) -> None:
        self._connection = connection
        self._transaction = transaction
        self._mark = mark
        self._is_marked = False  # whether the database is known to have a lineage and its mark file

    def __call__(self, jobs: list[Job]) -> list[Outcome]:
        try:
            try:
                return self._run_group(jobs, self._run_job)
            except SavepointNeeded:
                self._connection.execute("ROLLBACK")
                return self._run_with_savepoints(jobs)
        except apsw.Error as problem:
            system_errno = self._connection.system_errno
            self._roll_back()
            return [Outcome(job, problem=to_store_error(problem, system_errno)) for job in jobs]
        except PerdureError as problem:
            self._roll_back()
            return [Outcome(job, problem=problem) for job in jobs]
        except BaseException:
            self._roll_back()
            raise

    def _run_with_savepoints(self, jobs: list[Job]) -> list[Outcome]:
        self._transaction.checks_names = True
        try:
            return self._run_group(jobs, self._run_job_in_savepoint)
        finally:
            self._transaction.checks_names = False

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(apsw.Error):  # every caller must get a result
                self._connection.execute("ROLLBACK")

    def _run_group(self, jobs: list[Job], attempt: Callable[[Job], Outcome]) -> list[Outcome]:
        self._connection.execute("BEGIN IMMEDIATE")
        self._transaction.reset()
        if (reason := self._transaction.fact(READ_ONLY_FACT)) is not None:
            self._connection.execute("ROLLBACK")
            return [Outcome(job, problem=StoreSealed(reason)) for job in jobs]
        if not self._is_marked:
            self._begin_lineage()
        self._transaction.prefetch_persons([job.prefetch for job in jobs if job.prefetch is not None])
        outcomes = [attempt(job) for job in jobs]
        self._transaction.finish()
        tip = self._transaction.tip()
        self._connection.execute("COMMIT")
        self._is_marked = True
        self._mark.record_commit(*tip)
        return outcomes

    def _begin_lineage(self) -> None:
        """Find the mark file of this database, or create one before the database refers to it."""
        known = self._transaction.fact(LINEAGE)
        lineage = known or self._mark.lineage or uuid4().hex
        self._mark.create(lineage)
        if known is None:
            self._transaction.put_fact(LINEAGE, lineage)

    def _run_job(self, job: Job) -> Outcome:
        before = self._transaction.position()
        outcome = self._run_work(job)
        if outcome.problem is not None and not self._transaction.roll_back_to(before):
            raise SavepointNeeded
        return outcome

    def _run_job_in_savepoint(self, job: Job) -> Outcome:
        self._connection.execute("SAVEPOINT work")
        outcome = self._run_work(job, self._transaction.flush)
        if outcome.problem is not None:
            self._connection.execute("ROLLBACK TO work")
            self._transaction.reset()
        self._connection.execute("RELEASE work")
        return outcome

    def _run_work(self, job: Job, afterwards: Callable[[], None] = lambda: None) -> Outcome:
        try:
            value = job.work(self._transaction)
            afterwards()
            return Outcome(job, value)
        except apsw.ConstraintError as problem:
            return Outcome(job, problem=to_store_error(problem))
        except (apsw.Error, SavepointNeeded):
            raise
        except Exception as problem:
            return Outcome(job, problem=problem)
