"""The registry of the crash tests: one prefix for each way of minting.

Its folder contains the database itself, or a note with the address of a PostgreSQL server.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from perdure.registry import Agent, Registry, Settings, add_prefix, add_subsystem, create_registry, reopen
from perdure.registry.store_interface import Store
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore
from perdure.timelines.clock import Clock, SystemClock

DATABASE: Final = "registry.db"
ELSEWHERE: Final = "postgresql.json"
MARKS: Final = "high-water.json"
RANDOM, DATED, NUMBERED, BULK = "12345", "12346", "12347", "12348"
PAIRED: Final = "sid.inpe.br/mtc-m18"
TIMELINES: Final = (DATED, NUMBERED, PAIRED)  # those that mint from the last date or number
KEYS: Final = {DATED: DATED, NUMBERED: f"{NUMBERED}/#", PAIRED: PAIRED}  # the keys of their timelines
_FINE: Final = Fraction(1, 1000)


class Open(NamedTuple):
    """An open registry, and an agent with all permissions."""

    registry: Registry
    admin: Agent


class ServerNote(msgspec.Struct, frozen=True):
    """The note: the registry of this folder is in a schema on a server. `options` are the store's."""

    address: str
    options: PostgresOptions = PostgresOptions(partitions=2)  # enough to see that there are several, and quickly made

    def write_to(self, folder: Path) -> None:
        (folder / ELSEWHERE).write_bytes(msgspec.json.encode(self))


def open_store(folder: Path, *, create: bool = False) -> Store:
    """Open the store on the engine of the folder."""
    note = folder / ELSEWHERE
    if not os.path.exists(note):  # also where the folder may not be entered
        return SqliteStore(folder / DATABASE, create=create)
    location = msgspec.json.decode(note.read_bytes(), type=ServerNote)
    return PostgresStore(location.address, folder / MARKS, location.options, create=create)


async def create_in(folder: Path) -> str:
    """Create a registry in an empty folder; return its identity."""
    store = open_store(folder, create=True)
    try:
        registry, admin, _ = await create_registry(store, SystemClock(), Settings(), name="Test Library")
        await add_prefixes(registry, admin)
        return registry.id
    finally:
        store.close()


async def add_prefixes(registry: Registry, admin: Agent) -> None:
    await add_prefix(registry, admin, RANDOM, minter="uuid")
    await add_prefix(registry, admin, DATED)
    await add_prefix(registry, admin, NUMBERED, minter="sequential")
    await add_prefix(registry, admin, BULK, minter="uuid")
    await add_subsystem(registry, admin, "mtc-m18.sid.inpe.br", "150.163.34.243", granularity=_FINE)


@asynccontextmanager
async def open_registry(
    folder: Path, clock: Clock | None = None, expected_id: str | None = None
) -> AsyncIterator[Open]:
    """Open the registry in a folder, until the block ends."""
    store = open_store(folder)
    try:
        registry = await reopen(store, clock or SystemClock(), Settings(), expected_id)
        admin = await store.read(lambda reader: reader.agent("admin"))
        assert admin is not None
        yield Open(registry, admin)
    finally:
        store.close()
