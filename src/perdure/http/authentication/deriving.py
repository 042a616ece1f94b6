"""Deriving a key from a secret is slow on purpose: a few at a time, and nobody may have many waiting."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Final

from perdure.http.authentication.attempts import network_of
from perdure.http.refusals import TooManyAtOnce

_AT_ONCE: Final = 2
_WAITING: Final = 2  # of one client, while others have their turn


class _Turns:
    def __init__(self) -> None:
        self.free = asyncio.Semaphore(_AT_ONCE)
        self.waiting: Counter[str] = Counter()


@asynccontextmanager
async def turn_to_derive(client: str) -> AsyncIterator[None]:
    """Whoever asks for much of it is refused, so that whoever asks for little of it waits for little."""
    turns = _turns(asyncio.get_running_loop())
    network = network_of(client)
    if turns.free.locked() and turns.waiting[network] >= _WAITING:
        raise TooManyAtOnce()
    turns.waiting[network] += 1
    try:
        await turns.free.acquire()
    finally:
        turns.waiting[network] -= 1
        if not turns.waiting[network]:
            del turns.waiting[network]
    try:
        yield
    finally:
        turns.free.release()


@lru_cache(maxsize=1)
def _turns(_: asyncio.AbstractEventLoop) -> _Turns:
    return _Turns()
