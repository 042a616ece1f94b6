"""A copy of everything in one state, into a file of the embedded store: it can be opened, verified and restored
without a server."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perdure.errors import StoreUnavailable
from perdure.registry.copying import CHUNK, put_histories, put_surroundings, surroundings
from perdure.registry.entities import History
from perdure.registry.protocol import Progress, Reader, Transaction
from perdure.store.sqlite import SqliteStore


@contextmanager
def backup_folder(file: Path) -> Iterator[Path]:
    """A folder beside the wanted file, in which the copy grows."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent)
    except OSError as problem:
        raise StoreUnavailable(f"the folder cannot be written ({problem.strerror}): check it exists") from None
    with folder as name:
        yield Path(name)


def fill_copy(copy: SqliteStore, reader: Reader, progress: Progress) -> None:
    """What `reader` sees, into an empty store."""
    with asyncio.Runner() as runner:
        runner.run(_fill(copy, reader, progress))


async def _fill(copy: SqliteStore, reader: Reader, progress: Progress) -> None:
    of = reader.counts()["identifiers"] + 1
    around = surroundings(reader)
    await copy.write(lambda tx: put_surroundings(tx, around))
    key, done = "", 1
    progress(done, of)
    while chunk := reader.histories(key, CHUNK):

        def work(tx: Transaction, chunk: list[History] = chunk) -> None:
            put_histories(tx, chunk)

        await copy.write(work)
        key, done = chunk[-1].identifier.key, done + len(chunk)
        progress(done, of)
