"""Progress bars on standard error, shown only on a terminal; and the file for reported problems."""

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

from perdure.cli.terminal import make_console
from perdure.errors import InvalidInput


def byte_progress() -> Progress:
    """Return a progress bar for bytes."""
    return _progress(TaskProgressColumn())


def count_progress(unit: str, *, is_hidden: bool = False) -> Progress:
    """Return a progress bar for a number of things."""
    return _progress(MofNCompleteColumn(), TextColumn(unit), is_hidden=is_hidden)


def size_of(stream: io.BufferedReader) -> int | None:
    """Return the size of a file, or None for a pipe or a terminal."""
    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def open_problems_file(
    path: Path, stream: io.BufferedReader, scheme: str, *, append: bool = False, at_once: bool = False
) -> TextIO:
    """Open a file for problems. Only its owner can read it; it must not be the input file.

    With `at_once`, each line is written when it is reported, for a command that continues after an interruption.
    """
    if path.exists() and os.path.samestat(path.stat(), os.fstat(stream.fileno())):
        raise InvalidInput(scheme, "problems", f"{path} is the input file: choose another file")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC), 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):  # not for a pipe or a terminal
        with suppress(PermissionError):  # the file belongs to another user
            os.fchmod(descriptor, 0o600)
    return os.fdopen(descriptor, "w", buffering=1 if at_once else -1, encoding="utf-8")


def _progress(*amount: ProgressColumn, is_hidden: bool = False) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), *amount, TimeRemainingColumn())
    return Progress(
        *columns, console=make_console(stderr=True), transient=True, disable=is_hidden or not sys.stderr.isatty()
    )
