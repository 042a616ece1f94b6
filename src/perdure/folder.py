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
from perdure.registry.agents import THE_MACHINE
from perdure.registry.entities import COUNTER, Event
from perdure.registry.protocol import Store, Transaction
from perdure.store.folders import sync_folder
from perdure.store.sqlite import SqliteStore
from perdure.store.sqlite.files import create_private, put_in_place, remove_database, set_aside

SETTINGS: Final = "perdure.toml"
DATABASE: Final = "perdure.db"
ADMIN_KEY: Final = "admin.key"
LOCK: Final = "perdure.lock"
_BUILDING: Final = f".{DATABASE}.new"

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
    """Whether a registry was made here, to its last step."""
    return (folder / SETTINGS).is_file() and not (folder / _BUILDING).exists()


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
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreUnavailable(f"the folder {shown(str(folder))} cannot be made: {problem.strerror}") from None
    with _held(folder, alone=True):  # two who make one at once must not mix theirs
        _refuse_what_is_there(folder)
        building = folder / _BUILDING
        remove_database(building)
        store = SqliteStore(building, create=True)
        try:
            settings = Settings(type_prefix=type_prefix)
            founded = await found(
                store,
                clock or SystemClock(),
                settings,
                name=name,
                home=home,
                admin=admin,
                ppid_namespace=ppid_namespace,
            )
        except BaseException:
            store.close()
            remove_database(building)
            raise
        store.close()
        _write(folder / ADMIN_KEY, f"{founded.key}\n", 0o600)
        text = _TEMPLATE.format(id=founded.registry.id, database=DATABASE, type_prefix=_quoted(type_prefix))
        _write(folder / SETTINGS, text, 0o644)
        put_in_place(building, folder / DATABASE)  # the last step: interrupted before, all can be done again
        return founded


def _refuse_what_is_there(folder: Path) -> None:
    database, building = folder / DATABASE, folder / _BUILDING
    if (folder / SETTINGS).is_file():
        if database.exists() or not building.exists():
            raise InvalidInput("registry", "folder", "there is a registry in this folder already")
        (folder / SETTINGS).unlink()  # it was interrupted before its last step: nobody has its key yet
    if database.exists():
        reason = f"there is a {DATABASE} in this folder but no {SETTINGS}: move one of them, or bring back the other"
        raise InvalidInput("registry", "folder", reason)


async def restore_registry(folder: Path, backup: Path, *, clock: Clock | None = None) -> Restored:
    """Put a backup in the place of the database, and move every timeline past all that may have been issued since."""
    file = _read_settings(folder)
    with _held(folder, alone=True):
        return await _restore(folder, file, backup, clock or SystemClock())


async def _restore(folder: Path, file: _SettingsFile, backup: Path, time: Clock) -> Restored:
    database = _database(folder, file)
    if backup.exists() and database.exists() and backup.samefile(database):
        raise InvalidInput("restore", "file", f"{backup.name} is the database itself, and no backup")
    incoming = database.with_name(f".{database.name}.incoming")
    remove_database(incoming)
    create_private(incoming)
    try:
        shutil.copyfile(backup, incoming)
    except OSError as problem:
        remove_database(incoming)
        raise StoreUnavailable(f"{shown(str(backup))} cannot be read: {problem.strerror}") from None
    aside: Path | None = None
    known: dict[str, Fraction] = {}
    try:
        try:
            store = SqliteStore(incoming)
        except StoreUnavailable as problem:
            reason = f"{backup.name} is no backup of Perdure, or is damaged; nothing was changed"
            raise StoreUnavailable(reason) from problem
        try:
            registry = await reopen(store, time, file.settings, file.registry.id)
            problems = await store.read(lambda reader: list(reader.contradictions()))
            if problems:
                raise StoreUnavailable(f"the backup is damaged, and was left alone: {problems[0]}")
            if database.exists():
                aside = _free_name(database, time)
                known = set_aside(database, aside)
            moved, unsure = await store.write(lambda tx: _move_forward(registry, tx, store.high_water.marks(), known))
        finally:
            store.close()
        put_in_place(incoming, database, replace=True)
    except BaseException:
        remove_database(incoming)
        raise
    return Restored(aside, moved, unsure)


def _move_forward(
    registry: Registry, tx: Transaction, marks: dict[str, Fraction], known: dict[str, Fraction]
) -> tuple[dict[str, str], list[str]]:
    """Every timeline past the backup's own last date, the marks, the database that is replaced, and the present.

    Timelines that the backup has never heard of count too: their first names were issued since.
    """
    now = seconds(registry.clock)
    here = tx.timelines()
    moved: dict[str, str] = {}
    unsure: list[str] = []
    for key in here.keys() | marks.keys() | known.keys():
        counts = key.endswith(COUNTER)
        last = here.get(key)
        candidates = [date for source in (here, marks, known) if (date := source.get(key)) is not None]
        safe = max(candidates) if counts else max(*candidates, now)
        if counts and key not in known:  # the mark may be as old as the backup
            unsure.append(key.removesuffix(COUNTER))
        if last is None or safe > last:
            tx.put_timeline(key, safe, AHEAD)
            moved[key] = str(safe) if counts else instant.to_iso(safe // 1)
    detail = f"{len(moved)} timelines moved forward"
    tx.put_event(Event(iso_now(registry.clock), THE_MACHINE, "restore", registry.id, detail))
    return moved, sorted(unsure)


def _free_name(database: Path, clock: Clock) -> Path:
    """A name beside the database for the one that is replaced: nothing is ever thrown away."""
    stamp = iso_now(clock)[:19].replace(":", "").replace("-", "")
    stem = f"{database.stem}-before-restore-{stamp}"
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    return next(file for name in names if not (file := database.with_name(f"{name}{database.suffix}")).exists())


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
    sync_folder(path.parent)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()  # TOML's basic strings are written as JSON's are
