"""A registry's folder: the settings, the marks, the database if it is a file, and how to open or make one.

perdure.toml       the settings, commented; for people to edit
perdure.db         the database of the embedded store (with -wal and -shm beside it while it is open)
high-water.json    the furthest dates that may have been issued, for when an old backup is restored
admin.key          the first administrator's key, readable by its owner alone; may be removed
secrets.key        what secrets in the database are sealed with, made with the first of them; no backup holds it
commits-….mark     what the database has acknowledged; it belongs to the database, and must stay with it
schema.digest      the digest of the schema on a server that was found to be right; may be removed
perdure.lock       held by every program that has the registry open
"""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from perdure.errors import InvalidInput, StoreSealed, StoreUnavailable, shown
from perdure.minting.clock import Clock, SystemClock, iso_now
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.records.authority import DEFAULT_TYPE_PREFIX
from perdure.registry import Founded, Registry, Settings, found, reopen
from perdure.registry.agents import THE_MACHINE
from perdure.registry.entities import Event
from perdure.registry.moving import Moved, Watch, check_movable, check_unfinished, move
from perdure.registry.opening import check_store, find_clock_doubt
from perdure.registry.protocol import Progress, Transaction
from perdure.registry.recovery import Advance, accept_loss, advance_timelines
from perdure.registry.sealing import SECRETS_KEY
from perdure.settings_file import (
    DATABASE,
    DEFAULT_STORE,
    SETTINGS,
    SettingsFile,
    change_store,
    changed_store,
    read_settings,
    write_settings,
)
from perdure.store.commit_mark import find_mark_files
from perdure.store.digest import read_digest
from perdure.store.folders import write_whole
from perdure.store.key_file import FileSealer
from perdure.store.place import Place
from perdure.store.places import place_of
from perdure.store.postgres.options import PostgresOptions

ADMIN_KEY: Final = "admin.key"
LOCK: Final = "perdure.lock"
_MOVING: Final = ".moving.lock"
_NEW: Final = "new"
_DEFAULT_OPTIONS: Final = PostgresOptions()


class Restored(NamedTuple):
    """What a restore did: where the database that was there went, and which timelines were moved forward, to when.

    `unsure` are prefixes that do not count until an administrator has said after which number to go on.
    """

    set_aside: str | None
    moved: dict[str, str]
    unsure: list[str]


def is_registry(folder: Path) -> bool:
    """Whether a registry was made here, to its last step as far as files can tell."""
    was_interrupted = (folder / f".{DATABASE}.{_NEW}").exists() and not (folder / DATABASE).exists()
    return (folder / SETTINGS).is_file() and not was_interrupted


@contextmanager
def _held(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Whoever has the registry open says so; whoever replaces its files must be alone."""
    what = "open in another program: stop that first" if alone else "being restored: try again when that has finished"
    with _locked(folder / LOCK, f"the registry is {what}", alone=alone):
        yield


@contextmanager
def _locked(file: Path, otherwise: str, *, alone: bool = True) -> Iterator[None]:
    try:
        lock = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        reason = f"the folder {shown(str(file.parent))} cannot be written: {problem.strerror}"
        raise StoreUnavailable(reason) from None
    try:
        try:
            fcntl.flock(lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreUnavailable(otherwise, safe_to_retry=True) from None
        yield
    finally:
        os.close(lock)


@asynccontextmanager
async def open_registry(folder: Path, clock: Clock | None = None, *, check: bool = True) -> AsyncIterator[Registry]:
    """The registry in a folder, until the block ends; what was acknowledged is on disk by then.

    Without `check`, one that has lost what it acknowledged is opened too, to look at it and to repair it. A clock that
    is passed in is the caller's, and is not doubted.
    """
    file = read_settings(folder)
    with _held(folder):
        store = _place(folder, file).open()
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
) -> Founded:
    """A new registry in a folder, which is made if it is not there. A half-made one from before is made again."""
    place = place_of(store, folder, postgresql)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreUnavailable(f"the folder {shown(str(folder))} cannot be made: {problem.strerror}") from None
    with _held(folder, alone=True):  # two who make one at once must not mix theirs
        building = place.beside(_NEW)
        _refuse_what_is_there(folder, place, building)
        building.remove()
        try:
            opened = building.create()
            try:
                founded = await found(
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
        write_whole(folder / ADMIN_KEY, f"{founded.key}\n", 0o600)
        write_settings(folder, id=founded.registry.id, store=store, type_prefix=type_prefix)
        place.take(building)  # the last step: interrupted before, all can be done again
        return founded


def _refuse_what_is_there(folder: Path, place: Place, building: Place) -> None:
    there = place.exists()
    if (folder / SETTINGS).is_file():
        if there or not building.exists():
            building.remove()  # its name, if it was interrupted after the last step
            raise InvalidInput("registry", "folder", "there is a registry in this folder already")
        (folder / SETTINGS).unlink()  # it was interrupted before its last step: nobody has its key yet
    if there:
        reason = (
            f"there is a registry in {place.shown} already, but no {SETTINGS} in this folder: "
            "bring that back from where it was made, or choose another place"
        )
        raise InvalidInput("registry", "folder", reason)


async def restore_registry(
    folder: Path,
    backup: Path,
    *,
    digest: str | None = None,
    clock: Clock | None = None,
    progress: Progress = lambda done, of: None,
) -> Restored:
    """Put a backup in the place of the database, and move every timeline past all that may have been issued since.

    A file that does not have the SHA-256 digest that is given is refused.
    """
    file = read_settings(folder)
    wanted = None if digest is None else read_digest(digest)
    with _held(folder, alone=True):
        marks = find_mark_files(folder)
        restored = await _restore(folder, file, backup, wanted, clock or SystemClock(), progress)
        for mark in marks:  # without its mark, the database that was there is not opened if it is copied back
            mark.unlink(missing_ok=True)
        return restored


async def _restore(
    folder: Path, file: SettingsFile, backup: Path, digest: str | None, clock: Clock, progress: Progress
) -> Restored:
    place = _place(folder, file)
    if place.is_file(backup):
        raise InvalidInput("restore", "file", f"{backup.name} is the database itself, and no backup")
    await _refuse_sealed(place)
    incoming = place.beside("incoming")
    incoming.remove()
    try:
        await incoming.fill(backup, progress, digest)
        await _check_backup(incoming, file, clock)
        if not place.exists():
            advance = await _advance(incoming, file, clock, {})
            place.take(incoming)
            return Restored(None, *advance)
        with place.replaced(incoming, iso_now(clock)[:19].replace(":", "").replace("-", "")) as aside:
            advance = await _advance(incoming, file, clock, aside.timelines)
        return Restored(aside.name, *advance)
    except BaseException:
        incoming.remove()
        raise


async def _refuse_sealed(place: Place) -> None:
    """What is being moved, or was, must not come to life again here: it would live twice."""
    try:
        store = place.open()
    except StoreUnavailable:
        return  # it is not there, or damaged: that is why it is restored
    try:
        sealed = await store.sealed()
    finally:
        store.close()
    if sealed is not None:
        raise StoreSealed(sealed)


async def _check_backup(incoming: Place, file: SettingsFile, clock: Clock) -> None:
    store = incoming.open()
    try:
        await reopen(store, clock, file.settings, file.registry.id)
        problems = await store.read(lambda reader: list(reader.contradictions()))
        if problems:
            raise StoreUnavailable(f"the backup is damaged, and was left alone: {problems[0]}")
        await store.seal(None)  # what is restored is wanted
    finally:
        store.close()


async def _advance(incoming: Place, file: SettingsFile, clock: Clock, known: dict[str, Fraction]) -> Advance:
    store = incoming.open()
    try:
        registry = await reopen(store, clock, file.settings, file.registry.id)

        def work(tx: Transaction) -> Advance:
            advance = advance_timelines(registry, tx, store.high_water.marks(), known)
            detail = f"{len(advance.moved)} timelines moved forward"
            tx.put_event(Event(registry.now(), THE_MACHINE, "restore", registry.id, detail))
            return advance

        return await store.write(work)
    finally:
        store.close()


async def recover_registry(folder: Path, reason: str) -> Advance:
    """Go on with the database that is here, although it has lost what it acknowledged; `reason` is recorded."""
    file = read_settings(folder)
    with _held(folder, alone=True):
        store = _place(folder, file).open()
        try:
            registry = await reopen(store, SystemClock(), file.settings, file.registry.id)
            return await accept_loss(registry, store.high_water.marks(), reason)
        finally:
            store.close()


async def move_registry(folder: Path, to: str, watch: Watch, *, clock: Clock | None = None) -> Moved:
    """Take everything to another store, and let the settings name that from then on."""
    file = read_settings(folder)
    here, there = _place(folder, file), place_of(to, folder, file.postgresql)
    if file.registry.store == to:
        raise InvalidInput("move", "to", f"the registry is in {there.shown} already")
    changed_store(folder, to)  # before anything is moved: that the settings can be changed
    with _held(folder), _locked(folder / _MOVING, "the registry is being moved by another program"):
        source = here.open()
        try:
            await check_movable(source, there.shown)
            target = there.create()
            try:
                moved = await move(
                    source, target, clock or SystemClock(), origin=here.shown, to=there.shown, watch=watch
                )
            finally:
                target.close()
        finally:
            source.close()
        change_store(folder, to)  # the last step: interrupted before, the same move ends it
        return moved


async def give_up_move(folder: Path, to: str) -> None:
    """Throw the unfinished copy away, and let the registry be written again where it is."""
    file = read_settings(folder)
    here, there = _place(folder, file), place_of(to, folder, file.postgresql)
    if file.registry.store == to:
        raise InvalidInput("move", "to", "the move is finished: the registry lives there now. Move it back instead")
    with _held(folder), _locked(folder / _MOVING, "the registry is being moved by another program"):
        source = here.open()
        try:
            target = there.open() if there.exists() else None
            try:
                await check_unfinished(source, target, there.shown)
                if target is not None:
                    target.remove_mark()
            finally:
                if target is not None:
                    target.close()
            if target is not None:
                there.remove()
            await source.seal(None)
        finally:
            source.close()


def registry_place(folder: Path) -> Place:
    """Where the registry of a folder is kept."""
    return _place(folder, read_settings(folder))


@contextmanager
def alone_with(folder: Path) -> Iterator[Place]:
    """The place of a registry that nobody on this machine has open meanwhile."""
    place = registry_place(folder)
    with _held(folder, alone=True):
        yield place


def _place(folder: Path, file: SettingsFile) -> Place:
    return place_of(file.registry.store, folder, file.postgresql)
