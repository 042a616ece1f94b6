"""One file, one registry: settings of another registry are refused before anything happens."""

import asyncio
from pathlib import Path

import pytest
from tests.crash.crash_registry import DATABASE, DATED, create_in, open_registry

from perdure.errors import InvalidInput
from perdure.registry import Settings, create_registry, mint
from perdure.registry.integrity import verify
from perdure.store.sqlite import SqliteStore
from perdure.timelines.clock import SystemClock


def _contents(folder: Path) -> bytes:
    return (folder / DATABASE).read_bytes()


def test_settings_of_another_registry_do_not_open_this_one(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()
    own, foreign = (asyncio.run(create_in(folder)) for folder in folders)
    before = _contents(folders[0])

    async def run(identity: str) -> None:
        async with open_registry(folders[0], expected_id=identity) as at:
            await mint(*at, DATED)

    with pytest.raises(InvalidInput, match="the settings belong to registry") as refusal:
        asyncio.run(run(foreign))
    assert refusal.value.part == "id"
    assert _contents(folders[0]) == before
    asyncio.run(run(own))


def test_a_second_registry_is_not_created_in_a_file_with_one(tmp_path: Path) -> None:
    identity = asyncio.run(create_in(tmp_path))

    async def run() -> None:
        store = SqliteStore(tmp_path / DATABASE, create=True)
        try:
            with pytest.raises(InvalidInput, match="this store holds a registry already"):
                await create_registry(store, SystemClock(), Settings(), name="Another Library")
        finally:
            store.close()
        async with open_registry(tmp_path, expected_id=identity) as at:
            await mint(*at, DATED)
            assert await verify(at.registry) == []

    asyncio.run(run())


def test_of_two_concurrent_creations_of_a_registry_one_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        stores = [SqliteStore(tmp_path / DATABASE, create=True) for _ in range(2)]
        try:
            foundings = [create_registry(store, SystemClock(), Settings(), name="Test Library") for store in stores]
            outcomes = await asyncio.gather(*foundings, return_exceptions=True)
        finally:
            for store in stores:
                store.close()
        refused = [outcome for outcome in outcomes if isinstance(outcome, InvalidInput)]
        made = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert (len(made), len(refused)) == (1, 1)
        async with open_registry(tmp_path, expected_id=made[0].registry.id) as at:
            assert await verify(at.registry) == []

    asyncio.run(run())
