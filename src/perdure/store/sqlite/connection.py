"""Connections to the database file, with durable settings, and the mapping of SQLite's errors."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from perdure.errors import StoreDamaged, StoreFull, StoreUnavailable, is_full

WRITER_CACHE: Final = 65_536  # KiB: an import with random keys then writes each page once, not once per name
READER_CACHE: Final = 4_096  # KiB: there are many readers, and the system caches the file too
_WAL_BYTES: Final = 64 << 20  # the write-ahead log is truncated to this size after a checkpoint
_RETRY_PAUSE: Final = (
    0.0002,
    0.002,
)  # seconds between two tries for a lock; random, to prevent starvation

# What went wrong, what to do, and whether a retry may succeed. Nothing was written in any of these cases.
_ERROR_REASONS: Final[tuple[tuple[type[apsw.Error], str, bool], ...]] = (
    (apsw.BusyError, "the database is locked by another program: try again when that has finished", True),
    (apsw.LockedError, "the database is locked by another program: try again when that has finished", True),
    (apsw.ReadOnlyError, "the database or its folder is not writable: check the permissions", False),
    (apsw.PermissionsError, "permission denied for the database or its folder: check the permissions", False),
    (apsw.CantOpenError, "the database cannot be opened: check that the folder exists and is writable", False),
    (apsw.IOError, "the disk reported an I/O error: nothing was written. Check the disk before you try again", False),
)
_DAMAGE: Final = "the database is damaged: run perdure verify, and restore a backup (perdure restore)"


def connect(
    path: Path, *, create: bool = False, busy_timeout: "float | BusyTimeout" = 30.0, cache: int = WRITER_CACHE
) -> apsw.Connection:
    """Open the file. `busy_timeout` is the wait for a lock of another process, in seconds; `cache` is in KiB."""
    handler = busy_timeout if isinstance(busy_timeout, BusyTimeout) else BusyTimeout(busy_timeout)
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_handler(handler)
    _use_wal(connection, handler.seconds)
    connection.execute("PRAGMA synchronous = FULL")  # a commit is acknowledged after fsync
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.config(
        apsw.SQLITE_DBCONFIG_DEFENSIVE, 1
    )  # no statement can change the catalogue or the tables of the search index
    connection.execute(f"PRAGMA cache_size = -{cache}")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _use_wal(connection: apsw.Connection, seconds: float) -> None:
    """Switch the file to a write-ahead log, if it is new. SQLite does not call the busy handler for that lock."""
    until = time.monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > until:
                raise
            time.sleep(random.uniform(*_RETRY_PAUSE))  # noqa: S311
        except apsw.IOError as problem:
            raise to_store_error(problem, connection.system_errno) from problem


class BusyTimeout:
    """A busy handler. SQLite calls it while another process has the lock; it returns whether to try again."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = 0.0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._until = time.monotonic() + self.seconds
        if time.monotonic() > self._until:
            return False
        time.sleep(random.uniform(*_RETRY_PAUSE))  # noqa: S311  (not a secret)
        return True

    @contextmanager
    def shorten_to(self, seconds: float) -> Iterator[None]:
        """Limit the wait within the block, for an operation that may fail."""
        usual, self.seconds = self.seconds, min(seconds, self.seconds)
        try:
            yield
        finally:
            self.seconds = usual


@contextmanager
def map_db_errors() -> Iterator[None]:
    """Raise SQLite's errors as errors of the registry."""
    try:
        yield
    except apsw.Error as problem:
        raise to_store_error(problem) from problem
    except FileExistsError:
        raise
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull("the disk of the registry's folder") from problem
        raise StoreUnavailable(
            f"the folder is not writable ({problem.strerror}): check that it exists, and its permissions"
        ) from problem
    except UnicodeDecodeError as problem:  # damaged text
        raise StoreDamaged(_DAMAGE) from problem


def to_store_error(problem: apsw.Error, system_errno: int = 0) -> StoreUnavailable:
    """Convert an error of SQLite. By `system_errno`, an exceeded quota differs from other I/O errors."""
    if isinstance(problem, apsw.CorruptError | apsw.NotADBError):
        return StoreDamaged(_DAMAGE)
    if isinstance(problem, apsw.FullError) or (isinstance(problem, apsw.IOError) and is_full(system_errno)):
        return StoreFull("the disk of the database")
    for kind, reason, safe_to_retry in _ERROR_REASONS:
        if isinstance(problem, kind):
            return StoreUnavailable(reason, safe_to_retry)
    return StoreUnavailable(f"the database refused: {problem}")
