"""Turns of bulk bodies: a turn is held while there is something to work on, and never while a client sends."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from perdure.http.refusals import ClientGone, TookTooLong, TooManyAtOnce


class _Agent:
    """The bodies of one agent: how many are under way, and the one that is worked on."""

    def __init__(self) -> None:
        self.bodies = 0
        self.working = asyncio.Lock()


class Turn:
    """The turn of one body, which is taken and left again for each part of it."""

    def __init__(self, agent: _Agent, free: asyncio.Semaphore) -> None:
        self._agent = agent
        self._free = free
        self._is_held = False
        self._is_over = False

    async def take(self, patience: float) -> None:
        """Wait for the turn, first come first served; TookTooLong after `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                await self._agent.working.acquire()
                try:
                    await self._free.acquire()
                except BaseException:
                    self._agent.working.release()
                    raise
        except TimeoutError:
            raise TookTooLong(is_write=True) from None
        self._is_held = True
        if self._is_over:  # the request has ended meanwhile
            self.leave()
            raise ClientGone()

    def leave(self) -> None:
        """Let the next one take the turn."""
        if self._is_held:
            self._is_held = False
            self._free.release()
            self._agent.working.release()

    def end(self) -> None:
        """Leave the turn for good."""
        self._is_over = True
        self.leave()


class BulkTurns:
    """Bulk bodies of one process: `most` are worked on at once, one of each agent, which may have sent `each`."""

    def __init__(self, most: int, each: int) -> None:
        self._free = asyncio.Semaphore(most)
        self._each = each
        self._agents: WeakValueDictionary[str, _Agent] = WeakValueDictionary()  # those with bodies under way

    @contextmanager
    def begin(self, agent: str) -> Iterator[Turn]:
        """Give a body of an agent its turn; TooManyAtOnce, if the agent has enough bodies under way."""
        own = self._agents.setdefault(agent, _Agent())
        if own.bodies >= self._each:
            raise TooManyAtOnce("bulk bodies", "agent")
        turn = Turn(own, self._free)
        own.bodies += 1
        try:
            yield turn
        finally:
            own.bodies -= 1
            turn.end()
