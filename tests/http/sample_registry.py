"""Registries with names before they are served, and writes beside a running server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.registry_fixture import FEW_PARTITIONS

from perdure.folder.registry_folder import ADMIN_KEY, make_registry, open_registry
from perdure.registry import Agent, Registry, Statement, add_prefix, authenticate, mint
from perdure.settings_file import DEFAULT_STORE

PREFIX = "20.500.777"


def fill_registry(
    folder: Path,
    targets: Mapping[str, str],
    *,
    prefix: str = PREFIX,
    case_sensitive: bool = True,
    store: str = DEFAULT_STORE,
) -> None:
    """Add these suffixes with their targets under one prefix. The registry is created if necessary."""

    async def work() -> None:
        if not (folder / ADMIN_KEY).exists():
            await make_registry(folder, name="Tests", store=store, postgresql=FEW_PARTITIONS)
        async with open_for_writing(folder) as (registry, admin):
            await add_prefix(registry, admin, prefix, minter="chosen", case_sensitive=case_sensitive)
            for suffix, target in targets.items():
                await mint(registry, admin, prefix, statement=Statement(target=target), suffixes=[suffix])

    asyncio.run(work())


@asynccontextmanager
async def open_for_writing(folder: Path) -> AsyncIterator[tuple[Registry, Agent]]:
    """Open the registry of a folder as its administrator in this process, also beside a server."""
    async with open_registry(folder) as registry:
        yield registry, await authenticate(registry, (folder / ADMIN_KEY).read_text())
