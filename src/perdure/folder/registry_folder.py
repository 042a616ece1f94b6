"""The folder of a registry: settings, marks, and the database if it is a file; functions to create, lock and open it.

perdure.toml       the settings, with comments; for the operator to edit
perdure.db         the database of the SQLite store (with -wal and -shm beside it while it is open)
high-water.json    the furthest dates that may have been issued, for the restore of an old backup
admin.key          the first administrator's key, readable by its owner alone; may be removed
secrets.key        the key that encrypts secrets in the database, created with the first one; not in any backup
server.key         the key with which the server signs answers to other servers; not in any backup
commits-….mark     the last commit that the database acknowledged; it must stay with the database
schema.digest      the digest of the last correct schema on a server; may be removed
uploads            files that clients are uploading over HTTP in several parts
perdure.lock       locked by every program that has the registry open
"""

import fcntl
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final
from uuid import UUID

from perdure.errors import InvalidInput, StoreUnavailable, quote_text
from perdure.names.resolver_address import ResolverAddress
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.records.authority_metadata import DEFAULT_TYPE_PREFIX
from perdure.records.namespaces import person_iris_at
from perdure.registry import NewRegistry, Registry, Settings, create_registry, reopen
from perdure.registry.opening_checks import check_store, find_clock_doubt
from perdure.registry.own_addresses import LOOPBACK, OwnAddresses, use_own_addresses
from perdure.registry.person_iris import PersonIriSettings, adopt_person_iris
from perdure.registry.secret_box import SECRETS_KEY
from perdure.registry.server_key_store import SERVER_KEY
from perdure.registry.value_types import register_missing_types
from perdure.settings_file import (
    DATABASE,
    DEFAULT_STORE,
    SETTINGS,
    SettingsFile,
    read_settings,
    write_settings,
)
from perdure.store.file_sync import open_as_folder_owner, write_atomically
from perdure.store.key_file import FileSealer, FileServerKey
from perdure.store.location import StoreLocation
from perdure.store.open_location import parse_location
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.timelines.clock import Clock, SystemClock

ADMIN_KEY: Final = "admin.key"
LOCK: Final = "perdure.lock"
_NEW_SUFFIX: Final = "new"
_DEFAULT_OPTIONS: Final = PostgresOptions()


def is_registry(folder: Path) -> bool:
    """Return whether a folder contains a registry whose creation was completed, as far as its files show."""
    was_interrupted = (folder / f".{DATABASE}.{_NEW_SUFFIX}").exists() and not (folder / DATABASE).exists()
    return (folder / SETTINGS).is_file() and not was_interrupted


@contextmanager
def create_folder(folder: Path) -> Iterator[None]:
    """Create a folder if it does not exist. If the block fails, remove what is new: the folder, and the lock in it."""
    is_new, was_locked = not folder.exists(), (folder / LOCK).exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StoreUnavailable(f"the folder {quote_text(str(folder))} cannot be created: {problem.strerror}") from None
    try:
        yield
    except BaseException:
        with suppress(OSError):
            if not was_locked:
                (folder / LOCK).unlink()
            if is_new:
                folder.rmdir()
        raise


@contextmanager
def lock_registry(folder: Path, *, alone: bool = False) -> Iterator[None]:
    """Lock the registry while it is open; with `alone` exclusively, to replace its files."""
    problem = (
        "open in another program: stop that first" if alone else "being restored: try again when that has finished"
    )
    with lock_file(folder / LOCK, f"the registry is {problem}", alone=alone):
        yield


@contextmanager
def lock_file(file: Path, busy: str, *, alone: bool = True) -> Iterator[None]:
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
    the caller passes in is not checked. Until then, names may be given as web addresses of this registry's resolver.
    """
    file = read_settings(folder)
    with lock_registry(folder), use_own_addresses(resolver_addresses(file)):
        store = location_of(folder, file).open()
        try:
            sealer = FileSealer(folder / SECRETS_KEY)
            registry = await reopen(store, clock or SystemClock(), file.settings, file.registry.id, sealer)
            registry = registry._replace(server_key=FileServerKey(folder / SERVER_KEY))
            if check:
                await check_store(store)
                registry = await adopt_person_iris(registry, file.person_iris)
                if clock is None:
                    registry = registry._replace(clock_doubt=await find_clock_doubt(store, registry.clock))
                if registry.clock_doubt is None:
                    await register_missing_types(registry)
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
    public_url: str = "",
    person_iris: str = "",
    clock: Clock | None = None,
) -> NewRegistry:
    """Create a registry in a folder, and the folder if it does not exist. An unfinished registry is replaced.

    Persons are named at `person_iris`, by default at the public URL, for as long as the registry exists.
    """
    if public_url:
        person_iris_at(public_url)  # raises for an invalid one
    location = parse_location(store, folder, postgresql)
    with create_folder(folder), lock_registry(folder, alone=True):  # two programs must not create one at once
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
                    person_iris=PersonIriSettings(person_iris, public_url),
                )
            finally:
                opened.close()
        except BaseException:
            building.remove()
            raise
        write_atomically(folder / ADMIN_KEY, f"{created.key}\n", 0o600)
        write_settings(
            folder,
            id=created.registry.id,
            store=store,
            type_prefix=type_prefix,
            public_url=public_url,
            person_iris=person_iris,
        )
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


def resolver_addresses(file: SettingsFile) -> OwnAddresses:
    """Return the addresses of a registry's resolver: public ones, of old hosts, and of a server on this machine."""
    found = []
    for url in (file.http.public_url, *(f"http://{host}" for host in file.http.old_hosts)):
        with suppress(InvalidInput):  # it is not set, or `serve` refuses it
            found.append(ResolverAddress.parse(url))
    return (*found, *LOOPBACK)


def registry_location(folder: Path) -> StoreLocation:
    """Return the location of the registry's store."""
    return location_of(folder, read_settings(folder))


@contextmanager
def exclusive_location(folder: Path) -> Iterator[StoreLocation]:
    """Return the location of the registry's store, while no other program on this machine can open the registry."""
    location = registry_location(folder)
    with lock_registry(folder, alone=True):
        yield location


def location_of(folder: Path, file: SettingsFile) -> StoreLocation:
    return parse_location(file.registry.store, folder, file.postgresql)
