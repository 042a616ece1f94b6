"""The registry that these tests ill-treat: one prefix for every way of minting.

A folder holds it: the database itself, or a note that says where on a PostgreSQL server that is.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from perdure.minting.clock import Clock, SystemClock
from perdure.registry import Agent, Registry, Settings, add_prefix, add_subsystem, found, reopen
from perdure.registry.protocol import Store
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore

DATABASE: Final = "registry.db"
ELSEWHERE: Final = "postgresql.json"
MARKS: Final = "high-water.json"
RANDOM, DATED, NUMBERED, BULK = "12345", "12346", "12347", "12348"
PAIRED: Final = "sid.inpe.br/mtc-m18"
TIMELINES: Final = (DATED, NUMBERED, PAIRED)  # what is minted from the last date or number
KEYS: Final = {DATED: DATED, NUMBERED: f"{NUMBERED}/#", PAIRED: PAIRED}  # where the last one is kept
_FINE: Final = Fraction(1, 1000)


class Open(NamedTuple):
    """A registry, and an agent who may do everything in it."""

    registry: Registry
    admin: Agent


class Elsewhere(msgspec.Struct, frozen=True):
    """The note: the registry of this folder is in a schema on a server. `options` are the store's."""

    address: str
    options: PostgresOptions = PostgresOptions(partitions=2)  # enough to see that there are several, and quickly made

    def leave_in(self, folder: Path) -> None:
        (folder / ELSEWHERE).write_bytes(msgspec.json.encode(self))


def open_store(folder: Path, *, create: bool = False) -> Store:
    """On the engine that the folder is for."""
    note = folder / ELSEWHERE
    if not os.path.exists(note):  # also where the folder may not be entered
        return SqliteStore(folder / DATABASE, create=create)
    place = msgspec.json.decode(note.read_bytes(), type=Elsewhere)
    return PostgresStore(place.address, folder / MARKS, place.options, create=create)


async def lay(folder: Path) -> str:
    """Found the registry in a folder that has none yet; its identity."""
    store = open_store(folder, create=True)
    try:
        registry, admin, _ = await found(store, SystemClock(), Settings(), name="Test Library")
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
async def opened(folder: Path, clock: Clock | None = None, expected_id: str | None = None) -> AsyncIterator[Open]:
    """The registry in this folder, until the block ends."""
    store = open_store(folder)
    try:
        registry = await reopen(store, clock or SystemClock(), Settings(), expected_id)
        admin = await store.read(lambda reader: reader.agent("admin"))
        assert admin is not None
        yield Open(registry, admin)
    finally:
        store.close()
