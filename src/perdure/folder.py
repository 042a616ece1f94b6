"""A registry's folder: the settings, the database, the high-water mark, and how to open or make one.

perdure.toml       the settings, commented; for people to edit
perdure.db         the database (with -wal and -shm beside it while it is open)
high-water.json    the furthest dates that may have been issued, for when an old backup is restored
admin.key          the first administrator's key, readable by its owner alone; may be removed
perdure.lock       held by every program that has the registry open
"""

import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from fractions import Fraction
from itertools import chain, count
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from perdure.errors import InvalidInput, StoreUnavailable, shown
from perdure.minting.clock import Clock, SystemClock, iso_now, seconds
from perdure.minting.timeline import AHEAD
from perdure.names import instant
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.records.authority import DEFAULT_TYPE_PREFIX
from perdure.records.checks import Limits
from perdure.registry import Founded, Registry, Settings, found, reopen
from perdure.registry.entities import COUNTER, Event
from perdure.registry.protocol import Store, Transaction
from perdure.store.sqlite import SqliteStore

SETTINGS: Final = "perdure.toml"
DATABASE: Final = "perdure.db"
ADMIN_KEY: Final = "admin.key"
LOCK: Final = "perdure.lock"

_DAY: Final = 86_400

_TEMPLATE: Final = """\
# The settings of a Perdure registry. Lines that begin with # show the defaults; remove the # to change one.

[registry]
# Who this registry is. The database and the keys carry the same; they refuse those of another.
id = "{id}"
# Where identifiers are kept: a file beside this one.
store = "sqlite:{database}"

[metadata]
# The prefix of the types in which authority metadata is written into Handle records.
type_prefix = {type_prefix}

[minting]
# How many seconds a caller is made to wait for a date that has not come, before an error says so.
# longest_wait = 10.0
# A clock that is so many days after the last date of a timeline is not believed.
# largest_gap_days = 3653.0

[limits]
# The schemes that a target may have. javascript: and data: are refused whatever is written here.
# schemes = ["http", "https", "ftp", "mailto"]
# value_bytes = 65536
# values = 2048
# record_bytes = 1048576
# url_characters = 8192
"""


class _RegistrySection(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    store: str = f"sqlite:{DATABASE}"


class _MintingSection(msgspec.Struct, forbid_unknown_fields=True):
    longest_wait: float = 10.0
    largest_gap_days: float = 3653.0


class _MetadataSection(msgspec.Struct, forbid_unknown_fields=True):
    type_prefix: str = DEFAULT_TYPE_PREFIX


class _SettingsFile(msgspec.Struct, forbid_unknown_fields=True):
    registry: _RegistrySection
    metadata: _MetadataSection = msgspec.field(default_factory=_MetadataSection)
    minting: _MintingSection = msgspec.field(default_factory=_MintingSection)
    limits: Limits = Limits()

    @property
    def settings(self) -> Settings:
        minting = self.minting
        for name, most in (("longest_wait", _DAY), ("largest_gap_days", _DAY)):
            if not 0 <= getattr(minting, name) <= most:  # what is no number is refused too
                raise InvalidInput("settings", name, f"{name} in {SETTINGS} must be between 0 and {most}")
        return Settings(self.limits, self.metadata.type_prefix, minting.longest_wait, minting.largest_gap_days)


class Restored(NamedTuple):
    """What a restore did: where the database that was there went, and which timelines were moved forward, to when."""

    set_aside: Path | None
    moved: dict[str, str]
    unsure: list[str]


def is_registry(folder: Path) -> bool:
    return (folder / SETTINGS).is_file()


@contextmanager
def _held(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Whoever has the registry open says so; whoever replaces its files must be alone."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise StoreUnavailable(f"the folder {shown(str(folder))} cannot be written: {problem.strerror}") from None
    try:
        fcntl.flock(lock, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        what = (
            "open in another program: stop that first" if alone else "being restored: try again when that has finished"
        )
        raise StoreUnavailable(f"the registry is {what}", safe_to_retry=True) from None
    finally:
        os.close(lock)


@asynccontextmanager
async def open_registry(folder: Path, clock: Clock | None = None) -> AsyncIterator[Registry]:
    """The registry in a folder, until the block ends; what was acknowledged is on disk by then."""
    file = _read_settings(folder)
    with _held(folder):
        store = _open_store(folder, file)
        try:
            yield await reopen(store, clock or SystemClock(), file.settings, file.registry.id)
        finally:
            store.close()


async def make_registry(
    folder: Path,
    *,
    name: str,
    home: str | None = None,
    admin: str = "admin",
    type_prefix: str = DEFAULT_TYPE_PREFIX,
    ppid_namespace: UUID = PPID_NAMESPACE,
    clock: Clock | None = None,
) -> Founded:
    """A new registry in a folder, which is made if it is not there. A half-made one from before is made again."""
    database, building = folder / DATABASE, folder / f".{DATABASE}.new"
    if is_registry(folder):
        if database.exists() or not building.exists():
            raise InvalidInput("registry", "folder", "there is a registry in this folder already")
        (folder / SETTINGS).unlink()  # it was interrupted before its last step: nobody has its key yet
    if database.exists():
        reason = f"there is a {DATABASE} in this folder but no {SETTINGS}: move one of them, or bring back the other"
        raise InvalidInput("registry", "folder", reason)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreUnavailable(f"the folder {shown(str(folder))} cannot be made: {problem.strerror}") from None
    _remove_database(building)
    store = SqliteStore(building, create=True)
    try:
        settings = Settings(type_prefix=type_prefix)
        founded = await found(
            store, clock or SystemClock(), settings, name=name, home=home, admin=admin, ppid_namespace=ppid_namespace
        )
    except BaseException:
        store.close()
        _remove_database(building)
        raise
    store.close()
    _write(folder / ADMIN_KEY, f"{founded.key}\n", 0o600)
    text = _TEMPLATE.format(id=founded.registry.id, database=DATABASE, type_prefix=_quoted(type_prefix))
    _write(folder / SETTINGS, text, 0o644)
    building.replace(database)  # the last step: until then, whenever this is interrupted, it can be done again
    return founded


async def restore_registry(folder: Path, backup: Path, *, clock: Clock | None = None) -> Restored:
    """Put a backup in the place of the database, and move every timeline past all that may have been issued since."""
    file = _read_settings(folder)
    with _held(folder, alone=True):
        return await _restore(folder, file, backup, clock or SystemClock())


async def _restore(folder: Path, file: _SettingsFile, backup: Path, time: Clock) -> Restored:
    database = _database(folder, file)
    incoming = database.with_name(f".{database.name}.incoming")
    _remove_database(incoming)
    try:
        shutil.copyfile(backup, incoming)
    except OSError as problem:
        raise StoreUnavailable(f"{shown(str(backup))} cannot be read: {problem.strerror}") from None
    try:
        store = SqliteStore(incoming)
        try:
            registry = await reopen(store, time, file.settings, file.registry.id)
            problems = await store.read(lambda reader: list(reader.contradictions()))
            if problems:
                raise StoreUnavailable(f"the backup is damaged, and was left alone: {problems[0]}")
            moved, unsure = await store.write(lambda tx: _move_forward(registry, tx, store))
        finally:
            store.close()
        aside = _set_aside(database, time)
        incoming.replace(database)
    except BaseException:
        _remove_database(incoming)
        raise
    return Restored(aside, moved, unsure)


def _move_forward(registry: Registry, tx: Transaction, store: SqliteStore) -> tuple[dict[str, str], list[str]]:
    marks = store.high_water.marks()
    now = seconds(registry.clock)
    moved: dict[str, str] = {}
    unsure: list[str] = []
    timelines: dict[str, Fraction | None] = dict(tx.timelines())
    # Marks of timelines that the backup has never heard of count too: their first names were issued since.
    for key, last in (dict.fromkeys(marks) | timelines).items():
        counts = key.endswith(COUNTER)
        mark = marks.get(key)
        if last is None:
            tx.put_timeline(key, marks[key], AHEAD)
            moved[key] = str(marks[key]) if counts else instant.to_iso(marks[key] // 1)
            continue
        if mark is None and counts:
            unsure.append(key.removesuffix(COUNTER))
        # Nothing was ever issued beyond the mark. Without one, nothing beyond the wait that callers put up with.
        safe = max(last, mark if mark is not None else last if counts else now + registry.settings.wait)
        if safe > last:
            tx.put_timeline(key, safe, AHEAD)
            moved[key] = str(safe) if counts else instant.to_iso(safe // 1)
    tx.put_event(
        Event(iso_now(registry.clock), "the machine itself", "restore", registry.id, f"{len(moved)} timelines")
    )
    return moved, unsure


def _set_aside(database: Path, clock: Clock) -> Path | None:
    """The database that was there stays, under another name; nothing is ever thrown away."""
    if not database.exists():
        return None
    stamp = iso_now(clock)[:19].replace(":", "").replace("-", "")
    stem = f"{database.stem}-before-restore-{stamp}"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    aside = next(file for name in names if not (file := database.with_name(f"{name}{database.suffix}")).exists())
    for suffix in ("-wal", "-shm", ""):
        part = database.with_name(database.name + suffix)
        if part.exists():
            part.replace(aside.with_name(aside.name + suffix))
    return aside


def _read_settings(folder: Path) -> _SettingsFile:
    path = folder / SETTINGS
    try:
        return msgspec.toml.decode(path.read_bytes(), type=_SettingsFile)
    except FileNotFoundError:
        raise InvalidInput(
            "registry", "folder", f"there is no registry in {shown(str(folder))}: make one with perdure init"
        ) from None
    except OSError as problem:
        raise StoreUnavailable(f"{SETTINGS} cannot be read: {problem.strerror}") from None
    except msgspec.DecodeError as problem:
        raise InvalidInput("settings", SETTINGS, f"{SETTINGS} is not right: {problem}") from None


def _database(folder: Path, file: _SettingsFile) -> Path:
    engine, _, place = file.registry.store.partition(":")
    if engine != "sqlite" or not place:
        reason = f"store = {shown(file.registry.store)} is not known; write sqlite: and the name of a file"
        raise InvalidInput("settings", "store", reason)
    return folder / place


def _open_store(folder: Path, file: _SettingsFile) -> Store:
    return SqliteStore(_database(folder, file))


def _remove_database(database: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def _write(path: Path, text: str, mode: int) -> None:
    """A file that is there whole or not at all."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(path)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()  # TOML's basic strings are written as JSON's are
