"""The tree of commands, and the entry point. A usage error is one line and exit code 2, never a traceback."""

import io
import os
import sys
from typing import Annotated

import typer

from perdure import __version__
from perdure.cli import (
    agent,
    backup,
    bulk_changes,
    check,
    collection,
    edit,
    explain,
    generate,
    handle_user,
    ibi,
    identifier_export,
    identifier_import,
    init,
    listing,
    maintenance,
    mint,
    move,
    peer,
    person,
    pool,
    prefix,
    query,
    retarget,
    serve,
    stats,
    tour,
)
from perdure.cli.error_hints import with_hint
from perdure.cli.exit_codes import ERROR, INTERRUPTED
from perdure.cli.help import CommandGroup
from perdure.cli.server_option import InsecureHttp, Key, KeyFile, Server, read_server_options
from perdure.cli.terminal import print_error
from perdure.errors import PerdureError

START = "Start here"
MINT_AND_EDIT = "Mint and edit identifiers"
FIND = "Find identifiers"
PERSONS = "Persons"
PERMISSIONS = "Permissions"
ITEMS = "Items"
MAINTENANCE = "Import, export, backup and maintenance"
WITHOUT_REGISTRY = "Work without a registry"

app = CommandGroup(
    name="perdure",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""
Registry and resolver for persistent identifiers: Handle, PILIN, IBI and PPID.

- Create a registry: `perdure init`
- Mint an identifier: `perdure mint PREFIX https://example.org/`
- Explain an identifier: `perdure explain 8JMKD3MGP8W/34PGRBS`
- Check a list of identifiers: `perdure check identifiers.txt`
- See examples of each kind: `perdure tour`
- Work with a registry on another machine: `perdure --server https://id.example.org show 12345/Y35XYS0QH`
""",
    epilog="Every command has its own `--help` with examples. Shell completion: `perdure --install-completion`",
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"perdure {__version__}")
        raise typer.Exit


@app.callback()
def perdure(
    ctx: typer.Context,
    server: Server = None,
    key: Key = None,
    key_file: KeyFile = None,
    insecure_http: InsecureHttp = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    read_server_options(ctx, server, key, key_file, insecure_http=insecure_http)


app.command(rich_help_panel=START, epilog=init.EXAMPLES)(init.init)
app.command(rich_help_panel=START, epilog=serve.EXAMPLES)(serve.serve)
app.command(rich_help_panel=START, epilog=tour.EXAMPLES)(tour.tour)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=mint.EXAMPLES)(mint.mint)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=edit.BIND_EXAMPLES)(edit.bind)
app.command("set", rich_help_panel=MINT_AND_EDIT, epilog=edit.SET_EXAMPLES)(edit.set_)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=edit.ADD_EXAMPLES)(edit.add_value)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=edit.REMOVE_EXAMPLES)(edit.remove_value)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=edit.REDACT_EXAMPLES)(edit.redact)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=edit.WITHDRAW_EXAMPLES)(edit.withdraw)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=edit.REINSTATE_EXAMPLES)(edit.reinstate)
app.command(rich_help_panel=MINT_AND_EDIT, epilog=retarget.EXAMPLES)(retarget.retarget)
app.add_typer(bulk_changes.app, name="bulk", rich_help_panel=MINT_AND_EDIT, epilog=bulk_changes.EXAMPLES)
app.command(rich_help_panel=FIND, epilog=query.SHOW_EXAMPLES)(query.show)
app.command(rich_help_panel=FIND, epilog=query.RESOLVE_EXAMPLES)(query.resolve)
app.command(rich_help_panel=FIND, epilog=query.HISTORY_EXAMPLES)(query.history)
app.command(rich_help_panel=FIND, epilog=query.DIFF_EXAMPLES)(query.diff)
app.command(rich_help_panel=FIND, epilog=query.SEARCH_EXAMPLES)(query.search)
app.command("list", rich_help_panel=FIND, epilog=listing.EXAMPLES)(listing.list_)
app.add_typer(person.app, name="person", rich_help_panel=PERSONS, epilog=person.EXAMPLES)
app.add_typer(collection.app, name="collection", rich_help_panel=ITEMS, epilog=collection.EXAMPLES)
app.add_typer(prefix.app, name="prefix", rich_help_panel=PERMISSIONS, epilog=prefix.EXAMPLES)
app.add_typer(pool.app, name="pool", rich_help_panel=PERMISSIONS, epilog=pool.EXAMPLES)
app.add_typer(agent.app, name="agent", rich_help_panel=PERMISSIONS, epilog=agent.EXAMPLES)
app.add_typer(peer.app, name="peer", rich_help_panel=PERMISSIONS, epilog=peer.EXAMPLES)
app.add_typer(handle_user.app, name="handle-user", rich_help_panel=PERMISSIONS, epilog=handle_user.EXAMPLES)
app.command(rich_help_panel=PERMISSIONS, epilog=edit.TRANSFER_EXAMPLES)(edit.transfer)
app.command(rich_help_panel=PERMISSIONS, epilog=maintenance.LOG_EXAMPLES)(maintenance.log)
app.command("import", rich_help_panel=MAINTENANCE, epilog=identifier_import.IMPORT_EXAMPLES)(identifier_import.import_)
app.command(rich_help_panel=MAINTENANCE, epilog=identifier_export.EXPORT_EXAMPLES)(identifier_export.export)
app.command(rich_help_panel=MAINTENANCE, epilog=backup.BACKUP_EXAMPLES)(backup.backup)
app.command(rich_help_panel=MAINTENANCE, epilog=backup.RESTORE_EXAMPLES)(backup.restore)
app.command(rich_help_panel=MAINTENANCE, epilog=maintenance.RECOVER_EXAMPLES)(maintenance.recover)
app.command(rich_help_panel=MAINTENANCE, epilog=move.MOVE_EXAMPLES)(move.move)
app.command(rich_help_panel=MAINTENANCE, epilog=move.MIGRATE_EXAMPLES)(move.migrate)
app.command(rich_help_panel=MAINTENANCE, epilog=maintenance.COMPACT_EXAMPLES)(maintenance.compact)
app.command(rich_help_panel=MAINTENANCE, epilog=maintenance.VERIFY_EXAMPLES)(maintenance.verify)
app.command(rich_help_panel=MAINTENANCE, epilog=stats.EXAMPLES)(stats.stats)
app.command(rich_help_panel=WITHOUT_REGISTRY, epilog=explain.EXAMPLES)(explain.explain)
app.command(rich_help_panel=WITHOUT_REGISTRY, epilog=check.EXAMPLES)(check.check)
app.add_typer(generate.app, name="generate", rich_help_panel=WITHOUT_REGISTRY, epilog=generate.EXAMPLES)
app.add_typer(ibi.app, name="ibi", rich_help_panel=WITHOUT_REGISTRY, epilog=ibi.EXAMPLES)


def main() -> None:
    """Run the command."""
    devnull = open(os.devnull, "w")  # noqa: SIM115 - replaces streams that the calling process has closed
    sys.stdout, sys.stderr = sys.stdout or devnull, sys.stderr or devnull
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape characters that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="perdure")
    except SystemExit as end:
        if end.code == INTERRUPTED:
            print_error("interrupted")
        raise
    except PerdureError as problem:
        print_error(with_hint(problem))
        sys.exit(ERROR)
    except OSError as problem:
        print_error(f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem))
        sys.exit(ERROR)
