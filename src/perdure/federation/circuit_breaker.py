"""Back-off for servers that fail: after several failures in a row, a server is left alone for a while.

The time doubles with each further failure, up to a limit. Then one question is let through as a trial.
"""

import random
from collections.abc import Callable
from typing import Final

_FAILURES: Final = 2  # in a row, before the server is left alone
_FIRST_PAUSE: Final = 1.0  # seconds
_LONGEST_PAUSE: Final = 300.0
_JITTER: Final = 0.2  # so that many servers do not try again at one moment


class CircuitBreaker:
    """The failures of one server."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._pause = 0.0

    @property
    def is_open(self) -> bool:
        """Whether the server is left alone now."""
        return self._clock() < self._until

    def allow(self) -> bool:
        """Return whether the server may be asked. After a pause, one caller may try; others wait for its outcome."""
        if self.is_open:
            return False
        if self._failures >= _FAILURES:
            self._until = self._clock() + self._pause
        return True

    def record_success(self) -> None:
        self._failures, self._until, self._pause = 0, 0.0, 0.0

    def record_failure(self) -> None:
        self._failures += 1
        if self._failures >= _FAILURES:
            self._pause = min(_LONGEST_PAUSE, self._pause * 2 or _FIRST_PAUSE)
            self._until = self._clock() + self._pause * (1 + random.uniform(0, _JITTER))  # noqa: S311
