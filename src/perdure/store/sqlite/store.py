"""The store that the registry sees: look-ups on the calling thread, reads on a pool, writes through the writer."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import apsw

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.registry.entities import Change, Identifier
from perdure.registry.protocol import Foreseen, Progress, Reader, Transaction
from perdure.store.commit_mark import LINEAGE, CommitMarkFile, find_disagreement, has_lost_log
from perdure.store.high_water import HIGH_WATER, HighWater
from perdure.store.sqlite.backup import copy_file
from perdure.store.sqlite.checkpoints import LARGEST_LOG, Checkpoints
from perdure.store.sqlite.committing import LARGEST_GROUP, GroupCommit
from perdure.store.sqlite.connection import READER_CACHE, WRITER_CACHE, Patience, connect, in_our_words
from perdure.store.sqlite.files import create_private
from perdure.store.sqlite.migrations import check_schema, migrate
from perdure.store.sqlite.reading import SEALED, SqliteReader
from perdure.store.sqlite.schema import check_parts, find_differences
from perdure.store.sqlite.scrubbing import Scrubbing, scrub, size_of
from perdure.store.sqlite.turns import Turns
from perdure.store.sqlite.writing import SqliteTransaction
from perdure.store.writer import Writer

T = TypeVar("T")

_READERS: Final = 4
_SCANNERS: Final = 2  # search, list and count, beside the others


class SqliteStore:
    """An open database file. `create` makes it, and the folder it lies in must exist."""

    def __init__(
        self, file: Path, *, create: bool = False, patience: float = 30.0, largest_log: int = LARGEST_LOG
    ) -> None:
        if not create:
            check_there(file)
        self._file = file
        self._patience = patience
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._closed = False
        # Threads of its own, so that their connections live as long as the store, whatever event loops come and go.
        self._pool = ThreadPoolExecutor(_READERS, "perdure-reader")
        self._scanners = ThreadPoolExecutor(_SCANNERS, "perdure-scanner")
        self.high_water = HighWater(file.with_name(HIGH_WATER))
        self._mark = CommitMarkFile(file.parent)
        self._had_log = self._log_file.exists()  # before a connection makes one
        if create and not file.exists():
            with suppress(FileExistsError), in_our_words():
                create_private(file)
        with in_our_words():
            waiting = Patience(patience)
            connection = self._connect(waiting, create=create, cache=WRITER_CACHE)
            if create:
                migrate(connection)
            check_schema(connection)
            check_parts(connection)
        scrubbing, checkpoints = Scrubbing(connection, waiting), Checkpoints(connection, waiting, largest_log)
        commit = GroupCommit(connection, SqliteTransaction(connection, self.high_water, scrubbing), self._mark)

        def afterwards() -> None:
            scrubbing()
            checkpoints()

        self._writer = Writer(commit, LARGEST_GROUP, afterwards)

    async def lookup(self, key: str) -> Identifier | None:
        return self.lookup_now(key)

    def lookup_now(self, key: str) -> Identifier | None:
        """One name, at once, on the calling thread."""
        with in_our_words():
            return self._reader().find(key)

    def finder(self) -> Turns:
        self._check_open()
        with in_our_words():
            return Turns(self._connect(cache=READER_CACHE))

    async def read(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work)

    async def scan(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work, self._scanners)

    async def glance(self, work: Callable[[Reader], T]) -> T:
        return self._read(work)

    def ready(self, change: Change) -> Change:
        return change  # the index takes words as they are

    async def write(self, work: Callable[[Transaction], T], foreseen: Foreseen | None = None) -> T:
        result: T = await self._writer.submit(work, foreseen)
        return result

    async def backup(self, file: Path, progress: Progress) -> str:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._backup, file, progress)

    async def compact(self) -> tuple[int, int]:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._compact)

    async def seal(self, reason: str | None) -> None:
        self._check_open()
        await asyncio.get_running_loop().run_in_executor(self._pool, self._seal, reason)

    async def sealed(self) -> str | None:
        return await self.read(lambda reader: reader.fact(SEALED))

    async def find_disagreement(self) -> tuple[str, ...]:
        def work(reader: SqliteReader) -> tuple[str, ...]:
            lineage = reader.fact(LINEAGE)
            if lineage is None:
                return ()  # nothing was written since marks are made
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
        with in_our_words():
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
        except OSError:  # nobody has written yet, or it was closed
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
        if lineage is not None and not self._log_file.exists():  # SQLite removes it when the last program ends
            self._mark.end(lineage, had_log=self._had_log)
        self._mark.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the registry is closed")

    def _connect(self, waiting: Patience | None = None, *, create: bool = False, cache: int) -> apsw.Connection:
        connection = connect(self._file, create=create, patience=waiting or self._patience, cache=cache)
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
        return await asyncio.get_running_loop().run_in_executor(pool or self._pool, self._read, work)

    def _read(self, work: Callable[[SqliteReader], T]) -> T:
        with in_our_words():
            reader = self._reader()
            with reader.snapshot():
                return work(reader)

    def _seal(self, reason: str | None) -> None:
        """Past the writer, which lets nothing through once this is said."""
        with in_our_words():
            connection = self._reader().connection
            with connection:  # waits for what another process is writing
                connection.execute("DELETE FROM facts WHERE name = ?", (SEALED,))
                if reason is not None:
                    connection.execute("INSERT INTO facts (name, value) VALUES (?, ?)", (SEALED, reason))

    def _compact(self) -> tuple[int, int]:
        with in_our_words():
            connection = self._reader().connection
            before = size_of(connection)
            scrub(connection)
            return before, size_of(connection)

    def _backup(self, file: Path, progress: Progress) -> str:
        if file.exists() and file.samefile(self._file):
            raise StoreUnavailable("a backup cannot take the place of the database itself: name another file")
        with in_our_words():
            reader = self._reader()
        return copy_file(reader.connection, file, progress)


def check_there(file: Path) -> None:
    """SQLite would take an empty file for a new database, and write to it."""
    try:
        size = file.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        raise StoreUnavailable(
            f"there is no database {file.name} here: bring it back, or restore a backup (perdure restore FILE)"
        ) from None
    except OSError as problem:
        raise StoreUnavailable(f"the database {file.name} cannot be opened ({problem.strerror})") from problem
    if size == 0:
        raise StoreDamaged(f"the database {file.name} is empty: restore a backup (perdure restore)")
