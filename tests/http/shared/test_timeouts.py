"""Timeouts of the deadline timer: a task that takes too long is cancelled, and no other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from perdure.http.shared.timeouts import DeadlineTimer, Timeout


@asynccontextmanager
async def run_timer() -> AsyncIterator[DeadlineTimer]:
    timer = DeadlineTimer()
    heart = asyncio.create_task(timer.run())
    try:
        yield timer
    finally:
        heart.cancel()


def test_a_task_that_takes_too_long_is_stopped() -> None:
    async def main() -> None:
        async with run_timer() as timer:
            with pytest.raises(TimeoutError), Timeout(timer, 0.05):
                await asyncio.sleep(30)
            assert not timer.timeouts
            await asyncio.sleep(0)  # the task goes on as if nothing had been
            current = asyncio.current_task()
            assert current is not None
            assert current.cancelling() == 0

    asyncio.run(main())


def test_a_task_that_is_in_time_is_not_stopped() -> None:
    async def main() -> str:
        async with run_timer() as timer:
            with Timeout(timer, 0.2):
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.4)
            assert not timer.timeouts
            return "done"

    assert asyncio.run(main()) == "done"


def test_an_error_of_the_task_itself_is_raised() -> None:
    async def main() -> None:
        async with run_timer() as timer:
            with Timeout(timer, 30):
                raise KeyError("its own")

    with pytest.raises(KeyError):
        asyncio.run(main())


def test_a_task_that_is_cancelled_from_elsewhere_has_not_timed_out() -> None:
    async def slow(timer: DeadlineTimer) -> None:
        with Timeout(timer, 30):
            await asyncio.sleep(30)

    async def main() -> None:
        async with run_timer() as timer:
            task = asyncio.create_task(slow(timer))
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not timer.timeouts

    asyncio.run(main())


def test_the_inner_of_two_limits_stops_only_its_own_block() -> None:
    async def main() -> str:
        async with run_timer() as timer:
            with Timeout(timer, 30):
                try:
                    with Timeout(timer, 0.05):
                        await asyncio.sleep(30)
                except TimeoutError:
                    await asyncio.sleep(0.01)
                    return "went on"
        return "was not stopped"

    assert asyncio.run(main()) == "went on"
