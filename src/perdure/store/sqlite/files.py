"""A database as files: the file itself and the log beside it belong together, and are never parted half-way."""

import os
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Final

import apsw

from perdure.errors import PerdureError, StoreUnavailable
from perdure.store.folders import sync_folder
from perdure.store.sqlite.connection import connect, in_our_words
from perdure.store.sqlite.reading import SqliteReader

_BESIDE: Final = ("-wal", "-shm")


def create_private(file: Path) -> None:
    """An empty file that only its owner can read: records hold values that are not public."""
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def remove_database(file: Path) -> None:
    for part in (file, *_beside(file)):
        part.unlink(missing_ok=True)


def put_in_place(fresh: Path, file: Path, *, replace: bool = False) -> None:
    """Give a finished database its name, and see that the folder is on disk.

    A name that exists is taken over only with `replace`. A log beside `fresh` would be left behind: then it is not
    finished, and refused.
    """
    if any(part.exists() and part.stat().st_size for part in _beside(fresh)[:1]):
        raise StoreUnavailable("the new database could not be finished: is the disk full?", safe_to_retry=True)
    if replace:
        fresh.replace(file)
    else:
        os.link(fresh, file)
        fresh.unlink()
    remove_database(fresh)
    sync_folder(file.parent)


def set_aside(file: Path, aside: Path) -> dict[str, Fraction]:
    """Keep a database under a second name, log and all; returns the last dates that it knows, if it can be read.

    The first name goes on leading to it until something else is put there: there is never a moment without one.
    """
    timelines = _settle(file)
    os.link(file, aside)
    for part, other in zip(_beside(file), _beside(aside), strict=True):
        if part.exists():  # it could not be settled, so it is damaged: keep what there is, as it is
            create_private(other)
            shutil.copyfile(part, other)
    sync_folder(file.parent)
    for part in _beside(file):
        part.unlink(missing_ok=True)
    return timelines


def _settle(file: Path) -> dict[str, Fraction]:
    """Fold the log into the file."""
    try:
        with in_our_words():
            connection = connect(file)
            try:
                timelines = SqliteReader(connection).timelines()
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                connection.close()
    except (PerdureError, apsw.Error):
        return {}
    return timelines


def _beside(file: Path) -> list[Path]:
    return [file.with_name(file.name + suffix) for suffix in _BESIDE]
