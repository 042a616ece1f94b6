"""The backup: a consistent copy as a file of the embedded store, which is usable without a server."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perdure.errors import StoreUnavailable
from perdure.registry.entities import History, ResolutionCount
from perdure.registry.holdings import Holding
from perdure.registry.store_copy import (
    CHUNK,
    FIRST_HOLDING,
    FIRST_RESOLUTION,
    holding_key,
    holdings_chunk,
    put_histories,
    put_holdings,
    put_registry_state,
    read_registry_state,
    resolution_key,
)
from perdure.registry.store_interface import Progress, Reader, Transaction
from perdure.store.sqlite import SqliteStore


@contextmanager
def backup_folder(file: Path) -> Iterator[Path]:
    """Create a temporary folder beside the file, for the unfinished copy."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent)
    except OSError as problem:
        raise StoreUnavailable(f"the folder is not writable ({problem.strerror}): check that it exists") from None
    with folder as name:
        yield Path(name)


def fill_copy(copy: SqliteStore, reader: Reader, progress: Progress) -> None:
    """Copy all that `reader` sees into an empty store."""
    with asyncio.Runner() as runner:
        runner.run(_fill(copy, reader, progress))


async def _fill(copy: SqliteStore, reader: Reader, progress: Progress) -> None:
    of = reader.counts()["identifiers"] + 1
    around = read_registry_state(reader)
    await copy.write(lambda tx: put_registry_state(tx, around))
    key, done = "", 1
    progress(done, of)
    while chunk := reader.histories(key, CHUNK):

        def work(tx: Transaction, chunk: list[History] = chunk) -> None:
            put_histories(tx, chunk)

        await copy.write(work)
        key, done = chunk[-1].identifier.key, done + len(chunk)
        progress(done, of)
    last = FIRST_RESOLUTION
    while counts := reader.resolutions_after(last, CHUNK):

        def add(tx: Transaction, counts: list[ResolutionCount] = counts) -> None:
            tx.add_resolutions(counts)

        await copy.write(add)
        last = resolution_key(counts[-1])
    position = FIRST_HOLDING
    while holdings := holdings_chunk(reader, position):

        def put(tx: Transaction, holdings: list[Holding] = holdings) -> None:
            put_holdings(tx, holdings)

        await copy.write(put)
        position = holding_key(holdings[-1])
