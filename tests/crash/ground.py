"""The registry that these tests ill-treat: one prefix for every way of minting."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

from perdure.minting.clock import Clock, SystemClock
from perdure.registry import Agent, Registry, Settings, add_prefix, add_subsystem, found, reopen
from perdure.store.sqlite import SqliteStore

DATABASE: Final = "registry.db"
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


async def lay(folder: Path) -> str:
    """Found the registry in an empty folder; its identity."""
    store = SqliteStore(folder / DATABASE, create=True)
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
    store = SqliteStore(folder / DATABASE)
    try:
        registry = await reopen(store, clock or SystemClock(), Settings(), expected_id)
        admin = await store.read(lambda reader: reader.agent("admin"))
        assert admin is not None
        yield Open(registry, admin)
    finally:
        store.close()
