"""The writer thread: commits the work of all waiting callers in one transaction, so that they share one fsync."""

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from perdure.errors import StoreUnavailable
from perdure.registry.store_interface import Prefetch


class Job(NamedTuple):
    """Work that a caller waits for. Its argument is the engine's own transaction."""

    work: Callable[[Any], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    prefetch: Prefetch | None = None


class Outcome(NamedTuple):
    job: Job
    value: Any = None
    problem: BaseException | None = None


class Writer:
    """A thread that runs jobs in the order of their submission. `commit` runs a group durably, and never raises.

    `afterwards` runs when the callers of a group have their results. It never raises either.
    """

    def __init__(
        self,
        commit: Callable[[list[Job]], list[Outcome]],
        largest_group: int,
        afterwards: Callable[[], None] = lambda: None,
    ) -> None:
        self._commit = commit
        self._afterwards = afterwards
        self._largest_group = largest_group
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._closing = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="perdure-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Any], Any], prefetch: Prefetch | None = None) -> "asyncio.Future[Any]":
        """Let the thread run this work, in the context of the caller."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = copy_context()

        def in_context(transaction: Any) -> Any:
            return context.run(work, transaction)

        with self._lock:
            if self._closing:
                raise StoreUnavailable("the registry is being closed: nothing was written")
            self._jobs.put(Job(in_context, loop, future, prefetch))
        return future

    def close(self) -> None:
        """Run the jobs that were submitted, then end the thread."""
        with self._lock:  # no job is accepted after the last one
            self._closing = True
            self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_running = True
        while is_running:
            waiting = [self._jobs.get()]
            while len(waiting) < self._largest_group:
                try:
                    waiting.append(self._jobs.get_nowait())
                except Empty:
                    break
            jobs = [job for job in waiting if job is not None]
            is_running = len(jobs) == len(waiting)
            if jobs:
                _deliver_outcomes(self._commit_jobs(jobs))
                self._afterwards()

    def _commit_jobs(self, jobs: list[Job]) -> list[Outcome]:
        try:
            return self._commit(jobs)
        except BaseException as problem:  # every caller must get a result
            failure = StoreUnavailable(f"the writer failed: {problem!r}; nothing was written")
            return [Outcome(job, problem=failure) for job in jobs]


def _deliver_outcomes(outcomes: list[Outcome]) -> None:
    """Wake each event loop once, however many of its callers have a result."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome.job.loop, []).append(outcome)
    for loop, group in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve_futures, group)
        except RuntimeError:  # the loop is closed, and its callers are gone; the work is durable
            continue


def _resolve_futures(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        future = outcome.job.future
        if future.cancelled():
            continue
        if isinstance(outcome.problem, StopIteration):  # a future does not accept it
            future.set_exception(RuntimeError("the work raised StopIteration"))
        elif outcome.problem is not None:
            future.set_exception(outcome.problem)
        else:
            future.set_result(outcome.value)
