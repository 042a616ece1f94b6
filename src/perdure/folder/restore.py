"""Restore a registry from a backup, and continue with a database that has lost changes."""

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from perdure.errors import InvalidInput, StoreSealed, StoreUnavailable
from perdure.folder.registry_folder import location_of, lock_registry
from perdure.registry import reopen
from perdure.registry.entities import Event
from perdure.registry.permissions.agents import MACHINE_AGENT
from perdure.registry.recovery import Advance, accept_loss, advance_timelines
from perdure.registry.store_interface import Progress, Transaction
from perdure.settings_file import (
    SettingsFile,
    read_settings,
)
from perdure.store.backup_digest import parse_digest
from perdure.store.commit_mark import find_mark_files
from perdure.store.location import StoreLocation
from perdure.timelines.clock import Clock, SystemClock, iso_now


class RestoreResult(NamedTuple):
    """The result of a restore: the new name of the old database, and the timelines that were moved forward, with dates.

    `unsure` are prefixes that mint no numbers until an administrator has set the number after which to continue.
    """

    displaced_name: str | None
    moved: dict[str, str]
    unsure: list[str]


async def restore_registry(
    folder: Path,
    backup: Path,
    *,
    digest: str | None = None,
    clock: Clock | None = None,
    progress: Progress = lambda done, of: None,
) -> RestoreResult:
    """Replace the database by a backup, and move every timeline past all dates that may have been issued since.

    With a digest, a file with another SHA-256 digest is refused.
    """
    file = read_settings(folder)
    expected = None if digest is None else parse_digest(digest)
    with lock_registry(folder, alone=True):
        marks = find_mark_files(folder)
        restored = await restore_store(folder, file, backup, expected, clock or SystemClock(), progress)
        for mark in marks:  # without its mark, the old database is refused if it is copied back
            mark.unlink(missing_ok=True)
        return restored


async def restore_store(
    folder: Path,
    file: SettingsFile,
    backup: Path,
    digest: str | None,
    clock: Clock,
    progress: Progress,
    settings: str | None = None,
) -> RestoreResult:
    """Restore the store that the settings name. The caller has locked the folder.

    If the settings of the folder are those of the backup, `settings` is their text, as the caller has read it before.
    """
    location = location_of(folder, file)
    if location.is_file(backup):
        raise InvalidInput("restore", "file", f"{backup.name} is the database itself, not a backup")
    await _refuse_read_only(location)
    incoming = location.temporary_location("incoming")
    incoming.remove()
    try:
        enclosed = await incoming.restore_backup(backup, progress, digest)
        if settings not in (None, enclosed):
            raise StoreUnavailable(f"{backup.name} was replaced while it was read: try again", safe_to_retry=True)
        await _check_backup(incoming, file, clock)
        if not location.exists():
            advance = await _advance_restored(incoming, file, clock, {})
            location.install(incoming)
            return RestoreResult(None, *advance)
        with location.replace_with(incoming, iso_now(clock)[:19].replace(":", "").replace("-", "")) as displaced:
            advance = await _advance_restored(incoming, file, clock, displaced.timelines)
        return RestoreResult(displaced.name, *advance)
    except BaseException:
        incoming.remove()
        raise


async def _refuse_read_only(location: StoreLocation) -> None:
    """Refuse a registry that is being moved or was moved: after a restore there would be two of it."""
    try:
        store = location.open()
    except StoreUnavailable:
        return  # missing or damaged, which is why it is restored
    try:
        reason = await store.seal_reason()
    finally:
        store.close()
    if reason is not None:
        raise StoreSealed(reason)


async def _check_backup(incoming: StoreLocation, file: SettingsFile, clock: Clock) -> None:
    store = incoming.open()
    try:
        await reopen(store, clock, file.settings, file.registry.id)
        problems = await store.read(lambda reader: list(reader.contradictions()))
        if problems:
            raise StoreUnavailable(f"the backup is damaged, and was not restored: {problems[0]}")
        await store.seal(None)  # a backup may have been made while it was read-only
    finally:
        store.close()


async def _advance_restored(
    incoming: StoreLocation, file: SettingsFile, clock: Clock, known: dict[str, Fraction]
) -> Advance:
    store = incoming.open()
    try:
        registry = await reopen(store, clock, file.settings, file.registry.id)

        def work(tx: Transaction) -> Advance:
            advance = advance_timelines(registry, tx, store.high_water.marks(), known)
            detail = f"{len(advance.moved)} timelines moved forward"
            tx.put_event(Event(registry.current_time(), MACHINE_AGENT, "restore", registry.id, detail))
            return advance

        return await store.write(work)
    finally:
        store.close()


async def recover_registry(folder: Path, reason: str) -> Advance:
    """Accept a database that has lost acknowledged writes; `reason` is recorded."""
    file = read_settings(folder)
    with lock_registry(folder, alone=True):
        store = location_of(folder, file).open()
        try:
            registry = await reopen(store, SystemClock(), file.settings, file.registry.id)
            return await accept_loss(registry, store.high_water.marks(), reason)
        finally:
            store.close()
