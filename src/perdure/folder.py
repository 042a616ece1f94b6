"""The folder of a registry: settings, marks, and the database if it is a file; functions to open, create and restore.

perdure.toml       the settings, with comments; for the operator to edit
perdure.db         the database of the embedded store (with -wal and -shm beside it while it is open)
high-water.json    the furthest dates that may have been issued, for the restore of an old backup
admin.key          the first administrator's key, readable by its owner alone; may be removed
secrets.key        the key that encrypts secrets in the database, created with the first one; not in any backup
commits-….mark     the last commit that the database acknowledged; it must stay with the database
schema.digest      the digest of the last correct schema on a server; may be removed
perdure.lock       locked by every program that has the registry open
"""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from perdure.errors import InvalidInput, StoreSealed, StoreUnavailable, quote_text
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.records.authority_metadata import DEFAULT_TYPE_PREFIX
from perdure.registry import NewRegistry, Registry, Settings, create_registry, reopen
from perdure.registry.entities import Event
from perdure.registry.opening_checks import check_store, find_clock_doubt
from perdure.registry.permissions.agents import MACHINE_AGENT
from perdure.registry.recovery import Advance, accept_loss, advance_timelines
from perdure.registry.relocation import MoveProgress, MoveResult, check_movable, check_unfinished, move
from perdure.registry.secret_box import SECRETS_KEY
from perdure.registry.store_interface import Progress, Transaction
from perdure.settings_file import (
    DATABASE,
    DEFAULT_STORE,
    SETTINGS,
    SettingsFile,
    read_settings,
    with_store,
    write_settings,
    write_store,
)
from perdure.store.backup_digest import parse_digest
from perdure.store.commit_mark import find_mark_files
from perdure.store.file_sync import open_as_folder_owner, write_atomically
from perdure.store.key_file import FileSealer
from perdure.store.location import StoreLocation
from perdure.store.open_location import parse_location
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.timelines.clock import Clock, SystemClock, iso_now

ADMIN_KEY: Final = "admin.key"
LOCK: Final = "perdure.lock"
_MOVE_LOCK: Final = ".moving.lock"
_NEW_SUFFIX: Final = "new"
_DEFAULT_OPTIONS: Final = PostgresOptions()


class RestoreResult(NamedTuple):
    """The result of a restore: the new name of the old database, and the timelines that were moved forward, with dates.

    `unsure` are prefixes that mint no numbers until an administrator has set the number after which to continue.
    """

    displaced_name: str | None
    moved: dict[str, str]
    unsure: list[str]


def is_registry(folder: Path) -> bool:
    """Return whether a folder contains a registry whose creation was completed, as far as its files show."""
    was_interrupted = (folder / f".{DATABASE}.{_NEW_SUFFIX}").exists() and not (folder / DATABASE).exists()
    return (folder / SETTINGS).is_file() and not was_interrupted


@contextmanager
def _lock_registry(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Lock the registry while it is open; with `alone` exclusively, to replace its files."""
    problem = (
        "open in another program: stop that first" if alone else "being restored: try again when that has finished"
    )
    with _lock_file(folder / LOCK, f"the registry is {problem}", alone=alone):
        yield


@contextmanager
def _lock_file(file: Path, busy: str, *, alone: bool = True) -> Iterator[None]:
    try:
        lock = open_as_folder_owner(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        reason = f"the folder {quote_text(str(file.parent))} is not writable: {problem.strerror}"
        raise StoreUnavailable(reason) from None
    try:
        try:
            fcntl.flock(lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreUnavailable(busy, safe_to_retry=True) from None
        yield
    finally:
        os.close(lock)


@asynccontextmanager
async def open_registry(folder: Path, clock: Clock | None = None, *, check: bool = True) -> AsyncIterator[Registry]:
    """Open the registry in a folder until the block ends. By then all acknowledged writes are on disk.

    Without `check`, a registry that has lost acknowledged writes is opened too, to inspect and repair it. A clock that
    the caller passes in is not checked.
    """
    file = read_settings(folder)
    with _lock_registry(folder):
        store = _location_of(folder, file).open()
        try:
            sealer = FileSealer(folder / SECRETS_KEY)
            registry = await reopen(store, clock or SystemClock(), file.settings, file.registry.id, sealer)
            if check:
                await check_store(store)
                if clock is None:
                    registry = registry._replace(clock_doubt=await find_clock_doubt(store, registry.clock))
            yield registry
        finally:
            store.close()


async def make_registry(
    folder: Path,
    *,
    name: str,
    store: str = DEFAULT_STORE,
    postgresql: PostgresOptions = _DEFAULT_OPTIONS,
    home: str | None = None,
    admin: str = "admin",
    type_prefix: str = DEFAULT_TYPE_PREFIX,
    ppid_namespace: UUID = PPID_NAMESPACE,
    clock: Clock | None = None,
) -> NewRegistry:
    """Create a registry in a folder, and the folder if it does not exist. An unfinished registry is replaced."""
    location = parse_location(store, folder, postgresql)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreUnavailable(f"the folder {quote_text(str(folder))} cannot be created: {problem.strerror}") from None
    with _lock_registry(folder, alone=True):  # two programs must not create one at once
        building = location.temporary_location(_NEW_SUFFIX)
        _refuse_existing(folder, location, building)
        building.remove()
        try:
            opened = building.create()
            try:
                created = await create_registry(
                    opened,
                    clock or SystemClock(),
                    Settings(type_prefix=type_prefix),
                    name=name,
                    home=home,
                    admin=admin,
                    ppid_namespace=ppid_namespace,
                )
            finally:
                opened.close()
        except BaseException:
            building.remove()
            raise
        write_atomically(folder / ADMIN_KEY, f"{created.key}\n", 0o600)
        write_settings(folder, id=created.registry.id, store=store, type_prefix=type_prefix)
        location.install(building)  # the last step: if interrupted before, all can be repeated
        return created


def _refuse_existing(folder: Path, location: StoreLocation, building: StoreLocation) -> None:
    exists = location.exists()
    if (folder / SETTINGS).is_file():
        if exists or not building.exists():
            building.remove()  # its second name, if the last step was interrupted
            raise InvalidInput("registry", "folder", "this folder already contains a registry")
        (folder / SETTINGS).unlink()  # it was interrupted before its last step, so its key was not used yet
    if exists:
        reason = (
            f"{location.display_name} already contains a registry, but this folder has no {SETTINGS}: "
            "copy that file from the folder where the registry was created, or choose another location"
        )
        raise InvalidInput("registry", "folder", reason)


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
    with _lock_registry(folder, alone=True):
        marks = find_mark_files(folder)
        restored = await _restore(folder, file, backup, expected, clock or SystemClock(), progress)
        for mark in marks:  # without its mark, the old database is refused if it is copied back
            mark.unlink(missing_ok=True)
        return restored


async def _restore(
    folder: Path, file: SettingsFile, backup: Path, digest: str | None, clock: Clock, progress: Progress
) -> RestoreResult:
    location = _location_of(folder, file)
    if location.is_file(backup):
        raise InvalidInput("restore", "file", f"{backup.name} is the database itself, not a backup")
    await _refuse_read_only(location)
    incoming = location.temporary_location("incoming")
    incoming.remove()
    try:
        await incoming.restore_backup(backup, progress, digest)
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
    with _lock_registry(folder, alone=True):
        store = _location_of(folder, file).open()
        try:
            registry = await reopen(store, SystemClock(), file.settings, file.registry.id)
            return await accept_loss(registry, store.high_water.marks(), reason)
        finally:
            store.close()


async def move_registry(folder: Path, to: str, watch: MoveProgress, *, clock: Clock | None = None) -> MoveResult:
    """Copy the registry to another store, and change the settings to that."""
    file = read_settings(folder)
    current, new = _location_of(folder, file), parse_location(to, folder, file.postgresql)
    if file.registry.store == to:
        raise InvalidInput("move", "to", f"the registry is already in {new.display_name}")
    with_store(folder, to)  # checks first that the settings can be changed
    with _lock_registry(folder), _lock_file(folder / _MOVE_LOCK, "the registry is being moved by another program"):
        source = current.open()
        try:
            await check_movable(source, new.display_name)
            target = new.create()
            try:
                moved = await move(
                    source,
                    target,
                    clock or SystemClock(),
                    origin=current.display_name,
                    to=new.display_name,
                    watch=watch,
                )
            finally:
                target.close()
        finally:
            source.close()
        write_store(folder, to)  # the last step: if interrupted before, the same move completes it
        return moved


async def abandon_move(folder: Path, to: str) -> None:
    """Delete the unfinished copy, and make the registry writable again where it is."""
    file = read_settings(folder)
    current, new = _location_of(folder, file), parse_location(to, folder, file.postgresql)
    if file.registry.store == to:
        raise InvalidInput("move", "to", "the move is finished: the registry is there now. Move it back instead")
    with _lock_registry(folder), _lock_file(folder / _MOVE_LOCK, "the registry is being moved by another program"):
        source = current.open()
        try:
            target = new.open() if new.exists() else None
            try:
                await check_unfinished(source, target, new.display_name)
                if target is not None:
                    target.remove_mark()
            finally:
                if target is not None:
                    target.close()
            if target is not None:
                new.remove()
            await source.seal(None)
        finally:
            source.close()


def registry_location(folder: Path) -> StoreLocation:
    """Return the location of the registry's store."""
    return _location_of(folder, read_settings(folder))


@contextmanager
def exclusive_location(folder: Path) -> Iterator[StoreLocation]:
    """Return the location of the registry's store, while no other program on this machine can open the registry."""
    location = registry_location(folder)
    with _lock_registry(folder, alone=True):
        yield location


def _location_of(folder: Path, file: SettingsFile) -> StoreLocation:
    return parse_location(file.registry.store, folder, file.postgresql)
