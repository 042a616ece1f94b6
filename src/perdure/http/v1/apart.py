"""Long work apart from the event loop that serves everybody: on a thread of its own, with an event loop of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

T = TypeVar("T")

_SLACK: Final = 5.0  # seconds that a thread waits longer than the loop that it asks
_END: Final = None


async def run_apart(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine that never holds this loop up."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "perdure-bulk")
    try:
        return await loop.run_in_executor(thread, lambda: asyncio.run(work()))
    finally:
        thread.shutdown(wait=False)


def drawn(source: AsyncIterator[bytes], loop: asyncio.AbstractEventLoop, patience: float) -> Iterator[bytes]:
    """What another thread's loop receives, part by part: no more is taken than is used, so nothing piles up.

    The source itself raises when a part does not come in time. `patience` bounds the wait for a loop that has stopped.
    """

    async def next_part() -> bytes | None:
        return await anext(source, _END)

    while True:
        part = asyncio.run_coroutine_threadsafe(next_part(), loop).result(patience + _SLACK)
        if part is _END:
            return
        yield part


class Apart(AsyncIterator[T]):
    """An asynchronous iterator that takes its steps on a thread of its own, one whenever it is asked."""

    def __init__(self, make: Callable[[], AsyncIterator[T]]) -> None:
        self._make = make
        self._steps: AsyncIterator[T] | None = None
        self._runner = asyncio.Runner()
        self._thread = ThreadPoolExecutor(1, "perdure-bulk")

    def __aiter__(self) -> "Apart[T]":
        return self

    async def __anext__(self) -> T:
        found = await asyncio.get_running_loop().run_in_executor(self._thread, self._step)
        if not found:
            raise StopAsyncIteration
        return found[0]

    def _step(self) -> tuple[T, ...]:
        if self._steps is None:
            self._steps = self._make()
        return self._runner.run(_one_of(self._steps))

    async def aclose(self) -> None:
        """After the step that is being taken."""
        self._thread.submit(self._runner.close)
        self._thread.shutdown(wait=False)


async def _one_of(steps: AsyncIterator[T]) -> tuple[T, ...]:
    async for one in steps:
        return (one,)
    return ()
