"""`perdure move` to another database, and `perdure migrate` to a new schema version."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TaskID

from perdure.cli.progress import count_progress
from perdure.cli.registry_session import Folder, Json, find_folder
from perdure.cli.terminal import print_error, to_json
from perdure.errors import InvalidInput
from perdure.folder.move import abandon_move, move_registry
from perdure.folder.registry_folder import exclusive_location, is_registry, registry_location
from perdure.registry.relocation import Stage
from perdure.settings_file import SETTINGS, read_settings
from perdure.store.open_location import parse_postgres_address
from perdure.store.schema_version import check_not_newer
from perdure.timelines.clock import SystemClock, iso_now

MOVE_EXAMPLES = """
**Examples**

- `perdure move --to "postgresql://perdure@db.example.org/perdure?sslmode=verify-full"`
- `perdure move --from archive --to sqlite:perdure.db`
- `perdure move --to postgresql://perdure@db.example.org/perdure --give-up`
"""
MIGRATE_EXAMPLES = "**Example**\n\n- `perdure migrate`"

ToStore = Annotated[
    str,
    typer.Option("--to", metavar="STORE", help="New database: sqlite:FILE, or postgresql://user@host:5432/database."),
]
FromStore = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="DIR|STORE",
        help="Folder of the registry, or its present database. Default: see --registry.",
    ),
]


def move(
    to: ToStore,
    origin: FromStore = None,
    folder: Folder = None,
    give_up: Annotated[
        bool, typer.Option("--give-up", help="Delete the unfinished copy, and continue with the current database.")
    ] = False,
    json: Json = False,
) -> None:
    """Move the whole registry to another database: all names, versions, keys, grants and timelines.

    During the move, the registry can be read but not written. After an interruption, run the same command again: it
    continues where it stopped. All names are compared before the new database is used. The old one becomes read-only.
    """
    registry_folder = _check_source_folder(folder, origin)
    if give_up:
        asyncio.run(abandon_move(registry_folder, to))
        typer.echo("Cancelled the move. The registry stays where it is.")
        return
    warn_about_plaintext_connection(to)
    with count_progress("names") as bar:
        tasks: dict[Stage, TaskID] = {}

        def watch(stage: Stage, done: int, of: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=of)
            bar.update(tasks[stage], completed=done, total=of)

        moved = asyncio.run(move_registry(registry_folder, to, watch))
    database = registry_location(registry_folder).display_name
    if json:
        typer.echo(to_json({"store": database, "names": moved.names, "sha256": moved.digest}))
        return
    typer.echo(f"Moved the registry to {database}: {moved.names:,} names, all compared. {SETTINGS} was updated.")
    typer.echo(f"  SHA-256 of the content   {moved.digest}")
    typer.echo("The old database is read-only now. Delete it when the new one has a backup.")


def migrate(
    backup: Annotated[
        Path | None,
        typer.Option("--backup", metavar="FILE", help="File for the copy. Default: beside the settings file."),
    ] = None,
    no_backup: Annotated[bool, typer.Option("--no-backup", help="Do not make a copy first.")] = False,
    folder: Folder = None,
) -> None:
    """Migrate the database to the schema of this version of Perdure, after making a copy."""
    registry_folder = find_folder(folder)
    version, needed = registry_location(registry_folder).schema_versions()
    check_not_newer(version, needed)
    if version == needed:
        typer.echo(f"Nothing to do: the database already has schema {version}.")
        return
    with exclusive_location(registry_folder) as database:
        if not no_backup:
            stamp = iso_now(SystemClock())[:19].replace(":", "").replace("-", "")
            file = backup or registry_folder / f"before-schema-{needed}-{stamp}.copy"
            if file.exists():
                raise InvalidInput("migrate", "backup", f"{file} exists already: choose another file")
            database.dump(file)
            typer.echo(f"Copied the database to {file}")
        database.migrate()
    typer.echo(f"Migrated the database from schema {version} to {needed}.")


def warn_about_plaintext_connection(store: str) -> None:
    """Warn if names and key digests are sent over a network without encryption."""
    address = parse_postgres_address(store)
    if address is not None and address.is_open_to_eavesdroppers:
        print_error("the connection to the database may be unencrypted: add ?sslmode=verify-full to the address")


def _check_source_folder(folder: Path | None, origin: str | None) -> Path:
    """Return the folder of the registry. `--from` names it, or repeats the database in its settings."""
    if origin is not None and is_registry(Path(origin)):
        return Path(origin)
    registry_folder = find_folder(folder)
    if origin is not None and origin != read_settings(registry_folder).registry.store:
        present = registry_location(registry_folder).display_name
        reason = f"--from does not match: the registry is in {present}. Give its folder, or omit --from"
        raise InvalidInput("move", "from", reason)
    return registry_folder
