"""`backup`, `restore`, `recover`, `compact`, `verify`, `stats`, `log`: keep a registry well."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from perdure import registry as use
from perdure.cli.progress import count_bar, share_bar
from perdure.cli.screen import as_json, complain, console, printable, show_table
from perdure.cli.session import Folder, Json, find_folder, read
from perdure.errors import ClockUnconfirmed, InvalidInput, SchemaChanged
from perdure.folder import recover_registry, restore_registry
from perdure.registry.entities import COUNTER
from perdure.registry.opening import confirm_clock, find_clock_doubt
from perdure.registry.registry import Registry
from perdure.registry.verifying import schema_problems

BACKUP_EXAMPLES = "**Example**\n\n- `perdure backup /mnt/safe/registry-2026-11-16.db`"
RECOVER_EXAMPLES = (
    '**Example**\n\n- `perdure recover`\n- `perdure recover --accept "the disk was replaced, the copy is of Monday"`'
)
RESTORE_EXAMPLES = "**Example**\n\n- `perdure restore /mnt/safe/registry-2026-11-16.db`"
COMPACT_EXAMPLES = "**Example**\n\n- `perdure compact`"
VERIFY_EXAMPLES = "**Example**\n\n- `perdure verify`"
STATS_EXAMPLES = "**Example**\n\n- `perdure stats --json`"
LOG_EXAMPLES = "**Example**\n\n- `perdure log --limit 5`"

_SOMETHING_WRONG = 1
_MOST_EVENTS = 10_000


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the copy.", dir_okay=False)],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """A consistent copy of the whole database, while the registry goes on working.

    The SHA-256 digest of the file is printed: with it, restore can check that the file is still the same.
    """
    if file.exists() and not overwrite:
        raise InvalidInput("backup", "file", f"{file} is there already; name another file, or say --overwrite")
    place = find_folder(folder)
    with share_bar() as bar:
        task = bar.add_task("backing up", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        digest = read(place, lambda registry: registry.store.backup(file, progress), check=False)
    if json:
        typer.echo(as_json({"file": str(file), "sha256": digest}))
        return
    typer.echo(f"The backup is in {file}. To go back to it:  perdure restore {file}")
    typer.echo(f"Its SHA-256 digest, which restore checks if you give it with --digest:  {digest}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    digest: Annotated[
        str | None, typer.Option(metavar="HEX", help="The SHA-256 digest that the file must have.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Go back to a backup. The database that is there is set aside, not thrown away.

    Identifiers that were minted after the backup are missing then, but names that a minter made are not issued again:
    every timeline is moved past all that may have been issued. Names that people choose can be chosen again.
    """
    place = find_folder(folder)
    with share_bar() as bar:
        task = bar.add_task("restoring", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        restored = asyncio.run(restore_registry(place, file, digest=digest, progress=progress))
    if json:
        typer.echo(as_json({"set_aside": restored.set_aside, "moved": restored.moved, "unsure": restored.unsure}))
        return
    typer.echo(f"{file} was restored")
    if restored.set_aside is not None:
        typer.echo(f"The database that was there is kept as {restored.set_aside}")
    _tell_moved(restored.moved)
    _tell_unsure(restored.unsure)
    typer.echo("What was minted or changed after the backup is missing; import it again from where you have it.")
    typer.echo("Keys and grants are those of the backup too: see perdure agent list --keys")


def recover(
    accept: Annotated[
        str | None,
        typer.Option(
            "--accept",
            metavar="REASON",
            help="Go on with the database as it is. The reason is recorded: say what happened.",
        ),
    ] = None,
    clock_is_right: Annotated[
        bool, typer.Option("--clock-is-right", help="Confirm the machine's clock after a long pause, or a wrong date.")
    ] = False,
    folder: Folder = None,
) -> None:
    """Say what the database has lost, as far as the marks beside it tell, and go on without it.

    Every commit leaves a mark beside the database. Where the database does not have what its mark names, it was
    replaced by an older copy, or its write-ahead log is gone: then nothing is minted and nothing is served. Bring the
    right files back, or restore a backup. If neither can be done, accept the loss: all dates and numbers go on after
    everything that may have been issued. Exit code 0: nothing is wrong; 1: something is.
    """
    place = find_folder(folder)

    async def work(registry: Registry) -> tuple[tuple[str, ...], ClockUnconfirmed | None]:
        return await registry.store.find_disagreement(), await find_clock_doubt(registry.store, registry.clock)

    if accept is not None:
        _, doubt = read(place, work, check=False)
        if doubt is not None and not clock_is_right:
            raise doubt  # all dates go on after the clock, so it has to be right
        advance = asyncio.run(recover_registry(place, accept))
        _tell_moved(advance.moved)
        _tell_unsure(advance.unsure)
        typer.echo("The registry goes on with the database as it is")
    if clock_is_right:
        read(place, confirm_clock)  # a commit to a store that is behind would write its mark anew, so this is checked
        typer.echo("The clock is recorded as right; a server that is running believes it when it is started again")
    if accept is not None:
        return
    missing, doubt = read(place, work, check=False)
    for problem in missing:
        typer.echo(f"the database: {printable(problem)}")
    if missing:
        typer.echo("Bring the right files back, or restore a backup (perdure restore FILE). If that cannot be done:")
        typer.echo('  perdure recover --accept "what happened"')
    if doubt is not None:
        typer.echo(f"{doubt}. If it is right:  perdure recover --clock-is-right")
    if missing or doubt:
        raise typer.Exit(_SOMETHING_WRONG)
    if not clock_is_right:
        typer.echo("Nothing is missing: the database has all that its marks name")


def _tell_moved(moved: dict[str, str]) -> None:
    for key, until in moved.items():
        complain(
            f"names under {printable(key.removesuffix(COUNTER))} go on after {until}: "
            "what may have been minted and is missing is not issued again"
        )


def _tell_unsure(prefixes: list[str]) -> None:
    for key in prefixes:
        name = printable(key)
        complain(
            f"it is not known how far {name} had counted: it issues no number until you say "
            f"after which one to go on, with perdure prefix reset {name} --number …"
        )


def compact(folder: Folder = None) -> None:
    """Write the embedded database anew, without what was let go of: nothing that was redacted is left in its corners.

    After a redaction a database of up to 256 MiB is written anew by itself. It takes as much room again while it lasts,
    and whoever wants to write meanwhile has to wait; to read goes on.
    """

    with console(stderr=True).status("writing the database anew"):
        before, after = read(folder, lambda registry: registry.store.compact())
    typer.echo(f"The database was written anew: {after:,} bytes, before {before:,}")


def verify(folder: Folder = None, json: Json = False) -> None:
    """Go over the whole registry and say what is wrong. Exit code 0: nothing; 1: something."""

    async def work(registry: Registry) -> list[str]:
        with count_bar("identifiers") as bar:
            task = bar.add_task("verifying", total=None)

            def progress(done: int, total: int) -> None:
                bar.update(task, completed=done, total=total)

            return await use.verify(registry, progress)

    try:
        problems = read(folder, work, check=False)
    except SchemaChanged as change:  # such a database is not opened
        problems = schema_problems(change.differences)
    if json:
        typer.echo(as_json({"sound": not problems, "problems": problems}))
    else:
        for problem in problems:
            typer.echo(printable(problem))
        typer.echo(f"{len(problems)} problems were found" if problems else "Everything is as it should be")
    if problems:
        raise typer.Exit(_SOMETHING_WRONG)


def stats(folder: Folder = None, json: Json = False) -> None:
    """How much there is of everything."""
    counts = read(folder, lambda registry: registry.store.read(lambda reader: reader.counts()))
    if json:
        typer.echo(as_json(counts))
        return
    show_table(("what", "how many"), ((what, f"{count:,}") for what, count in counts.items()))


def log(
    limit: Annotated[int, typer.Option(min=1, max=_MOST_EVENTS, help="How many, the newest first.")] = 50,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """What was done to the registry itself: prefixes, agents, keys, grants, transfers, restores."""
    events = read(folder, lambda registry: registry.store.read(lambda reader: reader.events(limit)))
    if json:
        for event in events:
            typer.echo(as_json(msgspec.to_builtins(event)))
        return
    rows = ((one.at[:19] + "Z", one.agent, one.action, one.subject, one.detail) for one in events)
    show_table(("when", "who", "what", "to", "details"), rows, whole=("when",))
