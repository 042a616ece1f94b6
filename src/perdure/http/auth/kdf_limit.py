"""The concurrency limit of key derivations, which are slow on purpose."""

import asyncio
from contextlib import AbstractAsyncContextManager
from functools import lru_cache

from perdure.http.shared.semaphore import ConcurrencyLimiter


def derivation_slot(client: str) -> AbstractAsyncContextManager[None]:
    """Limit concurrent key derivations per client network, so that one client cannot slow down the others."""
    return _limiter_of_loop(asyncio.get_running_loop()).slot(client)


@lru_cache(maxsize=1)
def _limiter_of_loop(_: asyncio.AbstractEventLoop) -> ConcurrencyLimiter:
    return ConcurrencyLimiter("slow credential checks", at_once=2, each=2, most=1_000)
