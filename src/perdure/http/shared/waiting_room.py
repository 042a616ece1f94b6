"""The waiting room: requests of this process that wait until the dates of their names have come.

Dates are issued in the order in which requests arrive, so that each leaves before those that came after it. The number
of requests for one subsystem or pool is bounded.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from perdure.http.shared.http_errors import MintQueueFull
from perdure.http.shared.metrics import Metrics
from perdure.names.handle import fold


class WaitingRoom:
    """The number of requests for each target (a prefix, a subsystem or a pool), at most `most`."""

    def __init__(self, most: int, metrics: Metrics) -> None:
        self._most = most
        self._metrics = metrics
        self._requests: Counter[str] = Counter()
        self._queues: Counter[str] = Counter()  # for the dates of each timeline

    @contextmanager
    def enter(self, target: str) -> Iterator["Visit"]:
        """Count a request from its arrival to its response. Raise MintQueueFull if too many others are there."""
        key = fold(target)
        if self._requests[key] >= self._most:
            raise MintQueueFull(target)
        visit = Visit(self._queues, self._metrics)
        self._requests[key] += 1
        try:
            yield visit
        finally:
            _subtract(self._requests, key)
            visit.end()

    def full_queues(self) -> list[str]:
        """Return the timelines for whose dates so many requests wait that a pool passes them over."""
        return [key for key, number in self._queues.items() if number >= self._most]


class Visit:
    """One request in the waiting room."""

    def __init__(self, queues: Counter[str], metrics: Metrics) -> None:
        self._queues = queues
        self._metrics = metrics
        self._timelines: Sequence[str] = ()

    def join_queues(self, timelines: Sequence[str], seconds: float) -> None:
        """Note the timelines for whose dates the request waits, and for how long."""
        self._timelines = timelines
        for key in timelines:
            self._queues[key] += 1
        self._metrics.waiting += 1
        self._metrics.observe_wait(seconds)

    def end(self) -> None:
        if not self._timelines:
            return
        for key in self._timelines:
            _subtract(self._queues, key)
        self._metrics.waiting -= 1
        self._timelines = ()


def _subtract(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
