"""Work on files in a thread, which stops soon after the task that waits for it was cancelled."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from perdure.collections.work_progress import Report, Step

T = TypeVar("T")

_MOST_AT_ONCE: Final = 32
# Such work copies large files, or waits for another writer of an item. On the threads of the event loop, which are few,
# it would delay every download.
_threads: Final = ThreadPoolExecutor(_MOST_AT_ONCE, "perdure-files")


class WorkStopped(Exception):
    """The task that waited for the work was cancelled."""


async def run_stoppable(work: Callable[[Report], T], report: Report | None = None) -> T:
    """Run work in a thread. It is given the function to which it reports its progress, and which stops it."""
    stop = threading.Event()

    def advance(step: Step) -> None:
        if stop.is_set():
            raise WorkStopped
        if report is not None:
            report(step)

    try:
        return await asyncio.get_running_loop().run_in_executor(_threads, work, advance)
    finally:
        stop.set()
