"""One group of works, one transaction, one fsync."""

from collections.abc import Callable
from contextlib import suppress
from typing import Final
from uuid import uuid4

import apsw

from perdure.errors import PerdureError, StoreSealed
from perdure.store.commit_mark import LINEAGE, CommitMarkFile
from perdure.store.sqlite.connection import translated
from perdure.store.sqlite.reading import SEALED
from perdure.store.sqlite.writing import CareNeeded, SqliteTransaction
from perdure.store.writer import Job, Outcome

LARGEST_GROUP: Final = 256


class GroupCommit:
    """Everything in one transaction; a refusal undoes its own work only.

    Nearly all work that is refused has written nothing by then, and nearly all new names are free. So savepoints are
    made, and names looked for, only when that was not so: the group is undone and run again with care. When the disk
    or the file is at fault, SQLite may have undone the whole transaction: then all have failed.
    """

    def __init__(self, connection: apsw.Connection, transaction: SqliteTransaction, mark: CommitMarkFile) -> None:
        self._connection = connection
        self._transaction = transaction
        self._mark = mark
        self._is_marked = False  # whether the database is known to name its mark

    def __call__(self, jobs: list[Job]) -> list[Outcome]:
        try:
            try:
                return self._together(jobs, self._attempt)
            except CareNeeded:
                self._connection.execute("ROLLBACK")
                return self._carefully(jobs)
        except apsw.Error as problem:
            system_errno = self._connection.system_errno
            self._undo()
            return [Outcome(job, problem=translated(problem, system_errno)) for job in jobs]
        except PerdureError as problem:
            self._undo()
            return [Outcome(job, problem=problem) for job in jobs]
        except BaseException:
            self._undo()
            raise

    def _carefully(self, jobs: list[Job]) -> list[Outcome]:
        self._transaction.is_careful = True
        try:
            return self._together(jobs, self._attempt_with_savepoint)
        finally:
            self._transaction.is_careful = False

    def _undo(self) -> None:
        if self._connection.in_transaction:
            with suppress(apsw.Error):  # nobody may be left waiting because of it
                self._connection.execute("ROLLBACK")

    def _together(self, jobs: list[Job], attempt: Callable[[Job], Outcome]) -> list[Outcome]:
        self._connection.execute("BEGIN IMMEDIATE")
        self._transaction.begun()
        if (reason := self._transaction.fact(SEALED)) is not None:
            self._connection.execute("ROLLBACK")
            return [Outcome(job, problem=StoreSealed(reason)) for job in jobs]
        if not self._is_marked:
            self._begin_lineage()
        self._transaction.foresee([job.foreseen for job in jobs if job.foreseen is not None])
        outcomes = [attempt(job) for job in jobs]
        self._transaction.finish()
        tip = self._transaction.tip()
        self._connection.execute("COMMIT")
        self._is_marked = True
        self._mark.reach(*tip)
        return outcomes

    def _begin_lineage(self) -> None:
        """Find the mark that belongs to this database, or make one before the database says that there is one."""
        known = self._transaction.fact(LINEAGE)
        lineage = known or self._mark.lineage or uuid4().hex
        self._mark.create(lineage)
        if known is None:
            self._transaction.put_fact(LINEAGE, lineage)

    def _attempt(self, job: Job) -> Outcome:
        before = self._transaction.position()
        outcome = self._run_work(job)
        if outcome.problem is not None and not self._transaction.go_back(before):
            raise CareNeeded
        return outcome

    def _attempt_with_savepoint(self, job: Job) -> Outcome:
        self._connection.execute("SAVEPOINT work")
        outcome = self._run_work(job, self._transaction.settle)
        if outcome.problem is not None:
            self._connection.execute("ROLLBACK TO work")
            self._transaction.begun()
        self._connection.execute("RELEASE work")
        return outcome

    def _run_work(self, job: Job, afterwards: Callable[[], None] = lambda: None) -> Outcome:
        try:
            value = job.work(self._transaction)
            afterwards()
            return Outcome(job, value)
        except apsw.ConstraintError as problem:
            return Outcome(job, problem=translated(problem))
        except (apsw.Error, CareNeeded):
            raise
        except Exception as problem:
            return Outcome(job, problem=problem)
