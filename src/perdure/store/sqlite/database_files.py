"""The files of a database: the database file and the log beside it, which must stay together."""

import os
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Final

import apsw

from perdure.errors import PerdureError, StoreUnavailable
from perdure.store.file_sync import create_private, sync_folder
from perdure.store.sqlite.connection import connect, map_db_errors
from perdure.store.sqlite.reader import SqliteReader

_COMPANION_SUFFIXES: Final = ("-wal", "-shm")


def remove_database(file: Path) -> None:
    for part in (file, *_companion_files(file)):
        part.unlink(missing_ok=True)


def install_database(fresh: Path, file: Path, *, replace: bool = False) -> None:
    """Rename a finished database durably.

    An existing file is replaced only with `replace`. A database with a log is not finished, and is refused: its log
    would be lost.
    """
    if any(part.exists() and part.stat().st_size for part in _companion_files(fresh)[:1]):
        raise StoreUnavailable(
            "the new database could not be completed: check whether the disk is full", safe_to_retry=True
        )
    if replace:
        fresh.replace(file)
    else:
        os.link(fresh, file)
        fresh.unlink()
    remove_database(fresh)
    sync_folder(file.parent)


def displace_database(file: Path, new_name: Path) -> dict[str, Fraction]:
    """Give a database and its log a second name; return the last dates of its timelines, if it can be read.

    The first name remains until another database replaces it, so that there is always one.
    """
    timelines = _checkpoint(file)
    os.link(file, new_name)
    for part, other in zip(_companion_files(file), _companion_files(new_name), strict=True):
        if part.exists():  # the checkpoint failed, so it is damaged: keep it as it is
            create_private(other)
            shutil.copyfile(part, other)
    sync_folder(file.parent)
    for part in _companion_files(file):
        part.unlink(missing_ok=True)
    return timelines


def _checkpoint(file: Path) -> dict[str, Fraction]:
    """Move the log into the file, and return the last dates; nothing if the file is damaged."""
    try:
        with map_db_errors():
            connection = connect(file)
            try:
                timelines = SqliteReader(connection).timelines()
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()
    except (PerdureError, apsw.Error):
        return {}
    return timelines


def _companion_files(file: Path) -> list[Path]:
    return [file.with_name(file.name + suffix) for suffix in _COMPANION_SUFFIXES]
