"""`perdure backup` and `perdure restore`."""

import asyncio
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.move import warn_about_plaintext_connection
from perdure.cli.progress import byte_progress
from perdure.cli.registry_session import Folder, Json, find_folder, run_anonymous
from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.errors import InvalidInput
from perdure.folder.backup_settings import enclose_settings
from perdure.folder.rebuild import rebuild_registry
from perdure.folder.registry_folder import ADMIN_KEY
from perdure.folder.restore import RestoreResult, restore_registry
from perdure.registry.entities import COUNTER_SUFFIX
from perdure.registry.registry import Registry
from perdure.registry.secret_box import SECRETS_KEY
from perdure.registry.server_key import SERVER_KEY_FACT
from perdure.registry.server_key_store import SERVER_KEY
from perdure.registry.store_interface import Progress
from perdure.settings_file import DEFAULT_STORE, SETTINGS
from perdure.timelines.clock import SystemClock, iso_now

BACKUP_EXAMPLES = "**Example**\n\n- `perdure backup /mnt/safe/registry-2026-11-16.db`"
RESTORE_EXAMPLES = """
**Examples**

- `perdure restore /mnt/safe/registry-2026-11-16.db`
- `perdure restore /mnt/safe/registry-2026-11-16.db --to /srv/perdure/archive`
- `perdure restore registry.db --to archive --store "postgresql://perdure@db.example.org/perdure?sslmode=verify-full"`
"""


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.", dir_okay=False)],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Overwrite an existing file.")] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Back up the whole registry to a file: the database, and the settings without the address of the database.

    The registry can be used during the backup. `perdure restore FILE --to DIR` needs nothing but this file. Three
    files are never in a backup, because they are secret: admin.key, secrets.key and server.key.

    Prints the SHA-256 digest of the file. Give it to `perdure restore --digest` to detect a changed file.
    """
    if file.exists() and not overwrite:
        raise InvalidInput("backup", "file", f"{file} exists already: choose another file, or add --overwrite")
    registry_folder = find_folder(folder)
    settings = enclose_settings(registry_folder)

    async def work(registry: Registry) -> tuple[str, int, bool]:
        with _show_progress("backing up") as progress:
            digest = await registry.store.backup(file, progress, settings)
        return digest, await _count_secrets(registry), await _has_server_key(registry)

    digest, secrets, signs = run_anonymous(registry_folder, work, check=False)
    missing = [*([SECRETS_KEY] if secrets else []), *([SERVER_KEY] if signs else [])]
    if json:
        typer.echo(to_json({"file": str(file), "sha256": digest, "not_included": [ADMIN_KEY, *missing]}))
        return
    typer.echo(f"Backed up to {file}. To restore it:  perdure restore {shlex.quote(str(file))}")
    typer.echo(f"On an empty machine:  perdure restore {shlex.quote(str(file))} --to DIR")
    typer.echo("It contains all names, versions, agents and grants, and the settings without the database address.")
    typer.echo(f"It does not contain {ADMIN_KEY}, the key of the administrator.")
    if secrets:
        typer.echo(
            f"It does not contain {SECRETS_KEY}, which decrypts the secrets of Handle clients ({secrets:,} here): "
            "keep a copy of that file somewhere else."
        )
    if signs:
        typer.echo(
            f"It does not contain {SERVER_KEY}, with which this server signs what it states to other servers: keep a "
            "copy of that file somewhere else."
        )
    typer.echo(f"SHA-256 (for restore --digest):  {digest}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Backup file.")],
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Create this folder, with the settings of the backup. It must be new or empty."
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="STORE", help=f"With --to: sqlite:FILE, or postgresql://…. Default: {DEFAULT_STORE}."),
    ] = None,
    digest: Annotated[str | None, typer.Option(metavar="HEX", help="Expected SHA-256 digest of the file.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Restore a backup. The present database is renamed, not deleted.

    With --to, nothing but the file is needed: the settings come from the backup. Use this on an empty machine, after
    the loss of the folder of the registry.

    Identifiers that were minted after the backup are missing afterwards. Generated names are not issued again: every
    timeline is moved past all names that may have been issued. Names that people choose can be chosen again.
    """
    if to is None and store is not None:
        raise InvalidInput("restore", "store", "--store needs --to; perdure move changes the database of a registry")
    with _show_progress("restoring") as progress:
        if to is None:
            work = restore_registry(_find_damaged(folder), file, digest=digest, progress=progress)
        else:
            warn_about_plaintext_connection(store or DEFAULT_STORE)
            work = rebuild_registry(to, file, store=store or DEFAULT_STORE, digest=digest, progress=progress)
        restored = asyncio.run(work)
    if json:
        fields = {"set_aside": restored.displaced_name, "moved": restored.moved, "unsure": restored.unsure}
        typer.echo(to_json(fields if to is None else {"folder": str(to.resolve())} | fields))
        return
    if to is None:
        _print_restored(file, restored)
    else:
        _print_rebuilt(file, to, restored)


def _find_damaged(folder: Path | None) -> Path:
    """Return the folder of the registry to restore. If there is none, say how to restore without one."""
    try:
        return find_folder(folder)
    except InvalidInput:
        reason = f"no registry found ({SETTINGS}): give its folder with --registry, or a new folder with --to"
        raise InvalidInput("restore", "folder", reason) from None


def print_advance(moved: dict[str, str], unsure: list[str], folder: Path | None = None) -> None:
    """Print which timelines were moved, and which prefixes need the last number that was issued."""
    option = "" if folder is None else f" --registry {shlex.quote(str(folder))}"
    for key, until in moved.items():
        print_error(
            f"new names under {escape_control(key.removesuffix(COUNTER_SUFFIX))} continue after {until}, "
            "so that no missing name is issued again"
        )
    for key in unsure:
        name = escape_control(key)
        print_error(
            f"the last number of {name} is unknown: no numbers are issued until you set it with "
            f"perdure prefix reset {name} --number N --reason …{option}"
        )


def _print_restored(file: Path, restored: RestoreResult) -> None:
    typer.echo(f"Restored {file}.")
    if restored.displaced_name is not None:
        typer.echo(f"The previous database was renamed to {restored.displaced_name}")
    print_advance(restored.moved, restored.unsure)
    _print_losses("")


def _print_rebuilt(file: Path, folder: Path, restored: RestoreResult) -> None:
    where = shlex.quote(str(folder))
    secrets = run_anonymous(folder, _count_secrets, check=False)
    typer.echo(f"Restored {file} into {folder.resolve()}, with its settings ({SETTINGS}).")
    print_advance(restored.moved, restored.unsure, folder)
    typer.echo(
        f"The clock of this machine says {iso_now(SystemClock())[:19]}Z, and new names continue after that. "
        "If it is wrong, mint nothing: correct it, and restore into another folder."
    )
    typer.echo(
        f"{ADMIN_KEY} is not in a backup. Keys still work: set PERDURE_KEY to yours. If all keys are lost:  "
        f"perdure agent recover AGENT --reason … --registry {where}"
    )
    if secrets:
        typer.echo(
            f"{SECRETS_KEY} is not in a backup. Handle clients with a secret key (HS_SECKEY, {secrets:,} here) cannot "
            f"authenticate until you copy that file to {shlex.quote(str(folder / SECRETS_KEY))} (chmod 600)."
        )
    if run_anonymous(folder, _has_server_key, check=False):
        typer.echo(
            f"{SERVER_KEY} is not in a backup. Other servers refuse answers of this one until you copy that file to "
            f"{shlex.quote(str(folder / SERVER_KEY))} (chmod 600)."
        )
    _print_losses(f" --registry {where}")
    typer.echo(f"If the lost registry still runs somewhere, stop it. Next:  perdure serve --registry {where}")


def _print_losses(option: str) -> None:
    typer.echo(
        "Identifiers that were minted or changed after the backup are missing. Import them again if you have them."
    )
    typer.echo(f"Keys and grants are those of the backup. Check them with: perdure agent list --keys{option}")


async def _count_secrets(registry: Registry) -> int:
    return await registry.store.read(lambda reader: len(reader.secrets()))


async def _has_server_key(registry: Registry) -> bool:
    return await registry.store.read(lambda reader: reader.fact(SERVER_KEY_FACT) is not None)


@contextmanager
def _show_progress(what: str) -> Iterator[Progress]:
    with byte_progress() as bar:
        task = bar.add_task(what, total=None)

        def progress(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield progress
