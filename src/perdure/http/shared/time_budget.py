"""A budget of time for optional work, so that clients cannot cause more of it than a server can spare."""

import time
from collections.abc import Callable


class TimeBudget:
    """Seconds of work that may be spent: `most` at once, and refilled by `share` seconds in each second."""

    def __init__(self, share: float, most: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = share
        self._most = most
        self._clock = clock
        self._left = most
        self._refilled = clock()

    def has_time(self) -> bool:
        """Return whether there is time left."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._refilled) * self._share)
        self._refilled = now
        return self._left > 0

    def spend(self, seconds: float) -> None:
        """Subtract the time of work that was done. The budget may be overdrawn by the last work."""
        self._left -= seconds
