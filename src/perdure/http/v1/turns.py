"""Whose turn it is: a few imports of one process at a time, and one of each agent, so that nobody takes all turns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from perdure.http.refusals import TookTooLong


class Turns:
    """`most` may go on at once."""

    def __init__(self, most: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # for as long as one is waited for

    @asynccontextmanager
    async def turn(self, agent: str, patience: float) -> AsyncIterator[None]:
        """What is done inside is done in turn; TookTooLong, if that does not come within `patience` seconds."""
        own = self._own.setdefault(agent, asyncio.Lock())
        try:
            async with asyncio.timeout(patience):
                await own.acquire()
                try:
                    await self._all.acquire()
                except BaseException:
                    own.release()
                    raise
        except TimeoutError:
            raise TookTooLong() from None
        try:
            yield
        finally:
            self._all.release()
            own.release()
