"""The progress of work on files at a terminal: lines of output stay above the progress bar, and whole."""

import io
import sys

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from perdure.cli.transfer_progress import StepDisplay
from perdure.collections.work_progress import Step


class Terminal(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


def show_and_print(screen: Terminal) -> None:
    """Show a step on a terminal, then print a line on standard output."""
    console = Console(file=screen, force_terminal=True, width=40)
    with Progress(TextColumn("{task.description}"), console=console, redirect_stdout=False, transient=True) as bar:
        display = StepDisplay(bar)
        display(Step("check", "a.txt", 0, 0))
        bar.refresh()
        display.echo("a line that is longer than the forty columns")


def test_a_line_of_output_replaces_the_bar_which_moves_down(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    show_and_print(screen)
    assert "check a.txt" in screen.getvalue()
    before, line, after = screen.getvalue().partition("a line that is longer than the forty columns\n")
    assert line
    assert before.endswith("\x1b[2K")
    assert "check a.txt" in after


def test_output_that_is_not_for_the_terminal_is_not_printed_there(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Terminal()
    show_and_print(screen)
    assert "a line" not in screen.getvalue()
    assert capsys.readouterr().out == "a line that is longer than the forty columns\n"
