"""Deriving a key from a secret is slow on purpose: a few at a time, and nobody may have many waiting."""

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import lru_cache

from perdure.http.turns import Turns


def turn_to_derive(client: str) -> AbstractAsyncContextManager[None]:
    """Whoever asks for much of it is refused, so that whoever asks for little of it waits for little."""
    return _turns(asyncio.get_running_loop()).turn(client)


@lru_cache(maxsize=1)
def _turns(_: asyncio.AbstractEventLoop) -> Turns:
    return Turns("credentials that are slow to check", at_once=2, each=2, most=1_000)
