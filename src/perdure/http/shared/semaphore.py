"""Concurrency limits: a bounded amount of work is done at a time, and each client has a bounded number of requests."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from perdure.http.shared.http_errors import ClientDisconnected, RequestTimeout, ServerBusy, TooManyConcurrentRequests
from perdure.http.shared.proxy_headers import client_network


class _Limiter:
    """A semaphore for `at_once` requests, and the number of requests of each source, at most `each`."""

    def __init__(self, what: str, source: str, *, at_once: int, each: int) -> None:
        self._what = what
        self._source = source
        self._free = asyncio.Semaphore(at_once)
        self._each = each
        self._requests: Counter[str] = Counter()

    def _check_requests(self, key: str) -> None:
        if self._requests[key] >= self._each:
            raise TooManyConcurrentRequests(self._what, self._source)

    @contextmanager
    def _count_request(self, key: str) -> Iterator[None]:
        self._requests[key] += 1
        try:
            yield
        finally:
            self._requests[key] -= 1
            if not self._requests[key]:
                del self._requests[key]


class ConcurrencyLimiter(_Limiter):
    """A limit for short work: `at_once` run at a time; `each` of one client and `most` of all clients may wait."""

    def __init__(self, what: str, *, at_once: int, each: int, most: int) -> None:
        super().__init__(what, "client", at_once=at_once, each=each)
        self._most = most

    @asynccontextmanager
    async def slot(self, client: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it.

        Raise TooManyConcurrentRequests if too many requests of this client wait, and ServerBusy if too many of all
        clients do.
        """
        network = client_network(client)
        if self._free.locked():
            self._check_requests(network)
            if self._requests.total() >= self._most:
                raise ServerBusy(self._what)
        with self._count_request(network):
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()


class BulkLimiter(_Limiter):
    """A limit for long requests: `at_once` are processed at a time, one per agent; an agent may have `each` open."""

    def __init__(self, what: str, *, at_once: int, each: int) -> None:
        super().__init__(what, "agent", at_once=at_once, each=each)
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of agents with open requests

    @contextmanager
    def open_slot(self, agent: str) -> Iterator["BulkSlot"]:
        """Yield a slot for a request of an agent.

        Raise TooManyConcurrentRequests if the agent has too many open requests.
        """
        self._check_requests(agent)
        slot = BulkSlot(self._locks.setdefault(agent, asyncio.Lock()), self._free)
        with self._count_request(agent):
            try:
                yield slot
            finally:
                slot.close()


class BulkSlot:
    """The slot of one long request, which acquires it for each part of its body and releases it between them."""

    def __init__(self, agent_lock: asyncio.Lock, free: asyncio.Semaphore) -> None:
        self._agent_lock = agent_lock
        self._free = free
        self._is_held = False
        self._is_closed = False

    async def acquire(self, patience: float) -> None:
        """Wait for the slot, first come first served. Raise RequestTimeout after `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                await self._agent_lock.acquire()
                try:
                    await self._free.acquire()
                except BaseException:
                    self._agent_lock.release()
                    raise
        except TimeoutError:
            raise RequestTimeout(is_write=True) from None
        self._is_held = True
        if self._is_closed:  # the request ended while it waited
            self.release()
            raise ClientDisconnected()

    def release(self) -> None:
        """Let the next request acquire the slot."""
        if self._is_held:
            self._is_held = False
            self._free.release()
            self._agent_lock.release()

    def close(self) -> None:
        """Release the slot. It cannot be acquired again."""
        self._is_closed = True
        self.release()
