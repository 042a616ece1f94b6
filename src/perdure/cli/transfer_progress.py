"""Progress of work on the files of items: what is being done now, with which file, and how many bytes are done."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from perdure.cli.terminal import escape_control, make_console
from perdure.collections.work_progress import Report, Step

_LONGEST_PATH: Final = 40
_BETWEEN: Final = 0.05  # seconds


@contextmanager
def show_steps(total: int | None = None) -> Iterator[Report]:
    """Show the steps of work on standard error, if that is a terminal. `total` is the number of bytes to copy."""
    if not sys.stderr.isatty():
        yield _ignore
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[files]} files"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=make_console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, files=0)
        phase, shown = "", 0.0

        def show(step: Step) -> None:
            nonlocal phase, shown
            now = time.monotonic()
            if step.phase != phase:
                phase = step.phase
                bar.reset(task, total=total)
            elif now - shown < _BETWEEN:  # a million small files have millions of steps
                return
            shown = now
            bar.update(task, description=_describe(step), completed=step.bytes, files=f"{step.files:,}")

        yield show


def _describe(step: Step) -> str:
    path = escape_control(step.path)
    if len(path) > _LONGEST_PATH:
        path = f"…{path[-_LONGEST_PATH:]}"
    return f"{step.phase} {path}".rstrip()


def _ignore(step: Step) -> None:
    """Show nothing."""
