"""A copy of a database file, page by page, while writes go on."""

import os
from pathlib import Path
from typing import Final

import apsw

from perdure.registry.protocol import Progress
from perdure.store.digest import digest_file
from perdure.store.sqlite.connection import in_our_words
from perdure.store.sqlite.files import create_private
from perdure.store.sqlite.reading import SqliteReader

_PAGES_PER_STEP: Final = 4096


def copy_file(connection: apsw.Connection, file: Path, progress: Progress) -> str:
    """Into a new file beside the wanted one, which takes its place only when it is whole and on disk.

    Return its digest.
    """
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        with in_our_words():
            create_private(fresh)
            target = apsw.Connection(str(fresh))
            try:
                # Without a snapshot, every write of another connection would make the copy begin again.
                with SqliteReader(connection).snapshot(), target.backup("main", connection, "main") as copy:
                    while not copy.done:
                        copy.step(_PAGES_PER_STEP)
                        progress(copy.page_count - copy.remaining, copy.page_count)
                target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            finally:
                target.close()
        with fresh.open("rb") as stream:
            os.fsync(stream.fileno())
        digest = digest_file(fresh)
        fresh.replace(file)
        return digest
    finally:
        fresh.unlink(missing_ok=True)
