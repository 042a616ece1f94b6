"""The high-water mark: the furthest date that any timeline may have issued, kept outside the database.

A database restored from an old backup has forgotten what was issued since. The mark has not: it lies in a file
beside it, always a little ahead of the last date, so that it is rewritten once in a while and not at every mint.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final

from perdure.errors import StoreFull, StoreUnavailable, is_full
from perdure.store.folders import write_whole

HIGH_WATER: Final = "high-water.json"  # in the registry's folder, whatever the engine
_PATIENCE: Final = 10.0  # seconds


class HighWater:
    """The marks in one file, shared by all processes that mint."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._marks = _read(file)

    def reach(self, timeline: str, last: Fraction, ahead: Fraction) -> None:
        """Make sure that the mark covers `last`; when it must move, it moves `ahead` of that."""
        mark = self._marks.get(timeline)
        if mark is not None and last <= mark:
            return
        try:
            with self._locked():
                marks = _read(self._file)  # another process may have moved it further
                if last > marks.get(timeline, last - 1):
                    marks[timeline] = last + ahead
                    _write(self._file, marks)
                self._marks = marks  # only now: what is remembered here is what the file holds
        except OSError as problem:
            if is_full(problem.errno):
                raise StoreFull(f"the disk of the high-water mark {self._file.name}") from problem
            raise StoreUnavailable(
                f"the high-water mark {self._file.name} cannot be written ({problem.strerror}): nothing was issued",
                True,
            ) from problem

    def marks(self) -> dict[str, Fraction]:
        return dict(self._marks)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait_for(lock)
            yield
        finally:
            os.close(lock)


def _wait_for(lock: int) -> None:
    """It is held for moments; who holds it longer has been stopped in the middle."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.002)


def _read(file: Path) -> dict[str, Fraction]:
    try:
        return {timeline: Fraction(mark) for timeline, mark in json.loads(file.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, ArithmeticError, AttributeError) as problem:
        raise StoreUnavailable(
            f"the high-water mark {file.name} cannot be read ({problem}); restore it or remove it"
        ) from None


def _write(file: Path, marks: dict[str, Fraction]) -> None:
    lines = {timeline: str(mark) for timeline, mark in marks.items()}
    write_whole(file, json.dumps(lines, indent=1, sort_keys=True), 0o600)
