"""Maintenance of a registry: `recover`, `compact`, `verify`, `stats` and `log`."""

import asyncio
from typing import Annotated

import msgspec
import typer

from perdure import registry as use
from perdure.cli.backup import print_advance
from perdure.cli.exit_codes import PROBLEMS_FOUND
from perdure.cli.progress import count_progress
from perdure.cli.registry_session import Folder, Json, find_folder, run_anonymous
from perdure.cli.terminal import escape_control, make_console, print_table, to_json
from perdure.errors import ClockUnconfirmed, SchemaChanged
from perdure.folder.restore import recover_registry
from perdure.registry.integrity import schema_problems
from perdure.registry.opening_checks import confirm_clock, find_clock_doubt
from perdure.registry.registry import Registry

RECOVER_EXAMPLES = (
    '**Examples**\n\n- `perdure recover`\n- `perdure recover --accept "disk replaced, copy of Monday restored"`'
)
COMPACT_EXAMPLES = "**Example**\n\n- `perdure compact`"
VERIFY_EXAMPLES = "**Example**\n\n- `perdure verify`"
LOG_EXAMPLES = "**Example**\n\n- `perdure log --limit 5`"

_MAX_EVENTS = 10_000


def recover(
    accept: Annotated[
        str | None,
        typer.Option(
            "--accept",
            metavar="REASON",
            help="Continue with the database as it is. The reason is logged.",
        ),
    ] = None,
    clock_is_right: Annotated[
        bool,
        typer.Option("--clock-is-right", help="Confirm that the system clock is right, after a pause or an error."),
    ] = False,
    folder: Folder = None,
) -> None:
    """Report changes that the database has lost, or accept the loss.

    Every commit writes a commit mark beside the database. If the database lacks the change in its mark, it was
    replaced by an older copy, or its write-ahead log is missing. Then nothing is minted and nothing is served. Put the
    right files back, or restore a backup. If neither is possible, accept the loss with --accept: all dates and numbers
    continue after everything that may have been issued.

    Exit code 0: no problems; 1: problems found.
    """
    registry_folder = find_folder(folder)

    async def work(registry: Registry) -> tuple[tuple[str, ...], ClockUnconfirmed | None]:
        return await registry.store.find_disagreement(), await find_clock_doubt(registry.store, registry.clock)

    if accept is not None:
        _, doubt = run_anonymous(registry_folder, work, check=False)
        if doubt is not None and not clock_is_right:
            raise doubt  # all dates continue after the clock, so it must be right
        advance = asyncio.run(recover_registry(registry_folder, accept))
        print_advance(advance.moved, advance.unsure)
        typer.echo("Accepted: the registry continues with the database as it is.")
    if clock_is_right:
        run_anonymous(registry_folder, confirm_clock)  # checked: a commit to an old copy would overwrite its mark
        typer.echo("Confirmed the clock. Restart a running server to apply this.")
    if accept is not None:
        return
    missing, doubt = run_anonymous(registry_folder, work, check=False)
    for problem in missing:
        typer.echo(f"database: {escape_control(problem)}")
    if missing:
        typer.echo("Put the right files back, or restore a backup (perdure restore FILE). If neither is possible:")
        typer.echo('  perdure recover --accept "what happened"')
    if doubt is not None:
        typer.echo(f"{doubt}. If the clock is right:  perdure recover --clock-is-right")
    if missing or doubt:
        raise typer.Exit(PROBLEMS_FOUND)
    if not clock_is_right:
        typer.echo("No problems: no acknowledged change is missing from the database.")


def compact(folder: Folder = None) -> None:
    """Rewrite the SQLite database without free space, so that no redacted data remains in its file.

    After a redaction, a database of up to 256 MiB is rewritten automatically. Rewriting needs as much free disk space
    as the database has. Reads continue meanwhile, and writes wait.
    """

    with make_console(stderr=True).status("rewriting the database"):
        before, after = run_anonymous(folder, lambda registry: registry.store.compact())
    typer.echo(f"Compacted the database: {after:,} bytes (before: {before:,})")


def verify(folder: Folder = None, json: Json = False) -> None:
    """Check the integrity of the whole registry. Exit code 0: no problems; 1: problems found."""

    async def work(registry: Registry) -> list[str]:
        with count_progress("identifiers") as bar:
            task = bar.add_task("verifying", total=None)

            def progress(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            return await use.verify(registry, progress)

    try:
        problems = run_anonymous(folder, work, check=False)
    except SchemaChanged as change:  # a changed schema prevents opening
        problems = schema_problems(change.differences)
    if json:
        typer.echo(to_json({"sound": not problems, "problems": problems}))
    else:
        for problem in problems:
            typer.echo(escape_control(problem))
        typer.echo(f"Found {len(problems)} problems." if problems else "No problems found.")
    if problems:
        raise typer.Exit(PROBLEMS_FOUND)


def log(
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, max=_MAX_EVENTS, help="Number of entries, newest first.")
    ] = 50,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show the log of changes to the registry itself: prefixes, agents, keys, grants, transfers, restores."""
    events = run_anonymous(folder, lambda registry: registry.store.read(lambda reader: reader.events(limit)))
    if json:
        for event in events:
            typer.echo(to_json(msgspec.to_builtins(event)))
        return
    rows = ((one.at[:19] + "Z", one.agent, one.action, one.subject, one.detail) for one in events)
    print_table(("date", "agent", "action", "subject", "details"), rows, whole=("date",))
