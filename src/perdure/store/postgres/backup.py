"""A copy of everything in one state, into a file of the embedded store: it can be opened, verified and restored
without a server."""

import asyncio
import tempfile
from pathlib import Path

from perdure.errors import StoreUnavailable
from perdure.registry.copying import CHUNK, put_histories, put_surroundings, surroundings
from perdure.registry.entities import History
from perdure.registry.protocol import Progress, Reader, Transaction
from perdure.store.sqlite import SqliteStore


def copy_to_file(reader: Reader, file: Path, progress: Progress) -> None:
    """What `reader` sees, into a file that takes the wanted name when it is whole and on disk."""
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent)
    except OSError as problem:
        raise StoreUnavailable(f"the folder cannot be written ({problem.strerror}): check it exists") from None
    with folder as place, asyncio.Runner() as runner:
        copy = SqliteStore(Path(place) / "copy.db", create=True)
        try:
            runner.run(_fill(copy, reader, progress))
            runner.run(copy.backup(file, lambda done, of: None))
        finally:
            copy.close()


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
