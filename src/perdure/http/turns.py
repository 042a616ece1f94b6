"""Turns of costly work: a few are done at a time, and one client has a bounded number of them waiting."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from perdure.http.addresses import network_of
from perdure.http.refusals import TooBusy, TooManyAtOnce


class Turns:
    """`at_once` are done at a time; of one client `each` may wait besides, and of all clients `most`."""

    def __init__(self, what: str, *, at_once: int, each: int, most: int) -> None:
        self._what = what
        self._free = asyncio.Semaphore(at_once)
        self._each = each
        self._most = most
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncIterator[None]:
        """Wait for a turn.

        Raise TooManyAtOnce if this client has as much work waiting as it may, and TooBusy if all clients together do.
        """
        network = network_of(client)
        if self._free.locked():
            if self._waiting[network] >= self._each:
                raise TooManyAtOnce(self._what)
            if self._waiting.total() >= self._most:
                raise TooBusy(self._what)
        self._waiting[network] += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting[network] -= 1
            if not self._waiting[network]:
                del self._waiting[network]
        try:
            yield
        finally:
            self._free.release()
