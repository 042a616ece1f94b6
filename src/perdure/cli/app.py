"""The command's tree, and how it ends: what a user did wrong is one line and exit code 2, never a traceback."""

import io
import os
import sys
from typing import Annotated

import typer

from perdure import __version__
from perdure.cli import check, explain, generate, tour
from perdure.cli.screen import complain
from perdure.errors import PerdureError

LOOK = "Look at identifiers"
MAKE = "Make labels"
START = "Start here"

INTERRUPTED = 130  # what shells expect of a command that was ended by Ctrl-C

app = typer.Typer(
    name="perdure",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
Persistent identifiers: Handle, PILIN, IBI and PPID.

- What is this? `perdure explain 8JMKD3MGP8W/34PGRBS`
- Are these right? `perdure check identifiers.txt`
- Make me a label: `perdure generate pilin`
- Show me around: `perdure tour`
""",
    epilog="Every command has its own --help with examples. Completion for your shell: `perdure --install-completion`",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"perdure {__version__}")
        raise typer.Exit


@app.callback()
def perdure(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    pass


app.command(rich_help_panel=START, epilog=tour.EXAMPLES)(tour.tour)
app.command(rich_help_panel=LOOK, epilog=explain.EXAMPLES)(explain.explain)
app.command(rich_help_panel=LOOK, epilog=check.EXAMPLES)(check.check)
app.add_typer(generate.app, name="generate", rich_help_panel=MAKE, epilog=generate.EXAMPLES)


def main() -> None:
    """Run the command."""
    nowhere = open(os.devnull, "w")  # noqa: SIM115 - for streams that whoever started us has closed
    sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows few characters gets escapes for the others
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="perdure")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            complain("interrupted")
        raise
    except PerdureError as problem:
        complain(str(problem))
        sys.exit(2)
    except OSError as problem:
        complain(f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem))
        sys.exit(2)
