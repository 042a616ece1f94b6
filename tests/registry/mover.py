"""Move a registry, in a process of its own, to be killed meanwhile: a line for every step, and at last the digest.

python -m tests.registry.mover FROM TO

Each is the file of an embedded store, or the address of a PostgreSQL store, with its folder before it: FOLDER=ADDRESS.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

from tests.registry_fixture import FEW_PARTITIONS

from perdure.minting.clock import SystemClock
from perdure.registry import copying
from perdure.registry.moving import Stage, move
from perdure.registry.protocol import Store
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite import SqliteStore

OPENED: Final = b"opened\n"
FINISHED: Final = b"finished "
_STEP: Final = 5  # names: many steps, so that there are many moments to be killed at


def opened(place: str, *, create: bool = False) -> Store:
    folder, is_address, address = place.partition("=")
    if not is_address:
        return SqliteStore(Path(place), create=create)
    return PostgresStore(address, Path(folder) / "high-water.json", FEW_PARTITIONS, create=create)


def _say(stage: Stage, done: int, of: int) -> None:
    os.write(1, f"{stage} {done}\n".encode())


async def _move(origin: str, to: str) -> None:
    source = opened(origin)
    target = opened(to, create=True)
    os.write(1, OPENED)
    moved = await move(source, target, SystemClock(), origin="here", to="there", watch=_say)
    target.close()
    source.close()
    os.write(1, FINISHED + moved.digest.encode() + b"\n")


if __name__ == "__main__":
    copying.CHUNK = _STEP  # type: ignore[misc]
    asyncio.run(_move(*sys.argv[1:]))
