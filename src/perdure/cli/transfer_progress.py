"""Progress of work on the files of items: what is being done now, with which file, and how many bytes are done."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.text import Text

from perdure.cli.terminal import escape_control, make_console
from perdure.collections.work_progress import Step

_LONGEST_PATH: Final = 40
_BETWEEN: Final = 0.05  # seconds


class StepDisplay:
    """Shows the steps of work, if there is a progress bar, and lines of output above it."""

    def __init__(self, bar: Progress | None = None, total: int | None = None) -> None:
        self._bar = bar
        self._total = total
        self._phase, self._shown = "", 0.0
        if bar is not None:
            self._task = bar.add_task("", total=total, files=0)

    @property
    def screen(self) -> Console | None:
        """Return the console of the progress bar, for messages above it."""
        return None if self._bar is None else self._bar.console

    def __call__(self, step: Step) -> None:
        if self._bar is None:
            return
        now = time.monotonic()
        if step.phase != self._phase:
            self._phase = step.phase
            self._bar.reset(self._task, total=self._total)
        elif now - self._shown < _BETWEEN:  # a million small files have millions of steps
            return
        self._shown = now
        self._bar.update(self._task, description=_describe(step), completed=step.bytes, files=f"{step.files:,}")

    def echo(self, line: str) -> None:
        """Print a line on standard output. On the terminal of the progress bar, it stays above the bar."""
        if self._bar is not None and sys.stdout.isatty():
            self._bar.console.print(Text(line), soft_wrap=True)
        else:
            typer.echo(line)


@contextmanager
def show_steps(total: int | None = None) -> Iterator[StepDisplay]:
    """Show the steps of work on standard error, if that is a terminal. `total` is the number of bytes to copy."""
    if not sys.stderr.isatty():
        yield StepDisplay()
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
        yield StepDisplay(bar, total)


def _describe(step: Step) -> str:
    path = escape_control(step.path)
    if len(path) > _LONGEST_PATH:
        path = f"…{path[-_LONGEST_PATH:]}"
    return f"{step.phase} {path}".rstrip()
