"""One connection to the database file, set up for safety first, and SQLite's errors said in the registry's words."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from perdure.errors import StoreDamaged, StoreFull, StoreUnavailable, is_full

WRITER_CACHE: Final = 65_536  # KiB: an import at random keys then writes each page once, not once per name
READER_CACHE: Final = 4_096  # KiB: there are many readers, and what they miss is in the system's own cache
_WAL_BYTES: Final = 64 << 20  # what a write-ahead log is cut back to once it is checkpointed
_PAUSE: Final = (0.0002, 0.002)  # seconds between two tries for a lock, drawn anew each time so that nobody starves

# What went wrong, what to do about it, and whether the same call may succeed later. Nothing was written in any of them.
_TROUBLES: Final[tuple[tuple[type[apsw.Error], str, bool], ...]] = (
    (apsw.BusyError, "the database is locked by another program; try again when that has finished", True),
    (apsw.LockedError, "the database is locked by another program; try again when that has finished", True),
    (apsw.ReadOnlyError, "the database, or its folder, cannot be written: check the permissions", False),
    (apsw.PermissionsError, "the database, or its folder, may not be used: check the permissions", False),
    (apsw.CantOpenError, "the database cannot be opened: check that the folder exists and can be written", False),
    (apsw.IOError, "the disk reports an error: nothing was written. Look at the disk before you try again", False),
)
_DAMAGE: Final = "the database is damaged: run perdure verify, and restore a backup (perdure restore)"


def connect(
    path: Path, *, create: bool = False, patience: "float | Patience" = 30.0, cache: int = WRITER_CACHE
) -> apsw.Connection:
    """Open the file. `patience` is how many seconds a lock of another process is waited for; `cache` is in KiB."""
    waiting = patience if isinstance(patience, Patience) else Patience(patience)
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_handler(waiting)
    _use_wal(connection, waiting.seconds)
    connection.execute("PRAGMA synchronous = FULL")  # acknowledged means fsynced
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)  # no statement changes the catalogue or the search's tables
    connection.execute(f"PRAGMA cache_size = -{cache}")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _use_wal(connection: apsw.Connection, patience: float) -> None:
    """The first connection ever switches the file over; SQLite does not wait for its lock by itself then."""
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(*_PAUSE))  # noqa: S311
        except apsw.IOError as problem:
            raise translated(problem, connection.system_errno) from problem


class Patience:
    """Called by SQLite while a lock is held elsewhere: says whether to try once more."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._until = time.monotonic() + self.seconds
        if time.monotonic() > self._until:
            return False
        time.sleep(random.uniform(*_PAUSE))  # noqa: S311  (nothing secret about it)
        return True

    @contextmanager
    def shortened(self, seconds: float) -> Iterator[None]:
        """For something that can be left undone."""
        usual, self.seconds = self.seconds, min(seconds, self.seconds)
        try:
            yield
        finally:
            self.seconds = usual


@contextmanager
def in_our_words() -> Iterator[None]:
    """SQLite's errors never leave this room."""
    try:
        yield
    except apsw.Error as problem:
        raise translated(problem) from problem
    except FileExistsError:
        raise
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull("the disk of the registry's folder") from problem
        raise StoreUnavailable(
            f"the folder cannot be written ({problem.strerror}): check it exists, and its permissions"
        ) from problem
    except UnicodeDecodeError as problem:  # a text that is none
        raise StoreDamaged(_DAMAGE) from problem


def translated(problem: apsw.Error, system_errno: int = 0) -> StoreUnavailable:
    """`system_errno` is what the system said last: a quota is an I/O error to SQLite, and a full disk to us."""
    if isinstance(problem, apsw.CorruptError | apsw.NotADBError):
        return StoreDamaged(_DAMAGE)
    if isinstance(problem, apsw.FullError) or (isinstance(problem, apsw.IOError) and is_full(system_errno)):
        return StoreFull("the disk of the database")
    for kind, reason, safe_to_retry in _TROUBLES:
        if isinstance(problem, kind):
            return StoreUnavailable(reason, safe_to_retry)
    return StoreUnavailable(f"the database refused: {problem}")
