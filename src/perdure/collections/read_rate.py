"""A limit on the rate of reading, so that a check in the background leaves the disk to others."""

import time
from collections.abc import Callable
from typing import Final

_SHORTEST_SLEEP: Final = 0.005  # seconds; shorter ones take longer than they should


class ReadRate:
    """Sleeps after each part that was read, so that the mean rate is not above the limit (bytes per second)."""

    def __init__(self, limit: float | None, sleep: Callable[[float], None] = time.sleep) -> None:
        self._limit = limit
        self._sleep = sleep
        self._ahead = 0.0
        self._at = time.monotonic()

    def spend(self, count: int) -> None:
        """Account for bytes that were read."""
        if self._limit is None:
            return
        now = time.monotonic()
        self._ahead = max(0.0, self._ahead - (now - self._at)) + count / self._limit
        self._at = now
        if self._ahead > _SHORTEST_SLEEP:
            self._sleep(self._ahead)
