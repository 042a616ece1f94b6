"""Large records are worked on aside, on a thread: nobody else is to wait for what one reader asks for."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from perdure.records.value import Value

T = TypeVar("T")

_MANY: Final = 50  # values
_LONG: Final = 16_384  # bytes of a record


async def done_aside(values: Sequence[Value], size: int, work: Callable[[], T]) -> T:
    """What the work gives; a small record, of nearly all names, is not worth a journey to a thread."""
    if len(values) > _MANY or size > _LONG:
        return await asyncio.to_thread(work)
    return work()
