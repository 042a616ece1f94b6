"""What must be true of items after a kill: nothing acknowledged is lost, nothing is half, nothing dangles."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from tests.collections.judge import judge
from tests.crash.crash_registry import PAIRED, Open, open_registry
from tests.crash.item_worker import COLLECTIONS, INSTALLED, files_of, resume

from perdure.collections.addresses import item_target
from perdure.collections.storage_root import StorageRoot
from perdure.collections.verification import verify_collection
from perdure.registry.holdings import Holding
from perdure.registry.integrity import verify

_UNRECORDED = "unrecorded"


class StoredVersions:
    """The newest version of each item that was acknowledged."""

    def __init__(self) -> None:
        self.newest: dict[str, int] = {}

    def read(self, reported: bytes) -> None:
        for line in reported.decode().splitlines():
            words = line.split()
            if words[:1] == ["stored"] and len(words) == 3:
                self.newest[words[1]] = max(self.newest.get(words[1], 0), int(words[2]))


def judge_items(folder: Path) -> None:
    """Let another program read all collections."""
    for name in COLLECTIONS:
        if (folder / name).exists():
            judge(StorageRoot.open(folder / name))


def audit_items(stored: StoredVersions, folder: Path) -> None:
    """Check everything as the kill has left it, then continue, and check that nothing is left to do."""
    asyncio.run(_audit(stored, folder))


async def _audit(stored: StoredVersions, folder: Path) -> None:
    async with open_registry(folder) as at:
        assert await verify(at.registry) == []
        collections = await at.registry.store.read(lambda reader: reader.collections())
        roots = {one.name: StorageRoot.open(one.path) for one in collections}
        left = [problem for name in roots for problem in await _problems(at, name)]
        assert [one for one in left if not one.partition(": ")[2].startswith(_UNRECORDED)] == []
        await _check_targets(at, roots)
        for label, version in stored.newest.items():
            await _check_item(at, roots, label, version)
        if len(roots) == len(COLLECTIONS):
            await resume(at)


async def _problems(at: Open, name: str) -> list[str]:
    return [f"{one.label}: {problem}" async for one in verify_collection(*at, name) for problem in one.problems]


async def _check_targets(at: Open, roots: dict[str, StorageRoot]) -> None:
    """Each active identifier has one original, and points to files that are there."""

    def look_up(reader):
        rows = [one for one in reader.identifiers_after("", 10_000, f"{PAIRED}/") if one.subject == one.key]
        return rows, {one.key: reader.holdings(one.key) for one in rows}, reader.collections()

    rows, holdings, collections = await at.registry.store.read(look_up)
    by_name = {one.name: one for one in collections}
    for row in rows:
        held: list[Holding] = holdings[row.key]
        if row.state == "reserved":
            assert held == []
            continue
        [original] = [one for one in held if one.role == "original"]
        assert row.target == item_target(by_name[original.collection], original.label, original.main_file)
        for one in held:
            assert roots[one.collection].read_item(one.label).newest.number >= one.version
    foreign = await at.registry.store.read(lambda reader: [reader.holdings(label) for label in INSTALLED])
    assert all(one.role == "copy" for held in foreign for one in held)


async def _check_item(at: Open, roots: dict[str, StorageRoot], label: str, version: int) -> None:
    """Every acknowledged version can be read, in the original."""
    held = await at.registry.store.read(lambda reader: reader.holdings(label))
    assert held[0].role == "original"
    assert held[0].version >= version
    item = roots[held[0].collection].read_item(label)
    for number in range(1, version + 1):
        _compare_files(item.version(number), files_of(label, number))


def _compare_files(version, expected: dict[str, bytes]) -> None:
    assert sorted(version.files) == sorted(expected)
    contents: Iterable[tuple[str, bytes]] = expected.items()
    for path, content in contents:
        assert version.content_of(version.files[path]).read_bytes() == content
