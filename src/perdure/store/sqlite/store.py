"""The embedded store: look-ups on the calling thread, reads on a pool, writes through the writer thread."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Final, TypeVar

import apsw

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.registry.entities import Change, Identifier
from perdure.registry.store_interface import Prefetch, Progress, Reader, Transaction
from perdure.store.commit_mark import LINEAGE, CommitMarkFile, find_disagreement, has_lost_log
from perdure.store.file_sync import create_private
from perdure.store.high_water import HIGH_WATER, HighWater
from perdure.store.sqlite.backup import copy_file
from perdure.store.sqlite.checkpoints import LARGEST_LOG, Checkpointer
from perdure.store.sqlite.connection import READER_CACHE, WRITER_CACHE, BusyTimeout, connect, map_db_errors
from perdure.store.sqlite.group_commit import LARGEST_GROUP, GroupCommit
from perdure.store.sqlite.migrations import check_schema, migrate
from perdure.store.sqlite.reader import READ_ONLY_FACT, SqliteReader
from perdure.store.sqlite.schema_check import check_parts, find_differences
from perdure.store.sqlite.secure_delete import Scrubber, database_size, scrub
from perdure.store.sqlite.snapshot_lookups import SnapshotLookups
from perdure.store.sqlite.transaction import SqliteTransaction
from perdure.store.writer import Writer

T = TypeVar("T")

_READERS: Final = 4
_SCANNERS: Final = 2  # for searching, listing and counting


class SqliteStore:
    """An open database file. `create` creates the file, in a folder that exists."""

    def __init__(
        self, file: Path, *, create: bool = False, busy_timeout: float = 30.0, largest_log: int = LARGEST_LOG
    ) -> None:
        if not create:
            check_file_exists(file)
        self._file = file
        self._busy_seconds = busy_timeout
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._closed = False
        # Own threads, so that their connections live as long as the store, whatever event loops are used.
        self._pool = ThreadPoolExecutor(_READERS, "perdure-reader")
        self._scanners = ThreadPoolExecutor(_SCANNERS, "perdure-scanner")
        self.high_water = HighWater(file.with_name(HIGH_WATER))
        self._mark = CommitMarkFile(file.parent)
        self._had_log = self._log_file.exists()  # before a connection creates one
        if create and not file.exists():
            with suppress(FileExistsError), map_db_errors():
                create_private(file)
        with map_db_errors():
            handler = BusyTimeout(busy_timeout)
            connection = self._connect(handler, create=create, cache=WRITER_CACHE)
            if create:
                migrate(connection)
            check_schema(connection)
            check_parts(connection)
        scrubber, checkpointer = Scrubber(connection, handler), Checkpointer(connection, handler, largest_log)
        commit = GroupCommit(connection, SqliteTransaction(connection, self.high_water, scrubber), self._mark)

        def afterwards() -> None:
            scrubber()
            checkpointer()

        self._writer = Writer(commit, LARGEST_GROUP, afterwards)

    async def lookup(self, key: str) -> Identifier | None:
        return self.lookup_now(key)

    def lookup_now(self, key: str) -> Identifier | None:
        """Return a name at once, on the calling thread."""
        with map_db_errors():
            return self._reader().find(key)

    def batch_lookup(self) -> SnapshotLookups:
        self._check_open()
        with map_db_errors():
            return SnapshotLookups(self._connect(cache=READER_CACHE))

    async def read(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work)

    async def scan(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work, self._scanners)

    async def read_quick(self, work: Callable[[Reader], T]) -> T:
        return self._read(work)

    def change_number(self) -> int | None:
        try:
            number: int = self._reader().connection.execute("PRAGMA data_version").get
        except (apsw.Error, OSError, StoreUnavailable):  # another kind of read reports it
            return None
        return number

    def precompute(self, change: Change) -> Change:
        return change  # the index stores words as they are

    async def write(self, work: Callable[[Transaction], T], prefetch: Prefetch | None = None) -> T:
        result: T = await self._writer.submit(work, prefetch)
        return result

    async def backup(self, file: Path, progress: Progress, settings: str | None = None) -> str:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._backup, file, progress, settings)

    async def compact(self) -> tuple[int, int]:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._compact)

    async def seal(self, reason: str | None) -> None:
        self._check_open()
        await asyncio.get_running_loop().run_in_executor(self._pool, self._seal, reason)

    async def seal_reason(self) -> str | None:
        return await self.read(lambda reader: reader.fact(READ_ONLY_FACT))

    async def find_disagreement(self) -> tuple[str, ...]:
        def work(reader: SqliteReader) -> tuple[str, ...]:
            lineage = reader.fact(LINEAGE)
            if lineage is None:
                return ()  # nothing was written since marks exist
            mark = self._mark.read(lineage)
            if mark is None:
                return (f"the mark of its last commit, {self._mark.path(lineage).name}, is missing or damaged",)
            if has_lost_log(mark, self._had_log):
                return (f"its write-ahead log {self._log_file.name} is missing, and it was not closed properly",)
            return find_disagreement(mark, reader)

        return await self._submit(work)

    async def reset_marks(self) -> None:
        lineage, tip = await self._submit(lambda reader: (reader.fact(LINEAGE), reader.tip()))
        if lineage is not None:
            self._mark.reset(lineage, *tip)

    def remove_mark(self) -> None:
        with map_db_errors():
            lineage = self._reader().fact(LINEAGE)
            if lineage is not None:
                self._mark.remove(lineage)

    @property
    def _log_file(self) -> Path:
        return self._file.with_name(f"{self._file.name}-wal")

    async def schema_differences(self) -> list[str]:
        return await self._submit(lambda reader: find_differences(reader.connection))

    def log_bytes(self) -> int:
        try:
            return self._log_file.stat().st_size
        except OSError:  # there is no log: nothing was written, or the database was closed
            return 0

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._pool.shutdown()
        self._scanners.shutdown()
        lineage = None
        with suppress(apsw.Error):
            lineage = SqliteReader(self._connections[0]).fact(LINEAGE)
        for connection in self._connections:
            connection.close()
        # SQLite removes the log when the last program closes the database.
        if lineage is not None and not self._log_file.exists():
            self._mark.record_close(lineage, had_log=self._had_log)
        self._mark.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the registry is closed")

    def _connect(self, handler: BusyTimeout | None = None, *, create: bool = False, cache: int) -> apsw.Connection:
        connection = connect(self._file, create=create, busy_timeout=handler or self._busy_seconds, cache=cache)
        self._connections.append(connection)
        return connection

    def _reader(self) -> SqliteReader:
        self._check_open()
        try:
            reader: SqliteReader = self._local.reader
        except AttributeError:
            reader = self._local.reader = SqliteReader(self._connect(cache=READER_CACHE))
        return reader

    async def _submit(self, work: Callable[[SqliteReader], T], pool: ThreadPoolExecutor | None = None) -> T:
        self._check_open()
        in_context = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(pool or self._pool, in_context, self._read, work)

    def _read(self, work: Callable[[SqliteReader], T]) -> T:
        with map_db_errors():
            reader = self._reader()
            with reader.snapshot():
                return work(reader)

    def _seal(self, reason: str | None) -> None:
        """Set or clear the fact directly; from then on the writer refuses every write."""
        with map_db_errors():
            connection = self._reader().connection
            with connection:  # waits for what another process is writing
                connection.execute("DELETE FROM facts WHERE name = ?", (READ_ONLY_FACT,))
                if reason is not None:
                    connection.execute("INSERT INTO facts (name, value) VALUES (?, ?)", (READ_ONLY_FACT, reason))

    def _compact(self) -> tuple[int, int]:
        with map_db_errors():
            connection = self._reader().connection
            before = database_size(connection)
            scrub(connection)
            return before, database_size(connection)

    def _backup(self, file: Path, progress: Progress, settings: str | None) -> str:
        if file.exists() and file.samefile(self._file):
            raise StoreUnavailable("a backup cannot replace the database itself: name another file")
        with map_db_errors():
            reader = self._reader()
        return copy_file(reader.connection, file, progress, settings)


def check_file_exists(file: Path) -> None:
    """Refuse a missing file, and an empty one, which SQLite would treat as a new database."""
    try:
        size = file.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        raise StoreUnavailable(
            f"the database {file.name} was not found: put it back, or restore a backup (perdure restore FILE)"
        ) from None
    except OSError as problem:
        raise StoreUnavailable(f"the database {file.name} cannot be opened ({problem.strerror})") from problem
    if size == 0:
        raise StoreDamaged(f"the database {file.name} is empty: restore a backup (perdure restore)")
