"""What is counted, for Prometheus. Several workers count into files of one folder, so that any of them can tell all."""

from bisect import bisect_left
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client import multiprocess as together

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_requests = Counter("perdure_http_requests_total", "Requests answered", ["door", "method", "status"])
_seconds = Histogram("perdure_http_request_seconds", "Time to answer, in seconds", ["door"], buckets=_BUCKETS)
_express = Counter("perdure_express_requests_total", "Requests that the express lane answered", ["answer"])
_open = Gauge("perdure_http_connections", "Connections that are open", multiprocess_mode="livesum")
_log = Gauge("perdure_store_log_bytes", "Size of the write-ahead log of the embedded store", multiprocess_mode="max")
_errors = Counter("perdure_http_failures_total", "Requests that failed for a reason of the server's own", ["code"])


class _Timing:
    """How long answers took, gathered: to observe each by itself would write to two places of a file each time."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS) + 1)  # the last is for whatever took longer
        self.seconds = 0.0

    def tell(self, histogram: Histogram) -> None:
        for number, bucket in zip(self.counts, histogram._buckets, strict=True):
            if number:
                bucket.inc(number)
        histogram._sum.inc(self.seconds)


class Metrics:
    """What one process counts."""

    def __init__(self) -> None:
        # The express lane adds to plain numbers; they are told on when somebody looks, and every second.
        self.redirects = 0
        self.records = 0
        self.persons = 0
        self._answered: dict[tuple[str, str, int], int] = {}
        self._timings: dict[str, _Timing] = {}

    def answered(self, door: str, method: str, status: int, seconds: float) -> None:
        which = door, method if method in _METHODS else "other", status
        self._answered[which] = self._answered.get(which, 0) + 1
        timing = self._timings.get(door)
        if timing is None:
            timing = self._timings[door] = _Timing()
        timing.seconds += seconds
        timing.counts[bisect_left(_BUCKETS, seconds)] += 1

    def failed(self, code: str) -> None:
        _errors.labels(code).inc()

    def tell(self, *, connections: int, log_bytes: int) -> None:
        """Bring everything that is gathered elsewhere to where it is read from."""
        for answer, number in (("redirect", self.redirects), ("record", self.records), ("person", self.persons)):
            if number:
                _express.labels(answer).inc(number)
        self.redirects = self.records = self.persons = 0
        for (door, method, status), number in self._answered.items():
            _requests.labels(door, method, str(status)).inc(number)
        self._answered.clear()
        for door, timing in self._timings.items():
            timing.tell(_seconds.labels(door))
        self._timings.clear()
        _open.set(connections)
        _log.set(log_bytes)


def page() -> bytes:
    """Everything that all processes have counted."""
    gathered = CollectorRegistry()
    together.MultiProcessCollector(gathered)  # type: ignore[no-untyped-call]
    return generate_latest(gathered)


_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
