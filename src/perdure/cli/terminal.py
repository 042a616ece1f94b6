"""Output to the terminal. Text from files and arguments is escaped, because it may contain control sequences."""

import io
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, cast

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perdure.errors import InvalidInput

_PIPE_WIDTH = 10_000  # columns for a file or a pipe, so that nothing is cut or wrapped


def make_console(stderr: bool = False) -> Console:
    """Return a console for standard output or standard error."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else _PIPE_WIDTH)


def print_error(message: str, screen: Console | None = None) -> None:
    """Print a message on standard error, above the progress bar of `screen` if there is one."""
    (screen or make_console(stderr=True)).print(
        Text("perdure: ", style="bold red").append(escape_control(message), style="default"), soft_wrap=True
    )


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], whole: Sequence[str] = ()) -> None:
    """Print a table. Columns in `whole` are never cut.

    If the output is not a terminal, rows are tab-separated lines, and semicolons separate the lines of a cell.
    """
    screen = make_console()
    if not screen.is_terminal:
        for row in rows:
            typer.echo("\t".join("; ".join(map(escape_control, cell.split("\n"))) for cell in row))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in whole)
    for row in rows:
        table.add_row(*(Text("\n".join(escape_control(line) for line in cell.split("\n"))) for cell in row))
    screen.print(table)


def is_at_terminal() -> bool:
    """Return whether a user can be asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def open_standard_input(expected: str = "identifiers, one per line") -> io.BufferedReader:
    """Return standard input as bytes. At a terminal, print what is expected."""
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInput("input", "stream", "standard input is closed")
    if sys.stdin.isatty():
        print_error(f"reading {expected} from the keyboard; end with Ctrl-D")
    return cast(io.BufferedReader, sys.stdin.buffer)


def escape_control(text: str) -> str:
    """Escape characters that a terminal might interpret or cannot show."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def to_json(value: Any) -> str:
    """Return one line of JSON. Non-ASCII text is escaped only if the terminal might interpret it or cannot show it."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text if text.isprintable() else json.dumps(value)
