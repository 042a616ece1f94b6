"""The store on PostgreSQL: look-ups in batches on the event loop, reads on a pool, writes through the writer thread."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from pathlib import Path
from typing import TypeVar

import psycopg

from perdure.errors import InvalidInput, StoreDamaged, StoreUnavailable
from perdure.registry.entities import Change, Identifier
from perdure.registry.store_interface import Prefetch, Progress, Reader, Transaction
from perdure.store.commit_mark import LINEAGE, CommitMarkFile, find_disagreement
from perdure.store.high_water import HighWater
from perdure.store.postgres import migrations
from perdure.store.postgres.address import Address, parse
from perdure.store.postgres.backup import backup_folder, fill_copy
from perdure.store.postgres.change_statements import with_search_vector
from perdure.store.postgres.connection import KEY_LOOKUP_SETTINGS, Connection, connect, map_db_errors
from perdure.store.postgres.group_commit import LARGEST_GROUP, GroupCommit
from perdure.store.postgres.lookups import BatchedLookups
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.reader import PostgresReader
from perdure.store.postgres.reconnecting import ReconnectingConnection
from perdure.store.postgres.schema_check import check_parts, find_differences
from perdure.store.schema_check import SCHEMA_DIGEST
from perdure.store.sqlite import SqliteStore
from perdure.store.writer import Writer

T = TypeVar("T")

_DEFAULT_OPTIONS = PostgresOptions()


class PostgresStore:
    """A registry's schema in a PostgreSQL database. `create` creates the schema; the database must exist.

    `marks` is the file of the high-water marks, which must be outside the database.
    """

    def __init__(
        self, address: str | Address, marks: Path, options: PostgresOptions = _DEFAULT_OPTIONS, *, create: bool = False
    ) -> None:
        self._address = parse(address) if isinstance(address, str) else address
        self._options = options
        self._closed = False
        self.high_water = HighWater(marks)
        with map_db_errors(), closing(connect(self._address, options)) as connection:
            if create:
                migrations.create_schema(connection, self._address.schema, options.partitions)
            migrations.check_schema(connection, self._address.schema)
            self._lineage = _read_lineage(connection)
            check_parts(connection, marks.with_name(SCHEMA_DIGEST))
        self._mark = CommitMarkFile(marks.parent, self._lineage)
        self._lookups: list[BatchedLookups] = []  # one object for each event loop
        self._newest_lookups: BatchedLookups | None = None
        self._lock = threading.Lock()
        self._local = threading.local()
        self._connections: list[ReconnectingConnection] = []
        self._pool = ThreadPoolExecutor(options.connections, "perdure-reader")
        self._scanners = ThreadPoolExecutor(options.search_connections, "perdure-scanner")
        commit = GroupCommit(
            self._new_connection(KEY_LOOKUP_SETTINGS), self.high_water, self._mark, options.settle_seconds
        )
        self._writer = Writer(commit, LARGEST_GROUP)

    async def lookup(self, key: str) -> Identifier | None:
        if self._closed:
            raise StoreUnavailable("the registry is closed")
        lookups = self._newest_lookups
        if lookups is None or lookups.loop is not asyncio.get_running_loop():
            lookups = self._lookups_of_loop()
        return await lookups.find(key)

    def batch_lookup(self) -> BatchedLookups:
        self._check_open()
        return self._lookups_of_loop()

    def _lookups_of_loop(self) -> BatchedLookups:
        """Return the look-ups of the running event loop, and close those of loops that are closed."""
        loop = asyncio.get_running_loop()
        with self._lock:
            current = next((lookups for lookups in self._lookups if lookups.loop is loop), None) or BatchedLookups(
                self._address, self._options
            )
            for lookups in self._lookups:
                if lookups.loop.is_closed():
                    lookups.close()
            self._lookups = [
                current,
                *(other for other in self._lookups if other is not current and not other.loop.is_closed()),
            ]
            self._newest_lookups = current
        return current

    async def read(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work)

    async def scan(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work, self._scanners)

    def change_number(self) -> int | None:
        return None

    async def read_quick(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work)

    async def _submit(self, work: Callable[[PostgresReader], T], pool: ThreadPoolExecutor | None = None) -> T:
        self._check_open()
        in_context = copy_context().run
        return await asyncio.get_running_loop().run_in_executor(pool or self._pool, in_context, self._read, work)

    def precompute(self, change: Change) -> Change:
        return with_search_vector(change)

    async def write(self, work: Callable[[Transaction], T], prefetch: Prefetch | None = None) -> T:
        result: T = await self._writer.submit(work)
        return result

    async def backup(self, file: Path, progress: Progress, settings: str | None = None) -> str:
        """Copy a snapshot into an embedded store, then back that up, so that the snapshot ends as early as possible."""
        with backup_folder(file) as folder:
            copy = SqliteStore(folder / "copy.db", create=True)
            try:
                await self._submit(lambda reader: fill_copy(copy, reader, progress))
                return await copy.backup(file, lambda done, of: None, settings)
            finally:
                copy.close()

    async def compact(self) -> tuple[int, int]:
        reason = "unsupported on PostgreSQL: ask the database administrator to run VACUUM (FULL)"
        raise InvalidInput("store", "compact", reason)

    async def seal(self, reason: str | None) -> None:
        self._check_open()
        await asyncio.get_running_loop().run_in_executor(self._pool, self._seal, reason or "")

    async def seal_reason(self) -> str | None:
        return await self._submit(PostgresReader.seal_reason)

    async def find_disagreement(self) -> tuple[str, ...]:
        """Compare with the mark of this machine; without one, it has not written to this database yet."""
        mark = self._mark.read(self._lineage)
        return () if mark is None else await self._submit(lambda reader: find_disagreement(mark, reader))

    async def reset_marks(self) -> None:
        self._mark.reset(self._lineage, *await self._submit(PostgresReader.tip))

    def remove_mark(self) -> None:
        self._mark.remove(self._lineage)

    async def schema_differences(self) -> list[str]:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._schema_differences)

    def log_bytes(self) -> int:
        return 0  # the server manages its own log

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._pool.shutdown()
        self._scanners.shutdown()
        for connection in self._connections:
            connection.close()
        for lookups in self._lookups:
            lookups.close()
        self._mark.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the registry is closed")

    def _new_connection(self, extra: str = "") -> ReconnectingConnection:
        connection = ReconnectingConnection(self._address, self._options, extra)
        self._connections.append(connection)
        return connection

    def _read(self, work: Callable[[PostgresReader], T]) -> T:
        """Run work on the thread's connection. If it was lost while idle, reconnect once: a read can be repeated."""
        self._check_open()
        try:
            connection: ReconnectingConnection = self._local.connection
        except AttributeError:
            connection = self._local.connection = self._new_connection()
        with map_db_errors():
            try:
                return self._read_with(connection, work)
            except psycopg.OperationalError:
                if not connection.was_lost:
                    raise
            return self._read_with(connection, work)

    def _read_with(self, connection: ReconnectingConnection, work: Callable[[PostgresReader], T]) -> T:
        reader = PostgresReader(connection.get_connection(), self._options.long_statement_seconds)
        with reader.snapshot():
            return work(reader)

    def _schema_differences(self) -> list[str]:
        with map_db_errors(), closing(connect(self._address, self._options)) as connection:
            return find_differences(connection)

    def _seal(self, reason: str) -> None:
        with map_db_errors(), closing(connect(self._address, self._options)) as connection, connection.transaction():
            make_read_only(connection, reason)


def _read_lineage(connection: Connection) -> str:
    """Return the name that distinguishes this database from others; a migration has created it."""
    row = connection.execute("SELECT value FROM facts WHERE name = %s", (LINEAGE,)).fetchone()
    if row is None:
        raise StoreDamaged(f"the fact {LINEAGE} is missing in the database: restore a backup (perdure restore)")
    return str(row[0])


def make_read_only(connection: Connection, reason: str) -> None:
    """Set the flag in the row of every writing process. This waits for its current write, and prevents the next."""
    connection.execute("UPDATE guards SET value = %s WHERE name = 'sealed'", (reason,))
    connection.execute("SELECT id FROM writers ORDER BY id FOR UPDATE")
    connection.execute("UPDATE writers SET sealed = %s", (bool(reason),))
