"""When a process is killed while it puts, copies, moves or installs items, no item is lost, half or without an address."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.collections.item_server import run_item_server
from tests.crash.conftest import NewFolder
from tests.crash.crash_registry import create_in
from tests.crash.item_audit import StoredVersions, audit_items, judge_items
from tests.crash.item_worker import INSTALLED, OPENING, SERVER, sources_of
from tests.crash.kill import WorkerProcess

from perdure.collections.item import Agent
from perdure.collections.storage_root import StorageRoot

_LONGEST = 1.2  # seconds of work before a kill


@pytest.fixture(scope="module")
def server_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = StorageRoot.create(tmp_path_factory.mktemp("server") / "items")
    for label in INSTALLED:
        for version in (1, 2):
            root.put_version(label, sources_of(label, version), agent=Agent("jan"))
    with run_item_server(root) as server:
        yield server.address


def _kill_again_and_again(new_folder: NewFolder, server_address: str, times: int) -> None:
    folder: Path = new_folder("registry")
    asyncio.run(create_in(folder))
    (folder / SERVER).write_text(server_address)
    stored = StoredVersions()
    for _ in range(times):
        stored.read(_kill_at_work(folder))
        audit_items(stored, folder)
    judge_items(folder)
    assert stored.newest, "nothing was ever acknowledged: nothing was tested"


def _kill_at_work(folder: Path) -> bytes:
    """Kill a process at a random moment, also while it opens the registry, and return what it has reported."""
    process = WorkerProcess(folder, program="item_worker")
    process.await_line(OPENING)
    process.work_for(random.uniform(0, _LONGEST))
    return process.kill_and_read()


def _cases(**cases: int) -> pytest.MarkDecorator:
    engines = [engine for engine, times in cases.items() for _ in range(times)]
    return pytest.mark.parametrize("new_folder", engines, indirect=True)


@_cases(sqlite=2, postgres=1)
def test_items_are_whole_and_resolve_after_a_kill(new_folder: NewFolder, server_address: str) -> None:
    _kill_again_and_again(new_folder, server_address, 6)


@pytest.mark.slow
@_cases(sqlite=8, postgres=2)
def test_items_are_whole_and_resolve_after_hundreds_of_kills(new_folder: NewFolder, server_address: str) -> None:
    _kill_again_and_again(new_folder, server_address, 40)
