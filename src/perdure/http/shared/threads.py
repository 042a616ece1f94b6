"""Work off the event loop, so that one request does not delay the others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, ParamSpec, TypeVar

from perdure.records.value import Value

P = ParamSpec("P")
T = TypeVar("T")

_MOST_VALUES: Final = 50
_MOST_BYTES: Final = 16_384  # of a record
_SLACK: Final = 5.0  # seconds that a thread waits longer than the loop that it waits for
_END: Final = None


async def run_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a function that is called on a thread of the pool."""
    return await asyncio.to_thread(work, *args, **kwargs)


async def run_to_end_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of a function on a thread, as run_in_thread() does; if cancelled, wait for its end first.

    For work on something that the caller closes afterwards, such as a file.
    """
    task = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def run_large_in_thread(values: Sequence[Value], size: int, work: Callable[[], T]) -> T:
    """Return the result of `work`, which runs on a thread if the record is large.

    Nearly all records are small, and a thread would cost more than the work.
    """
    if len(values) > _MOST_VALUES or size > _MOST_BYTES:
        return await run_in_thread(work)
    return work()


async def run_coroutine_in_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of a long coroutine, which runs on a thread of its own with an event loop of its own."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "perdure-bulk")
    try:
        return await loop.run_in_executor(thread, lambda: asyncio.run(work()))
    finally:
        thread.shutdown(wait=False)


def iterate_from_loop(
    source: AsyncIterator[bytes], loop: asyncio.AbstractEventLoop, patience: float
) -> Iterator[bytes]:
    """Yield what another thread's loop receives, part by part. No part is taken before it is used, so none pile up.

    The source itself raises when a part does not come in time. `patience` bounds the wait for a loop that has stopped.
    """

    async def next_part() -> bytes | None:
        return await anext(source, _END)

    while True:
        part = asyncio.run_coroutine_threadsafe(next_part(), loop).result(patience + _SLACK)
        if part is _END:
            return
        yield part


class ThreadedAsyncIterator(AsyncIterator[T]):
    """An asynchronous iterator that takes each step on a thread of its own."""

    def __init__(self, make: Callable[[], AsyncIterator[T]]) -> None:
        self._make = make
        self._steps: AsyncIterator[T] | None = None
        self._runner = asyncio.Runner()
        self._thread = ThreadPoolExecutor(1, "perdure-bulk")

    def __aiter__(self) -> "ThreadedAsyncIterator[T]":
        return self

    async def __anext__(self) -> T:
        item = await asyncio.get_running_loop().run_in_executor(self._thread, self._step)
        if not item:
            raise StopAsyncIteration
        return item[0]

    def _step(self) -> tuple[T, ...]:
        if self._steps is None:
            self._steps = self._make()
        return self._runner.run(_next_item(self._steps))

    async def aclose(self) -> None:
        """Close the iterator after the step that is under way."""
        self._thread.submit(self._runner.close)
        self._thread.shutdown(wait=False)


async def _next_item(steps: AsyncIterator[T]) -> tuple[T, ...]:
    async for item in steps:
        return (item,)
    return ()
