"""`backup`, `restore`, `compact`, `verify`, `stats`, `log`: keep a registry well."""

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from perdure import registry as use
from perdure.cli.progress import count_bar, share_bar
from perdure.cli.screen import as_json, complain, console, printable, show_table
from perdure.cli.session import Folder, Json, find_folder, read
from perdure.errors import InvalidInput
from perdure.folder import restore_registry
from perdure.registry.entities import COUNTER
from perdure.registry.registry import Registry

BACKUP_EXAMPLES = "**Example**\n\n- `perdure backup /mnt/safe/registry-2026-11-16.db`"
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
) -> None:
    """A consistent copy of the whole database, while the registry goes on working."""
    if file.exists() and not overwrite:
        raise InvalidInput("backup", "file", f"{file} is there already; name another file, or say --overwrite")
    place = find_folder(folder)
    with share_bar() as bar:
        task = bar.add_task("backing up", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        read(place, lambda registry: registry.store.backup(file, progress))
    typer.echo(f"The backup is in {file}. To go back to it:  perdure restore {file}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Go back to a backup. The database that is there is set aside, not thrown away.

    Identifiers that were minted after the backup are missing then, but names that a minter made are not issued again:
    every timeline is moved past all that may have been issued. Names that people choose can be chosen again.
    """
    place = find_folder(folder)
    with count_bar("identifiers") as bar:
        task = bar.add_task("restoring", total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        restored = asyncio.run(restore_registry(place, file, progress=progress))
    if json:
        typer.echo(as_json({"set_aside": restored.set_aside, "moved": restored.moved, "unsure": restored.unsure}))
        return
    typer.echo(f"{file} was restored")
    if restored.set_aside is not None:
        typer.echo(f"The database that was there is kept as {restored.set_aside}")
    for key, until in restored.moved.items():
        complain(
            f"names under {printable(key.removesuffix(COUNTER))} go on after {until}: "
            "what was minted since the backup is not issued again"
        )
    for key in restored.unsure:
        complain(
            f"nothing tells how far {printable(key)} had counted since the backup: "
            f"if numbers were issued, say so with perdure prefix reset {printable(key)} --number …"
        )
    typer.echo("What was minted or changed after the backup is missing; import it again from where you have it.")
    typer.echo("Keys and grants are those of the backup too: see perdure agent list --keys")


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

    problems = read(folder, work)
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
