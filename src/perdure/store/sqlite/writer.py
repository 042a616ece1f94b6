"""The writer thread: gathers the work that is waiting into one transaction, so that one fsync serves many callers."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple

import apsw

from perdure.errors import StoreUnavailable
from perdure.store.sqlite.connection import translated
from perdure.store.sqlite.writing import SqliteTransaction

_LARGEST_GROUP: Final = 256


class _Job(NamedTuple):
    work: Callable[[SqliteTransaction], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"


class _WroteBeforeRefusal(Exception):
    """Work was refused half-way."""


class _Outcome(NamedTuple):
    job: _Job
    value: Any = None
    problem: BaseException | None = None


class Writer:
    """One thread, one connection, first come first served."""

    def __init__(self, connection: apsw.Connection, transaction: SqliteTransaction) -> None:
        self._connection = connection
        self._transaction = transaction
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._closing = False
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="perdure-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[SqliteTransaction], Any]) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._door:
            if self._closing:
                raise StoreUnavailable("the registry is closing: nothing was written")
            self._jobs.put(_Job(work, loop, future))
        return future

    def close(self) -> None:
        """Finish what was submitted, then end."""
        with self._door:  # nobody is let in behind the last
            self._closing = True
            self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        going_on = True
        while going_on:
            waiting = [self._jobs.get()]
            while len(waiting) < _LARGEST_GROUP:
                try:
                    waiting.append(self._jobs.get_nowait())
                except Empty:
                    break
            jobs = [job for job in waiting if job is not None]
            going_on = len(jobs) == len(waiting)
            if jobs:
                _answer(self._outcomes(jobs))

    def _outcomes(self, jobs: list[_Job]) -> list[_Outcome]:
        try:
            return self._commit(jobs)
        except BaseException as problem:  # nobody may be left waiting, whatever happens here
            with suppress(apsw.Error):
                self._connection.execute("ROLLBACK")
            failure = StoreUnavailable(f"the writer failed: {problem!r}; nothing was written")
            return [_Outcome(job, problem=failure) for job in jobs]

    def _commit(self, jobs: list[_Job]) -> list[_Outcome]:
        """Everything in one transaction; a refusal undoes its own work only.

        Nearly all work that is refused has written nothing by then, so savepoints are made only when one has: the
        group is undone and run again with one for each. When the disk or the file is at fault, SQLite may have undone
        the whole transaction: then all have failed.
        """
        try:
            try:
                return self._together(jobs, self._attempt)
            except _WroteBeforeRefusal:
                self._connection.execute("ROLLBACK")
                return self._together(jobs, self._attempt_with_savepoint)
        except apsw.Error as problem:
            system_errno = self._connection.system_errno
            if self._connection.in_transaction:
                with suppress(apsw.Error):  # nobody may be left waiting because of it
                    self._connection.execute("ROLLBACK")
            return [_Outcome(job, problem=translated(problem, system_errno)) for job in jobs]

    def _together(self, jobs: list[_Job], attempt: Callable[[_Job], _Outcome]) -> list[_Outcome]:
        self._connection.execute("BEGIN IMMEDIATE")
        self._transaction.begun()
        outcomes = [attempt(job) for job in jobs]
        self._connection.execute("COMMIT")
        return outcomes

    def _attempt(self, job: _Job) -> _Outcome:
        before = self._connection.total_changes()
        outcome = self._run_work(job)
        if outcome.problem is not None and self._connection.total_changes() != before:
            raise _WroteBeforeRefusal
        return outcome

    def _attempt_with_savepoint(self, job: _Job) -> _Outcome:
        self._connection.execute("SAVEPOINT work")
        outcome = self._run_work(job)
        if outcome.problem is not None:
            self._connection.execute("ROLLBACK TO work")
            self._transaction.begun()
        self._connection.execute("RELEASE work")
        return outcome

    def _run_work(self, job: _Job) -> _Outcome:
        try:
            return _Outcome(job, job.work(self._transaction))
        except apsw.ConstraintError as problem:
            return _Outcome(job, problem=translated(problem))
        except apsw.Error:
            raise
        except Exception as problem:
            return _Outcome(job, problem=problem)


def _answer(outcomes: list[_Outcome]) -> None:
    """Tell each event loop once, however many of its callers were served."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome.job.loop, []).append(outcome)
    for loop, its in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, its)
        except RuntimeError:  # the loop is gone, and with it everybody who was waiting; the work is durable
            continue


def _resolve(outcomes: list[_Outcome]) -> None:
    for outcome in outcomes:
        future = outcome.job.future
        if future.cancelled():
            continue
        if outcome.problem is not None:
            future.set_exception(outcome.problem)
        else:
            future.set_result(outcome.value)
