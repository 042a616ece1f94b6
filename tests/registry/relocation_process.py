"""Move a registry in a separate process, which a test can kill: it prints a line for every step, and then the digest.

    python -m tests.registry.relocation_process FROM TO

Each is the file of an embedded store, or the address of a PostgreSQL store, with its folder before it: FOLDER=ADDRESS.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from tests.registry_fixture import FEW_PARTITIONS

from perdure.registry import store_copy
from perdure.registry.relocation import Stage, move
from perdure.registry.store_interface import Store
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore
from perdure.timelines.clock import SystemClock

OPENED: Final = b"opened\n"
FINISHED: Final = b"finished "
_STEP: Final = 5  # names: many steps, so that there are many moments to be killed at


def open_store(location: str, *, create: bool = False) -> Store:
    folder, is_address, address = location.partition("=")
    if not is_address:
        return SqliteStore(Path(location), create=create)
    return PostgresStore(address, Path(folder) / "high-water.json", FEW_PARTITIONS, create=create)


def _say(stage: Stage, done: int, of: int) -> None:
    os.write(1, f"{stage} {done}\n".encode())


async def _move(origin: str, to: str) -> None:
    source = open_store(origin)
    target = open_store(to, create=True)
    os.write(1, OPENED)
    moved = await move(source, target, SystemClock(), origin="here", to="there", watch=_say)
    target.close()
    source.close()
    os.write(1, FINISHED + moved.digest.encode() + b"\n")


if __name__ == "__main__":
    store_copy.CHUNK = _STEP  # type: ignore[misc]
    asyncio.run(_move(*sys.argv[1:]))
