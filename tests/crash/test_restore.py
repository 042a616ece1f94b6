"""A registry that was restored from a backup issues no name twice."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from tests.crash.crash_registry import TIMELINES, add_prefixes
from tests.crash.kill import kill_while_creating

from perdure.errors import InvalidInput
from perdure.folder.registry_folder import make_registry, open_registry
from perdure.folder.restore import restore_registry
from perdure.registry import Agent, Registry, add_prefix, mint
from perdure.registry.integrity import verify


async def _make_registry(folder: Path) -> Agent:
    admin = (await make_registry(folder, name="Test Library")).admin
    async with open_registry(folder) as registry:
        await add_prefixes(registry, admin)
    return admin


async def _mint_names(registry: Registry, admin: Agent, count: int = 20) -> set[str]:
    return {one.name for timeline in TIMELINES for one in await mint(registry, admin, timeline, count)}


async def _backup(registry: Registry, file: Path) -> None:
    await registry.store.backup(file, lambda done, total: None)


@pytest.mark.parametrize("before", [0, 1], ids=["nothing minted before the backup", "something minted before it"])
def test_names_minted_after_the_backup_are_not_minted_again(tmp_path: Path, before: int) -> None:
    folder, backup = tmp_path / "registry", tmp_path / "backup.db"

    async def run() -> None:
        admin = await _make_registry(folder)
        async with open_registry(folder) as registry:
            if before:
                await _mint_names(registry, admin, before)
            await _backup(registry, backup)
            issued = await _mint_names(registry, admin)
        await restore_registry(folder, backup)
        async with open_registry(folder) as registry:
            assert not issued & await _mint_names(registry, admin)
            assert await verify(registry) == []

    asyncio.run(run())


def test_names_under_a_prefix_added_after_the_backup_are_not_minted_again(tmp_path: Path) -> None:
    folder, backup = tmp_path / "registry", tmp_path / "backup.db"

    async def run() -> None:
        admin = await _make_registry(folder)
        async with open_registry(folder) as registry:
            await _backup(registry, backup)
            await add_prefix(registry, admin, "54321", minter="sequential")
            issued = {one.name for one in await mint(registry, admin, "54321", 20)}
        await restore_registry(folder, backup)
        async with open_registry(folder) as registry:
            await add_prefix(registry, admin, "54321", minter="sequential")
            assert not issued & {one.name for one in await mint(registry, admin, "54321", 20)}
            assert await verify(registry) == []

    asyncio.run(run())


def test_every_replaced_database_remains(tmp_path: Path) -> None:
    folder, backup = tmp_path / "registry", tmp_path / "backup.db"

    async def run() -> list[str | None]:
        await _make_registry(folder)
        async with open_registry(folder) as registry:
            await _backup(registry, backup)
        return [(await restore_registry(folder, backup)).displaced_name for _ in range(3)]  # within one second, mostly

    aside = asyncio.run(run())
    assert len(set(aside)) == 3
    assert all(name is not None and (folder / name).exists() for name in aside)


def test_an_initialisation_that_was_killed_is_complete_or_can_be_repeated(tmp_path: Path) -> None:
    for number in range(8):
        folder = tmp_path / str(number)
        kill_while_creating(folder, "initialiser")
        asyncio.run(_check_made(folder))


async def _check_made(folder: Path) -> None:
    with suppress(InvalidInput):  # it was whole
        await make_registry(folder, name="Test Library")
    async with open_registry(folder) as registry:
        assert await verify(registry) == []


def test_an_initialisation_without_its_last_file_can_be_repeated(tmp_path: Path) -> None:
    """A random kill seldom meets this moment, so the last step is undone."""
    folder = tmp_path / "registry"
    asyncio.run(make_registry(folder, name="Test Library"))
    newest = max((file for file in folder.iterdir() if file.suffix in (".toml", ".db", ".key")), key=_change_time)
    newest.rename(folder / f".{newest.name}.new")
    asyncio.run(_check_made(folder))


def _change_time(file: Path) -> int:
    return file.stat().st_ctime_ns
