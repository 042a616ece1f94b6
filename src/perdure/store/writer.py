"""The writer thread: gathers the work that is waiting into one transaction, so that one fsync serves many callers."""

import asyncio
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from perdure.errors import StoreUnavailable
from perdure.registry.protocol import Foreseen


class Job(NamedTuple):
    """Work that somebody waits for; what it is given is the engine's own kind of transaction."""

    work: Callable[[Any], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    foreseen: Foreseen | None = None


class Outcome(NamedTuple):
    job: Job
    value: Any = None
    problem: BaseException | None = None


class Writer:
    """One thread, first come first served. `commit` does all of a group durably, and never raises.

    `afterwards` is for what can wait until a group has its answers; it never raises either.
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
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="perdure-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[Any], Any], foreseen: Foreseen | None = None) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._door:
            if self._closing:
                raise StoreUnavailable("the registry is closing: nothing was written")
            self._jobs.put(Job(work, loop, future, foreseen))
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
            while len(waiting) < self._largest_group:
                try:
                    waiting.append(self._jobs.get_nowait())
                except Empty:
                    break
            jobs = [job for job in waiting if job is not None]
            going_on = len(jobs) == len(waiting)
            if jobs:
                _answer(self._outcomes(jobs))
                self._afterwards()

    def _outcomes(self, jobs: list[Job]) -> list[Outcome]:
        try:
            return self._commit(jobs)
        except BaseException as problem:  # nobody may be left waiting, whatever happens here
            failure = StoreUnavailable(f"the writer failed: {problem!r}; nothing was written")
            return [Outcome(job, problem=failure) for job in jobs]


def _answer(outcomes: list[Outcome]) -> None:
    """Tell each event loop once, however many of its callers were served."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        by_loop.setdefault(outcome.job.loop, []).append(outcome)
    for loop, its in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, its)
        except RuntimeError:  # the loop is gone, and with it everybody who was waiting; the work is durable
            continue


def _resolve(outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        future = outcome.job.future
        if future.cancelled():
            continue
        if isinstance(outcome.problem, StopIteration):  # which no future takes
            future.set_exception(RuntimeError("the work raised StopIteration"))
        elif outcome.problem is not None:
            future.set_exception(outcome.problem)
        else:
            future.set_result(outcome.value)
