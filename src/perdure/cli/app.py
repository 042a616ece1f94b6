"""The command's tree, and how it ends: what a user did wrong is one line and exit code 2, never a traceback."""

import io
import os
import sys
from typing import Annotated

import typer

from perdure import __version__
from perdure.cli import (
    agent,
    check,
    edit,
    exchange,
    explain,
    generate,
    init,
    keep,
    look,
    mint,
    move,
    person,
    prefix,
    serve,
    tour,
)
from perdure.cli.advice import advised
from perdure.cli.screen import complain
from perdure.errors import PerdureError

START = "Start here"
MINT = "Mint, and say what names stand for"
FIND = "Find"
PERSONS = "Persons"
PEOPLE = "Who may do what"
MOVE = "Move in and out, keep safe"
LOOK = "Any identifier, without a registry"

INTERRUPTED = 130  # what shells expect of a command that was ended by Ctrl-C

app = typer.Typer(
    name="perdure",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
Persistent identifiers: Handle, PILIN, IBI and PPID.

- A registry of your own: `perdure init`
- A name that lasts: `perdure mint PREFIX https://example.org/`
- What is this? `perdure explain 8JMKD3MGP8W/34PGRBS`
- Are these right? `perdure check identifiers.txt`
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


app.command(rich_help_panel=START, epilog=init.EXAMPLES)(init.init)
app.command(rich_help_panel=START, epilog=serve.EXAMPLES)(serve.serve)
app.command(rich_help_panel=START, epilog=tour.EXAMPLES)(tour.tour)
app.command(rich_help_panel=MINT, epilog=mint.EXAMPLES)(mint.mint)
app.command(rich_help_panel=MINT, epilog=edit.BIND_EXAMPLES)(edit.bind)
app.command("set", rich_help_panel=MINT, epilog=edit.SET_EXAMPLES)(edit.set_)
app.command(rich_help_panel=MINT, epilog=edit.ADD_EXAMPLES)(edit.add_value)
app.command(rich_help_panel=MINT, epilog=edit.REMOVE_EXAMPLES)(edit.remove_value)
app.command(rich_help_panel=MINT, epilog=edit.REDACT_EXAMPLES)(edit.redact)
app.command(rich_help_panel=MINT, epilog=edit.WITHDRAW_EXAMPLES)(edit.withdraw)
app.command(rich_help_panel=MINT, epilog=edit.REINSTATE_EXAMPLES)(edit.reinstate)
app.command(rich_help_panel=FIND, epilog=look.SHOW_EXAMPLES)(look.show)
app.command(rich_help_panel=FIND, epilog=look.RESOLVE_EXAMPLES)(look.resolve)
app.command(rich_help_panel=FIND, epilog=look.HISTORY_EXAMPLES)(look.history)
app.command(rich_help_panel=FIND, epilog=look.DIFF_EXAMPLES)(look.diff)
app.command(rich_help_panel=FIND, epilog=look.SEARCH_EXAMPLES)(look.search)
app.add_typer(person.app, name="person", rich_help_panel=PERSONS, epilog=person.EXAMPLES)
app.add_typer(prefix.app, name="prefix", rich_help_panel=PEOPLE, epilog=prefix.EXAMPLES)
app.add_typer(agent.app, name="agent", rich_help_panel=PEOPLE, epilog=agent.EXAMPLES)
app.command(rich_help_panel=PEOPLE, epilog=edit.TRANSFER_EXAMPLES)(edit.transfer)
app.command(rich_help_panel=PEOPLE, epilog=keep.LOG_EXAMPLES)(keep.log)
app.command("import", rich_help_panel=MOVE, epilog=exchange.IMPORT_EXAMPLES)(exchange.import_)
app.command(rich_help_panel=MOVE, epilog=exchange.EXPORT_EXAMPLES)(exchange.export)
app.command(rich_help_panel=MOVE, epilog=keep.BACKUP_EXAMPLES)(keep.backup)
app.command(rich_help_panel=MOVE, epilog=keep.RESTORE_EXAMPLES)(keep.restore)
app.command(rich_help_panel=MOVE, epilog=keep.RECOVER_EXAMPLES)(keep.recover)
app.command(rich_help_panel=MOVE, epilog=move.MOVE_EXAMPLES)(move.move)
app.command(rich_help_panel=MOVE, epilog=move.MIGRATE_EXAMPLES)(move.migrate)
app.command(rich_help_panel=MOVE, epilog=keep.COMPACT_EXAMPLES)(keep.compact)
app.command(rich_help_panel=MOVE, epilog=keep.VERIFY_EXAMPLES)(keep.verify)
app.command(rich_help_panel=MOVE, epilog=keep.STATS_EXAMPLES)(keep.stats)
app.command(rich_help_panel=LOOK, epilog=explain.EXAMPLES)(explain.explain)
app.command(rich_help_panel=LOOK, epilog=check.EXAMPLES)(check.check)
app.add_typer(generate.app, name="generate", rich_help_panel=LOOK, epilog=generate.EXAMPLES)


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
        complain(advised(problem))
        sys.exit(2)
    except OSError as problem:
        complain(f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem))
        sys.exit(2)
