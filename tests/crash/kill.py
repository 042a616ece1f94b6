"""Processes that work on a registry, are killed at a random moment, and have reported what was acknowledged."""

import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from tests.crash.ledger import AcknowledgedAct, read_lines
from tests.crash.worker import OPENING, READY, REFUSED, UNKNOWN

_ROOT: Final = Path(__file__).parents[2]
_PATIENCE: Final = 60.0  # seconds until a process must have got as far as it is waited for


class WorkerProcess:
    """A process that works on a registry until it is killed."""

    def __init__(
        self, folder: Path, *, share: int = 0, of: int = 1, program: str = "worker", undaunted: bool = False
    ) -> None:
        command = [sys.executable, "-m", f"tests.crash.{program}", str(folder), str(share), str(of)]
        command += ["undaunted"] if undaunted else []
        self._undaunted = undaunted
        self._process = subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._reported = bytearray()

    def read_until(self, until: float) -> None:
        """Read its output until then, so that the pipe never blocks it; it must not end by itself."""
        while (left := until - time.monotonic()) > 0:
            self._listen(left)

    def await_line(self, line: bytes) -> None:
        deadline = time.monotonic() + _PATIENCE
        while line not in self._reported:
            assert time.monotonic() < deadline, f"the process did not come to {line!r} in time"
            self._listen(deadline - time.monotonic())

    def await_another(self) -> None:
        """Wait until one more operation was acknowledged. Earlier ones may have failed."""
        before, deadline = self._count_acknowledged(), time.monotonic() + _PATIENCE
        while self._count_acknowledged() == before:
            assert time.monotonic() < deadline, "the process did not go on by itself"
            self._listen(deadline - time.monotonic())

    @property
    def unknown_count(self) -> int:
        """The number of operations whose outcome is unknown."""
        return self._reported.count(UNKNOWN)

    @property
    def refused_count(self) -> int:
        return self._reported.count(REFUSED)

    def work_for(self, seconds: float) -> None:
        """Let it work for a while."""
        self.read_until(time.monotonic() + seconds)

    def kill(self) -> list[AcknowledgedAct]:
        """Kill it, and return the operations that it had reported."""
        return read_lines(self.kill_and_read())

    def kill_and_read(self) -> bytes:
        """Kill it, and return the lines that it had written."""
        self._process.send_signal(signal.SIGKILL)
        rest, complaints = self._process.communicate()
        assert self._process.returncode == -signal.SIGKILL, complaints.decode()
        # An undaunted process may log lost connections; nothing else may be on standard error.
        assert complaints == b"" or (self._undaunted and b"Traceback" not in complaints), complaints.decode()
        self._reported += rest
        return bytes(self._reported)

    def _count_acknowledged(self) -> int:
        return self._reported.count(b"\n{")

    def _listen(self, seconds: float) -> None:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], seconds)
        if readable:
            part = os.read(self._process.stdout.fileno(), 1 << 16)
            if not part:
                _, complaints = self._process.communicate()
                raise AssertionError(f"the process ended by itself: {complaints.decode()}")
            self._reported += part


def kill_while_opening(folder: Path) -> list[AcknowledgedAct]:
    """Kill a process while it opens the files that its predecessor left: a log, locks, a partial file."""
    process = WorkerProcess(folder)
    process.await_line(OPENING)
    process.read_until(time.monotonic() + random.uniform(0, 0.03))
    return process.kill()


def kill_while_creating(folder: Path, program: str = "registry_creator") -> None:
    """Kill a process while it creates a registry."""
    process = WorkerProcess(folder, program=program)
    process.await_line(OPENING)
    process.read_until(time.monotonic() + random.uniform(0, 0.04))
    process.kill()


def kill_at_work(folder: Path, longest: float, processes: int = 1) -> list[list[AcknowledgedAct]]:
    """Kill each process at a random moment, at most `longest` seconds after its first operation."""
    workers = [WorkerProcess(folder, share=share, of=processes) for share in range(processes)]
    for one in workers:
        one.await_line(READY)
    start = time.monotonic()
    moments = [(start + random.uniform(0, longest), one) for one in workers]
    reported = []
    for moment, one in sorted(moments, key=lambda pair: pair[0]):
        while time.monotonic() < moment:
            for other in workers:
                if other not in [gone for gone, _ in reported]:
                    other.read_until(min(moment, time.monotonic() + 0.01))
        reported.append((one, one.kill()))
    return [operations for _, operations in reported]
