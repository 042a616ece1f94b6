"""The copy of a database file, page by page, while writes continue."""

import os
from pathlib import Path
from typing import Final

import apsw

from perdure.registry.store_interface import Progress
from perdure.store.backup_digest import digest_file
from perdure.store.file_sync import create_private
from perdure.store.sqlite.connection import map_db_errors
from perdure.store.sqlite.reader import SqliteReader

ENCLOSED_SETTINGS: Final = "enclosed settings"  # a fact that only backups have

_PAGES_PER_STEP: Final = 4096
_ENCLOSE: Final = "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)"


def copy_file(connection: apsw.Connection, file: Path, progress: Progress, settings: str | None = None) -> str:
    """Copy a database into a file, which is replaced only when the copy is complete and on disk; return its digest.

    The settings are enclosed as a fact of the copy.
    """
    fresh = file.with_name(f".{file.name}.new")
    fresh.unlink(missing_ok=True)
    try:
        with map_db_errors():
            create_private(fresh)
            target = apsw.Connection(str(fresh))
            try:
                # Without a snapshot, every write of another connection would restart the copy.
                with SqliteReader(connection).snapshot(), target.backup("main", connection, "main") as copy:
                    while not copy.done:
                        copy.step(_PAGES_PER_STEP)
                        progress(copy.page_count - copy.remaining, copy.page_count)
                target.execute("PRAGMA journal_mode = DELETE")  # a single file, without a log
                if settings is not None:
                    target.execute(_ENCLOSE, (ENCLOSED_SETTINGS, settings))
            finally:
                target.close()
        with fresh.open("rb") as stream:
            os.fsync(stream.fileno())
        digest = digest_file(fresh)
        fresh.replace(file)
        return digest
    finally:
        fresh.unlink(missing_ok=True)
