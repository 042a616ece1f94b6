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

    async def beat(self) -> None:
        """Until it is cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(_EVERY)
            self.now = now = clock()
            for connection in [one for one in self.connections if one.deadline < now]:
                connection.deadline = inf
                connection.overdue()
