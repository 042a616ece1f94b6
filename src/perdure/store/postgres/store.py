"""The store that the registry sees: look-ups gathered on the event loop, reads on a pool, writes through the writer."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import psycopg

from perdure.errors import InvalidInput, StoreDamaged, StoreUnavailable
from perdure.registry.entities import Change, Identifier
from perdure.registry.protocol import Foreseen, Progress, Reader, Transaction
from perdure.store.commit_mark import LINEAGE, CommitMarkFile, find_disagreement
from perdure.store.high_water import HighWater
from perdure.store.postgres import migrations
from perdure.store.postgres.address import Address, parse
from perdure.store.postgres.backup import backup_folder, fill_copy
from perdure.store.postgres.changes import with_vector
from perdure.store.postgres.committing import LARGEST_GROUP, GroupCommit
from perdure.store.postgres.connection import BY_KEY, Connection, connect, in_our_words
from perdure.store.postgres.line import Line
from perdure.store.postgres.lookups import Lookups
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.reading import PostgresReader
from perdure.store.postgres.schema import SCHEMA_DIGEST, check_parts, find_differences
from perdure.store.sqlite import SqliteStore
from perdure.store.writer import Writer

T = TypeVar("T")

_DEFAULTS = PostgresOptions()


class PostgresStore:
    """A registry's schema in a PostgreSQL database. `create` makes it; the database itself must exist.

    `marks` is the file of the high-water marks, outside the database on purpose.
    """

    def __init__(
        self, address: str | Address, marks: Path, options: PostgresOptions = _DEFAULTS, *, create: bool = False
    ) -> None:
        self._address = parse(address) if isinstance(address, str) else address
        self._options = options
        self._closed = False
        self.high_water = HighWater(marks)
        with in_our_words(), closing(connect(self._address, options)) as connection:
            if create:
                migrations.create(connection, self._address.schema, options.partitions)
            migrations.check_schema(connection, self._address.schema)
            self._lineage = _lineage(connection)
            check_parts(connection, marks.with_name(SCHEMA_DIGEST))
        self._mark = CommitMarkFile(marks.parent, self._lineage)
        self._lookups: list[Lookups] = []  # one for each event loop
        self._newest_lookups: Lookups | None = None
        self._door = threading.Lock()
        self._local = threading.local()
        self._lines: list[Line] = []
        self._pool = ThreadPoolExecutor(options.connections, "perdure-reader")
        self._scanners = ThreadPoolExecutor(options.search_connections, "perdure-scanner")
        commit = GroupCommit(self._line(BY_KEY), self.high_water, self._mark, options.settle_seconds)
        self._writer = Writer(commit, LARGEST_GROUP)

    async def lookup(self, key: str) -> Identifier | None:
        if self._closed:
            raise StoreUnavailable("the registry is closed")
        here = self._newest_lookups
        if here is None or here.loop is not asyncio.get_running_loop():
            here = self._lookups_here()
        return await here.ask(key)

    def finder(self) -> Lookups:
        self._check_open()
        return self._lookups_here()

    def _lookups_here(self) -> Lookups:
        """Those of the event loop that is running; those of loops that are gone are closed."""
        loop = asyncio.get_running_loop()
        with self._door:
            here = next((one for one in self._lookups if one.loop is loop), None) or Lookups(
                self._address, self._options
            )
            for one in self._lookups:
                if one.loop.is_closed():
                    one.close()
            self._lookups = [here, *(one for one in self._lookups if one is not here and not one.loop.is_closed())]
            self._newest_lookups = here
        return here

    async def read(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work)

    async def scan(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work, self._scanners)

    async def glance(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work)

    async def _submit(self, work: Callable[[PostgresReader], T], pool: ThreadPoolExecutor | None = None) -> T:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(pool or self._pool, self._read, work)

    def ready(self, change: Change) -> Change:
        return with_vector(change)

    async def write(self, work: Callable[[Transaction], T], foreseen: Foreseen | None = None) -> T:
        result: T = await self._writer.submit(work)
        return result

    async def backup(self, file: Path, progress: Progress) -> str:
        """One state, into a store of its own; and then into its place, when nobody's snapshot is held up by it."""
        with backup_folder(file) as folder:
            copy = SqliteStore(folder / "copy.db", create=True)
            try:
                await self._submit(lambda reader: fill_copy(copy, reader, progress))
                return await copy.backup(file, lambda done, of: None)
            finally:
                copy.close()

    async def compact(self) -> tuple[int, int]:
        reason = "PostgreSQL sees to its own files: ask whoever looks after it for VACUUM (FULL)"
        raise InvalidInput("store", "compact", reason)

    async def seal(self, reason: str | None) -> None:
        self._check_open()
        await asyncio.get_running_loop().run_in_executor(self._pool, self._seal, reason or "")

    async def sealed(self) -> str | None:
        return await self._submit(PostgresReader.sealed)

    async def find_disagreement(self) -> tuple[str, ...]:
        """A machine without a mark is one that has not written to this database yet."""
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
        return 0  # the server sees to its own

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._pool.shutdown()
        self._scanners.shutdown()
        for line in self._lines:
            line.hang_up()
        for lookups in self._lookups:
            lookups.close()
        self._mark.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the registry is closed")

    def _line(self, extra: str = "") -> Line:
        line = Line(self._address, self._options, extra)
        self._lines.append(line)
        return line

    def _read(self, work: Callable[[PostgresReader], T]) -> T:
        """A connection that was lost while nobody looked is made anew, once: to read again is harmless."""
        self._check_open()
        try:
            line: Line = self._local.line
        except AttributeError:
            line = self._local.line = self._line()
        with in_our_words():
            try:
                return self._read_over(line, work)
            except psycopg.OperationalError:
                if not line.was_lost:
                    raise
            return self._read_over(line, work)

    def _read_over(self, line: Line, work: Callable[[PostgresReader], T]) -> T:
        reader = PostgresReader(line.connection(), self._options.long_statement_seconds)
        with reader.snapshot():
            return work(reader)

    def _schema_differences(self) -> list[str]:
        with in_our_words(), closing(connect(self._address, self._options)) as connection:
            return find_differences(connection)

    def _seal(self, reason: str) -> None:
        with in_our_words(), closing(connect(self._address, self._options)) as connection, connection.transaction():
            seal(connection, reason)


def _lineage(connection: Connection) -> str:
    """What tells this database from others, which the schema's last step has given it."""
    row = connection.execute("SELECT value FROM facts WHERE name = %s", (LINEAGE,)).fetchone()
    if row is None:
        raise StoreDamaged(f"the database has lost its {LINEAGE}: restore a backup (perdure restore)")
    return str(row[0])


def seal(connection: Connection, reason: str) -> None:
    """Every process's own row is sealed: that waits for what it is writing, and stops it before it writes again."""
    connection.execute("UPDATE guards SET value = %s WHERE name = 'sealed'", (reason,))
    connection.execute("SELECT id FROM writers ORDER BY id FOR UPDATE")
    connection.execute("UPDATE writers SET sealed = %s", (bool(reason),))
