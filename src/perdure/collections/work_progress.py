"""Progress of long work on items: what is being done now, and how much is done."""

from collections.abc import Callable
from typing import Final, NamedTuple

CHECK_NAMES: Final = "check names"
COPY: Final = "copy"
FLUSH: Final = "flush to disk"
CHECK: Final = "check"
PUBLISH: Final = "publish"


class Step(NamedTuple):
    """What is being done now, with which file, and how many files and bytes of this phase are done."""

    phase: str
    path: str
    files: int
    bytes: int


Report = Callable[[Step], None]


class Progress:
    """Counts files and bytes, and reports each step to the caller, who may raise an exception to stop the work."""

    def __init__(self, report: Report | None) -> None:
        self._report = report
        self._step = Step("", "", 0, 0)

    def begin_phase(self, phase: str) -> None:
        self._advance(Step(phase, "", 0, 0))

    def continue_phase(self, phase: str) -> None:
        """Begin a phase, unless it is the present one, whose files and bytes are then counted further."""
        if self._step.phase != phase:
            self.begin_phase(phase)

    def begin_file(self, path: str) -> None:
        self._advance(self._step._replace(path=path))

    def add_bytes(self, count: int) -> None:
        self._advance(self._step._replace(bytes=self._step.bytes + count))

    def end_file(self) -> None:
        self._advance(self._step._replace(files=self._step.files + 1))

    def _advance(self, step: Step) -> None:
        self._step = step
        if self._report is not None:
            self._report(step)
