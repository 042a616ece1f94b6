"""Deadlines of connections and requests, by one coarse timer.

A timer for every request costs as much as the request. So connections only store a deadline, which is compared with the
clock several times a second.
"""

import asyncio
from collections.abc import Collection
from math import inf
from typing import Final, Protocol

_INTERVAL: Final = 0.1  # seconds


class HasDeadline(Protocol):
    """An object that is notified when its deadline has passed."""

    deadline: float

    def on_timeout(self) -> None: ...


class DeadlineTimer:
    """The timer of one process. `now` is the time of its last tick."""

    def __init__(self) -> None:
        self.now = asyncio.get_running_loop().time()
        self.connections: Collection[HasDeadline] = ()  # the set of the server, once it has one
        self.timeouts: set[Timeout] = set()

    async def run(self) -> None:
        """Check all deadlines periodically, until it is cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_INTERVAL)
            self.now = now = clock()
            for timed in [one for many in (self.connections, self.timeouts) for one in many if one.deadline < now]:
                timed.deadline = inf
                timed.on_timeout()

    def disarm_current_task(self) -> None:
        """Remove the timeouts of the current task, which is timed in another way from now on."""
        task = asyncio.current_task()
        for limit in self.timeouts:
            if limit.belongs_to(task):
                limit.deadline = inf

    def extend_current_task(self, seconds: float) -> None:
        """Let the timeouts of the current task end this many seconds from now: it waits for a known time."""
        task = asyncio.current_task()
        deadline = asyncio.get_running_loop().time() + _INTERVAL + seconds
        for limit in self.timeouts:
            if limit.belongs_to(task):
                limit.deadline = max(limit.deadline, deadline)


class Timeout:
    """A timeout like `asyncio.timeout`, at a tenth of the cost. It raises TimeoutError."""

    __slots__ = ("_cancelling", "_is_overdue", "_task", "_timer", "deadline")

    def __init__(self, timer: DeadlineTimer, seconds: float) -> None:
        self._timer = timer
        self.deadline = timer.now + _INTERVAL + seconds  # the last tick may be that long ago
        self._is_overdue = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (only tasks can be cancelled)
        self._task = task
        self._cancelling = task.cancelling()
        self._timer.timeouts.add(self)

    def belongs_to(self, task: asyncio.Task[object] | None) -> bool:
        """Return whether this is a timeout of the task."""
        return self._task is task

    def on_timeout(self) -> None:
        """Cancel the task."""
        self._is_overdue = True
        self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._timer.timeouts.discard(self)
        if self._is_overdue and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError
