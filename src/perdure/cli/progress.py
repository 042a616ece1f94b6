"""Progress bars: on standard error, so that the output can be sent elsewhere, and only where somebody watches."""

import io
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from perdure.cli.screen import console
from perdure.errors import InvalidInput


def share_bar() -> Progress:
    """How much of a file, or of anything else that is measured in bytes, is done."""
    return _bar(TaskProgressColumn())


def count_bar(unit: str) -> Progress:
    """How many are done, of how many."""
    return _bar(MofNCompleteColumn(), TextColumn(unit))


def size_of(stream: io.BufferedReader) -> int | None:
    """The length of a file; None for a pipe or a terminal."""
    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def problems_file(path: Path, stream: io.BufferedReader, scheme: str, *, append: bool = False) -> TextIO:
    """A file for problems, readable by its owner alone, which must not be the file that is read."""
    if path.exists() and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
        raise InvalidInput(scheme, "problems", f"{path} is the file that is read: it would be overwritten")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC), 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):  # and neither a pipe nor a terminal
        with suppress(PermissionError):  # it belongs to another person, who decides who reads it
            os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8")


def _bar(*amount: ProgressColumn) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), *amount, TimeRemainingColumn())
    return Progress(*columns, console=console(stderr=True), transient=True, disable=not sys.stderr.isatty())
