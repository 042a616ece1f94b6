"""`move` and `migrate`: take a registry to another store, and bring its database up to date."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from perdure.cli.progress import count_bar
from perdure.cli.screen import as_json, complain
from perdure.cli.session import Folder, Json, find_folder
from perdure.errors import InvalidInput
from perdure.folder import alone_with, give_up_move, is_registry, move_registry, registry_place
from perdure.minting.clock import SystemClock, iso_now
from perdure.registry.moving import Stage
from perdure.settings_file import SETTINGS, read_settings
from perdure.store.places import postgres_address
from perdure.store.versions import check_known

MOVE_EXAMPLES = """
**Examples**

- `perdure move --to "postgresql://perdure@db.example.org/perdure?sslmode=verify-full"`
- `perdure move --from archive --to sqlite:perdure.db`
- `perdure move --to postgresql://perdure@db.example.org/perdure --give-up`
"""
MIGRATE_EXAMPLES = "**Example**\n\n- `perdure migrate`"

To = Annotated[
    str, typer.Option("--to", metavar="STORE", help="Where to: sqlite:FILE, or postgresql://user@host:5432/database.")
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="DIR|STORE",
        help="The registry's folder, or the store that its settings name. Default: as for other commands.",
    ),
]


def move(
    to: To,
    origin: From = None,
    folder: Folder = None,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Throw the unfinished copy away, and go on where the registry is.")
    ] = False,
    json: Json = False,
) -> None:
    """Take the whole registry to another store: every name, every version, keys, grants and timelines.

    While it moves it can be read, not written. Interrupted, the same command goes on where it was. Everything is
    compared, name by name, before the new store takes over; the old one stays as it is, sealed.
    """
    place = _folder(folder, origin)
    if give_up:
        asyncio.run(give_up_move(place, to))
        typer.echo("The move was given up: the registry goes on where it is")
        return
    warn_of_eavesdroppers(to)
    with count_bar("names") as bar:
        tasks: dict[Stage, TaskID] = {}

        def watch(stage: Stage, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=of)
            bar.update(tasks[stage], completed=done, total=of)

        moved = asyncio.run(move_registry(place, to, watch))
    where = registry_place(place).shown
    if json:
        typer.echo(as_json({"store": where, "names": moved.names, "sha256": moved.digest}))
        return
    typer.echo(f"The registry is in {where} now: {moved.names:,} names, all compared, and {SETTINGS} says so")
    typer.echo(f"  content, by SHA-256   {moved.digest}")
    typer.echo("The old store is sealed: it can be read, and takes no writes. Remove it once the new one has a backup.")


def migrate(
    backup: Annotated[
        Path | None, typer.Option("--backup", metavar="FILE", help="Where the copy goes. Default: beside the settings.")
    ] = None,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="Make no copy first.")] = False,
    folder: Folder = None,
) -> None:
    """Bring the database up to date with this program, after a copy of it was made."""
    place = find_folder(folder)
    there, needed = registry_place(place).versions()
    check_known(there, needed)
    if there == needed:
        typer.echo(f"Nothing to do: the database has schema {there}, and so has this program")
        return
    with alone_with(place) as database:
        if not no_backup:
            stamp = iso_now(SystemClock())[:19].replace(":", "").replace("-", "")
            file = backup or place / f"before-schema-{needed}-{stamp}.copy"
            if file.exists():
                raise InvalidInput("migrate", "backup", f"{file} is there already; name another file")
            database.save(file)
            typer.echo(f"A copy of the database as it was is in {file}")
        database.migrate()
    typer.echo(f"The database has schema {needed} now (it had {there})")


def warn_of_eavesdroppers(store: str) -> None:
    """Whoever sends names and digests of keys over a network in the clear should know it."""
    address = postgres_address(store)
    if address is not None and address.is_open_to_eavesdroppers:
        complain("the connection to the database may be read on its way: add ?sslmode=verify-full to the address")


def _folder(folder: Path | None, origin: str | None) -> Path:
    """`--from` names the folder, or says again what its settings say: then it must be so."""
    if origin is not None and is_registry(Path(origin)):
        return Path(origin)
    place = find_folder(folder)
    if origin is not None and origin != read_settings(place).registry.store:
        kept = registry_place(place).shown
        reason = f"the registry is in {kept}, and --from says something else: name its folder, or leave --from away"
        raise InvalidInput("move", "from", reason)
    return place
