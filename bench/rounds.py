"""Rounds of a measurement: the results of several short ones, for their median."""

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROCESSES: Final = Path("/proc")  # of Linux; elsewhere other processes are not known

CpuSeconds = Callable[[], float | None]


class Round(NamedTuple):
    """The rate per second, and the CPU microseconds of each call: of the client, and of the server if known."""

    rate: float
    client: float
    server: float | None


class Rounds:
    """The rounds of a measurement, and the duration of each call, if the caller has noted it in `times`."""

    def __init__(self, server_cpu: CpuSeconds = lambda: None) -> None:
        self._server_cpu = server_cpu
        self.rounds: list[Round] = []
        self.times: list[float] = []

    @contextmanager
    def round(self, count: int) -> Iterator[None]:
        before, client, begun = self._server_cpu(), time.process_time(), time.perf_counter()
        yield
        seconds, spent, after = time.perf_counter() - begun, time.process_time() - client, self._server_cpu()
        served = None if before is None or after is None else (after - before) / count * 1e6
        self.rounds.append(Round(count / seconds, spent / count * 1e6, served))

    @property
    def rate(self) -> float:
        return statistics.median(one.rate for one in self.rounds)

    @property
    def client(self) -> float:
        return statistics.median(one.client for one in self.rounds)

    @property
    def server(self) -> float | None:
        known = [one.server for one in self.rounds if one.server is not None]
        return statistics.median(known) if known else None

    def percentile(self, percent: int) -> float:
        """Return a percentile of the duration of all calls, in seconds."""
        return statistics.quantiles(self.times, n=100)[percent - 1]

    def ratio_to(self, peer: "Rounds") -> float:
        """Return the median ratio over alternating rounds, in which other load affects both."""
        return statistics.median(mine.rate / its.rate for mine, its in zip(self.rounds, peer.rounds, strict=True))


def cpu_of_tree(pid: int) -> float | None:
    """Return the CPU seconds of a process, its children, and its children that have ended."""
    own = _times(_PROCESSES / str(pid) / "stat")
    if own is None:
        return None
    children = (_times(file) for file in _PROCESSES.glob("[0-9]*/stat"))
    its = (one for one in children if one is not None and one.parent == pid)
    return own.used + own.waited_for + sum(one.used for one in its)


class OthersShare:
    """The share of the machine that other processes used meanwhile, between 0 and 1; None if it is not known."""

    def __init__(self, ours: CpuSeconds) -> None:
        self._ours = ours
        self._before = _busy_and_all(), ours()

    def read(self) -> float | None:
        (now, ours), (before, ours_before) = (_busy_and_all(), self._ours()), self._before
        if now is None or before is None or ours is None or ours_before is None:
            return None
        return max(0.0, (now[0] - before[0]) - (ours - ours_before)) / max(now[1] - before[1], 1e-9)


class _Times(NamedTuple):
    parent: int
    used: float
    waited_for: float


def _times(file: Path) -> _Times | None:
    try:
        fields = file.read_text(errors="replace").rpartition(")")[2].split()
    except OSError:  # it has ended, or this is no Linux
        return None
    user, system, children_user, children_system = (int(field) / _TICKS for field in fields[11:15])
    return _Times(int(fields[1]), user + system, children_user + children_system)


def _busy_and_all() -> tuple[float, float] | None:
    """Return the CPU seconds of the machine since its start: those used, and all."""
    try:
        fields = (_PROCESSES / "stat").read_text().partition("\n")[0].split()[1:9]
    except OSError:
        return None
    ticks = [int(field) / _TICKS for field in fields]
    idle = ticks[3] + ticks[4]
    return sum(ticks) - idle, sum(ticks)
