"""The waiting room: requests of this process that wait until the dates of their names have come.

Dates are issued in the order in which requests arrive, so that each leaves before those that came after it. The number
of requests for one subsystem or pool is bounded.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from perdure.http.shared.http_errors import MintQueueFull
from perdure.http.shared.metrics import Metrics
from perdure.timelines.clock import Clock, now_seconds


class WaitingRoom:
    """The requests for each target (a prefix, a subsystem or a pool), at most `most`."""

    def __init__(self, most: int, metrics: Metrics, clock: Clock) -> None:
        self._most = most
        self._metrics = metrics
        self._clock = clock
        self._visits: dict[str, set[Visit]] = {}
        self._queues: Counter[str] = Counter()  # for the dates of each timeline

    @contextmanager
    def enter(self, key: str) -> Iterator["Visit"]:
        """Count a request from its arrival to its response. Raise MintQueueFull if too many others are there.

        All names of one target have the same key.
        """
        visits = self._visits.setdefault(key, set())
        if len(visits) >= self._most:
            raise MintQueueFull(key, self._next_wait(visits))
        visit = Visit(self._queues, self._metrics)
        visits.add(visit)
        try:
            yield visit
        finally:
            visits.discard(visit)
            if not visits:
                self._visits.pop(key, None)
            visit.end()

    def _next_wait(self, visits: "set[Visit]") -> Fraction:
        """Return the seconds until the first of these requests leaves; zero for those that wait for no date yet."""
        dues = [visit.due for visit in visits if visit.due is not None]
        return Fraction(0) if len(dues) < len(visits) else min(dues) - now_seconds(self._clock)

    def full_queues(self) -> list[str]:
        """Return the timelines for whose dates so many requests wait that a pool passes them over."""
        return [key for key, number in self._queues.items() if number >= self._most]


class Visit:
    """One request in the waiting room. `due` is the date for which it waits; None as long as it has none."""

    def __init__(self, queues: Counter[str], metrics: Metrics) -> None:
        self._queues = queues
        self._metrics = metrics
        self._timelines: Sequence[str] = ()
        self.due: Fraction | None = None

    def join_queues(self, timelines: Sequence[str], due: Fraction, seconds: float) -> None:
        """Note the timelines for whose dates the request waits, until when, and for how long."""
        self._timelines = timelines
        self.due = due
        for key in timelines:
            self._queues[key] += 1
        self._metrics.waiting += 1
        self._metrics.observe_wait(seconds)

    def end(self) -> None:
        if self.due is None:
            return
        for key in self._timelines:
            _subtract(self._queues, key)
        self._metrics.waiting -= 1
        self.due = None


def _subtract(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
