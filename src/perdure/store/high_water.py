"""The high-water marks: for each timeline the furthest date that may have been issued, in a file outside the database.

A database that was restored from an old backup does not know what was issued since; the mark does. It is always a
little ahead of the last date, so that the file is rewritten once in a while and not at every mint.
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
from perdure.store.file_sync import open_as_folder_owner, write_atomically

HIGH_WATER: Final = "high-water.json"  # in the registry's folder, on every engine
_LOCK_TIMEOUT: Final = 10.0  # seconds


class HighWater:
    """The marks in a file that all minting processes share."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._marks = _read_marks(file)

    def reach(self, timeline: str, last: Fraction, ahead: Fraction) -> None:
        """Ensure that the mark of a timeline covers `last`. If it has to move, it moves to `ahead` of that."""
        mark = self._marks.get(timeline)
        if mark is not None and last <= mark:
            return
        try:
            with self._lock_file():
                marks = _read_marks(self._file)  # another process may have moved it further
                if last > marks.get(timeline, last - 1):
                    marks[timeline] = last + ahead
                    _write_marks(self._file, marks)
                self._marks = marks  # only now, so that memory agrees with the file
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
    def _lock_file(self) -> Iterator[None]:
        lock = open_as_folder_owner(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait_for_lock(lock)
            yield
        finally:
            os.close(lock)


def _wait_for_lock(lock: int) -> None:
    """Wait for the lock. It is held only briefly, unless the process that holds it was stopped."""
    until = time.monotonic() + _LOCK_TIMEOUT
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.002)


def _read_marks(file: Path) -> dict[str, Fraction]:
    try:
        return {timeline: Fraction(mark) for timeline, mark in json.loads(file.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except PermissionError:
        reason = "run the command as the user who owns the folder, or give the file to that user (chown)"
        raise StoreUnavailable(
            f"the high-water mark {file.name} cannot be read (permission denied): {reason}"
        ) from None
    except (OSError, ValueError, TypeError, ArithmeticError, AttributeError) as problem:
        raise StoreUnavailable(
            f"the high-water mark {file.name} cannot be read ({problem}): restore it from a copy, or remove it"
        ) from None


def _write_marks(file: Path, marks: dict[str, Fraction]) -> None:
    lines = {timeline: str(mark) for timeline, mark in marks.items()}
    write_atomically(file, json.dumps(lines, indent=1, sort_keys=True), 0o600)
