"""One look at the clock for all connections, several times a second.

A timer for every request costs as much as the request. So connections only note until when they may take, in terms of a
clock that moves with the pulse, and whoever is past that is told.
"""

import asyncio
from collections.abc import Collection
from math import inf
from typing import Final, Protocol

_EVERY: Final = 0.1  # seconds


class Timed(Protocol):
    """Something that may take until its deadline."""

    deadline: float

    def overdue(self) -> None: ...


class Pulse:
    """`now` is the time of the last beat."""

    def __init__(self) -> None:
        self.now = asyncio.get_running_loop().time()
        self.connections: Collection[Timed] = ()  # the server's own set, once there is one
        self.limits: set[Limit] = set()

    async def beat(self) -> None:
        """Until it is cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_EVERY)
            self.now = now = clock()
            for timed in [one for many in (self.connections, self.limits) for one in many if one.deadline < now]:
                timed.deadline = inf
                timed.overdue()

    def let_go(self) -> None:
        """The limits of what is going on hold no longer: it is timed otherwise from now on."""
        task = asyncio.current_task()
        for limit in self.limits:
            if limit.is_of(task):
                limit.deadline = inf


class Limit:
    """As `asyncio.timeout`, for a tenth of its cost: TimeoutError, if what is done within it takes longer."""

    __slots__ = ("_cancelling", "_is_overdue", "_pulse", "_task", "deadline")

    def __init__(self, pulse: Pulse, seconds: float) -> None:
        self._pulse = pulse
        self.deadline = pulse.now + _EVERY + seconds  # the last beat may be that long ago: nobody is cut off early
        self._is_overdue = False

    def __enter__(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (only tasks can be stopped)
        self._task = task
        self._cancelling = task.cancelling()
        self._pulse.limits.add(self)

    def is_of(self, task: asyncio.Task[object] | None) -> bool:
        return self._task is task

    def overdue(self) -> None:
        self._is_overdue = True
        self._task.cancel()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pulse.limits.discard(self)
        if self._is_overdue and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError
