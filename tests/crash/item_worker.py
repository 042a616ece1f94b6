"""A program that puts, copies, moves, installs and removes items without end, to be killed.

    python -m tests.crash.item_worker FOLDER SHARE OF

It reports each version that was acknowledged. First it continues what its predecessor has left: names that are reserved
for an item that was not published. The content of a version follows from its label and number.
"""

import asyncio
import os
import random
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

from tests.crash.crash_registry import PAIRED, Open, open_registry

from perdure.collections.collection_admin import create_collection
from perdure.collections.copies import copy_item, migrate_all, migrate_item
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.installation import install_item
from perdure.collections.removal import remove_item
from perdure.collections.source_files import SourceFile, StreamedFile
from perdure.registry.holdings import Holding

COLLECTIONS: Final = ("first", "second", "third")
ADDRESS: Final = "https://id.example.org/items"
SERVER: Final = "server.txt"  # the address of a server with items to install
INSTALLED: Final = tuple(f"urlib.net/www/2023/11.16.13.{number}" for number in range(10, 15))
OPENING: Final = b"opening\n"
READY: Final = b"ready\n"
_MOST_ITEMS: Final = 25
_LARGE: Final = 1_500_000  # bytes


def files_of(label: str, version: int) -> dict[str, bytes]:
    """Return the files of a version: some change with each version, one is large, and one stays."""
    random_bytes = random.Random(f"{label} {version}").randbytes
    files = {"same.txt": label.encode(), "data/v.bin": random_bytes(3000), f"v{version}.txt": b"%d" % version}
    return files | ({"data/large.bin": random_bytes(_LARGE)} if version % 3 == 1 else {})


def sources_of(label: str, version: int) -> Iterator[SourceFile]:
    for path, content in files_of(label, version).items():
        yield StreamedFile(path, BytesIO(content), len(content))


def report(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def originals(at: Open) -> list[Holding]:
    def look_up(reader):
        held = [one for name in COLLECTIONS for one in reader.holdings_after(name, "", 1000)]
        return [one for one in held if one.role == "original"]

    return await at.registry.store.read(look_up)


async def resume(at: Open) -> None:
    """Put the items whose names were reserved, and that were not published."""
    rows = await at.registry.store.read(lambda reader: reader.identifiers_after("", 10_000, f"{PAIRED}/"))
    for row in rows:
        if row.state == "reserved" and row.subject == row.key:
            await put(at, row.name, COLLECTIONS[0], 1)


async def put(at: Open, label: str, collection: str, version: int) -> None:
    holding = await put_item(*at, collection, label, sources_of(label, version))
    assert holding.version == version, f"{label} has version {holding.version} in {collection}, not {version}"
    report("stored", label, version)


async def act(at: Open) -> None:
    """Do one thing, to a random item."""
    held = await originals(at)
    if len(held) < 3 or (len(held) < _MOST_ITEMS and random.random() < 0.3):
        minted = await reserve_name(*at, COLLECTIONS[0], PAIRED)
        await put(at, minted.name, COLLECTIONS[0], 1)
        return
    one = random.choice(held)
    to = random.choice([name for name in COLLECTIONS if name != one.collection])
    what = random.choice(("version", "copy", "move", "move away", "move all", "remove", "install"))
    if what == "version":
        await put(at, one.label, one.collection, one.version + 1)
    elif what == "copy":
        await copy_item(*at, one.label, one.collection, to)
    elif what in ("move", "move away"):
        await migrate_item(*at, one.label, one.collection, to, remove_source=what == "move away")
    elif what == "move all":
        async for moved in migrate_all(*at, one.collection, to, remove_source=True):
            assert moved.problem is None, f"{moved.name} was not moved: {moved.problem}"
    elif what == "remove":
        copies = [two for two in await _holdings(at, one) if two.role == "copy"]
        if copies:
            await remove_item(*at, one.label, copies[0].collection)
    else:
        server = (at_folder / SERVER).read_text()
        await install_item(*at, random.choice(INSTALLED), to, server)
    report("did", what)


async def _holdings(at: Open, one: Holding) -> list[Holding]:
    return await at.registry.store.read(lambda reader: reader.holdings(one.subject))


async def work(folder: Path) -> None:
    os.write(1, OPENING)
    async with open_registry(folder) as at:
        known = {one.name for one in await at.registry.store.read(lambda reader: reader.collections())}
        for name in COLLECTIONS:
            if name not in known:
                await create_collection(*at, name, folder / name, f"{ADDRESS}/{name}")
        await resume(at)
        os.write(1, READY)
        while True:
            await act(at)


at_folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()

if __name__ == "__main__":
    asyncio.run(work(at_folder))
