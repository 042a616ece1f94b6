"""The metrics of the server, for Prometheus. Workers count into files of one folder, so each can report them all."""

from bisect import bisect_left
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

_requests = Counter("perdure_http_requests_total", "Requests answered", ["interface", "method", "status"])
_seconds = Histogram("perdure_http_request_seconds", "Time to respond, in seconds", ["interface"], buckets=_BUCKETS)
_fast_path_requests = Counter("perdure_fast_path_requests_total", "Requests that the fast path answered", ["answer"])
_connections = Gauge("perdure_http_connections", "Open connections", multiprocess_mode="livesum")
_log_bytes = Gauge(
    "perdure_store_log_bytes", "Size of the write-ahead log of the SQLite store", multiprocess_mode="max"
)
_waiting = Gauge("perdure_mint_waiting", "Requests that wait for the dates of their names", multiprocess_mode="livesum")
_waits = Histogram(
    "perdure_mint_wait_seconds",
    "Time for which requests wait for the dates of their names, in seconds",
    buckets=(0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 600, 3600),
)
_failures = Counter("perdure_http_failures_total", "Requests that failed because of an error of the server", ["code"])

_peer_answers = Counter("perdure_peer_answers_total", "Questions to other servers", ["peer", "outcome"])
_peer_seconds = Histogram(
    "perdure_peer_answer_seconds", "Time of another server to answer, in seconds", ["peer"], buckets=_BUCKETS
)


class _Durations:
    """The durations of responses since the last publication: to observe each by itself would write to a file twice."""

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS) + 1)  # the last is for longer durations
        self.seconds = 0.0

    def publish(self, histogram: Histogram) -> None:
        """Add the durations to a histogram."""
        for number, bucket in zip(self.counts, histogram._buckets, strict=True):
            if number:
                bucket.inc(number)
        histogram._sum.inc(self.seconds)


class Metrics:
    """The counters of one process."""

    def __init__(self) -> None:
        # The fast path adds to plain numbers. They are published every second, and before the metrics are read.
        self.redirects = 0
        self.records = 0
        self.persons = 0
        self.files = 0
        self.waiting = 0
        self._responses: dict[tuple[str, str, int], int] = {}
        self._durations: dict[str, _Durations] = {}

    def count_response(self, interface: str, method: str, status: int, seconds: float) -> None:
        """Count a response of the application."""
        key = interface, method if method in _METHODS else "other", status
        self._responses[key] = self._responses.get(key, 0) + 1
        durations = self._durations.get(interface)
        if durations is None:
            durations = self._durations[interface] = _Durations()
        durations.seconds += seconds
        durations.counts[bisect_left(_BUCKETS, seconds)] += 1

    def count_failure(self, code: str) -> None:
        """Count an error of the server."""
        _failures.labels(code).inc()

    def count_peer_answer(self, peer: str, outcome: str, seconds: float) -> None:
        """Count a question to another server. Both labels are from a small set: the table of peers, and the states."""
        _peer_answers.labels(peer, outcome).inc()
        _peer_seconds.labels(peer).observe(seconds)

    def observe_wait(self, seconds: float) -> None:
        """Record how long a request waits for the dates of its names."""
        _waits.observe(seconds)

    def publish(self, *, connections: int, log_bytes: int) -> None:
        """Add the counters of this process to those that are reported."""
        answers = {"redirect": self.redirects, "record": self.records, "person": self.persons, "file": self.files}
        for answer, number in answers.items():
            if number:
                _fast_path_requests.labels(answer).inc(number)
        self.redirects = self.records = self.persons = self.files = 0
        for (interface, method, status), number in self._responses.items():
            _requests.labels(interface, method, str(status)).inc(number)
        self._responses.clear()
        for interface, durations in self._durations.items():
            durations.publish(_seconds.labels(interface))
        self._durations.clear()
        _waiting.set(self.waiting)
        _connections.set(connections)
        _log_bytes.set(log_bytes)


def render_metrics() -> bytes:
    """Return the metrics of all processes in the format of Prometheus."""
    collected = CollectorRegistry()
    multiprocess.MultiProcessCollector(collected)  # type: ignore[no-untyped-call]
    return generate_latest(collected)


_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
