"""What is written to the terminal: never raw what a file or an argument brought, which may hold control sequences."""

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

_UNBOUNDED = 10_000  # columns, when the output is a file or a pipe: nothing is cut or wrapped there


def console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else _UNBOUNDED)


def complain(message: str, screen: Console | None = None) -> None:
    """Say on standard error what is wrong; on a screen that shows a progress bar, above that."""
    (screen or console(stderr=True)).print(
        Text("perdure: ", style="bold red").append(printable(message), style="default"), soft_wrap=True
    )


def show_table(headings: Sequence[str], rows: Iterable[Sequence[str]], whole: Sequence[str] = ()) -> None:
    """A table for a person; for a program, tab-separated lines. The columns in `whole` are never cut or broken."""
    screen = console()
    if not screen.is_terminal:
        for row in rows:
            typer.echo("\t".join(printable(cell) for cell in row))
        return
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in whole)
    for row in rows:
        table.add_row(*(Text("\n".join(printable(line) for line in cell.split("\n"))) for cell in row))
    screen.print(table)


def standard_input(awaited: str = "identifiers, one per line") -> io.BufferedReader:
    """Standard input as bytes; a person at the keyboard is told what is awaited."""
    if sys.stdin is None or sys.stdin.closed:
        raise InvalidInput("input", "stream", "standard input is closed")
    if sys.stdin.isatty():
        complain(f"reading {awaited} from the keyboard; end with Ctrl-D")
    return cast(io.BufferedReader, sys.stdin.buffer)


def printable(text: str) -> str:
    """The text with everything a terminal might obey or cannot show written as an escape."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def as_json(value: Any) -> str:
    """One line of JSON: readable, unless there is something in it that a terminal might obey or cannot show."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text if text.isprintable() else json.dumps(value)
