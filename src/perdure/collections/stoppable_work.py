"""Work on files in a thread, which stops soon after the task that waits for it was cancelled."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from perdure.collections.work_progress import Report, Step

T = TypeVar("T")


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
        return await asyncio.to_thread(work, advance)
    finally:
        stop.set()
