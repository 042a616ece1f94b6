"""The store that the registry sees: look-ups gathered on the event loop, reads on a pool, writes through the writer."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

import psycopg

from perdure.errors import StoreUnavailable
from perdure.registry.entities import Identifier
from perdure.registry.protocol import Progress, Reader, Transaction
from perdure.store.high_water import HighWater
from perdure.store.postgres import migrations
from perdure.store.postgres.address import Address, parse
from perdure.store.postgres.backup import copy_to_file
from perdure.store.postgres.committing import LARGEST_GROUP, GroupCommit
from perdure.store.postgres.connection import connect, in_our_words
from perdure.store.postgres.line import Line
from perdure.store.postgres.lookups import Lookups
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.reading import PostgresReader
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
        self._lookups: WeakKeyDictionary[asyncio.AbstractEventLoop, Lookups] = WeakKeyDictionary()
        self._local = threading.local()
        self._lines: list[Line] = []
        self._pool = ThreadPoolExecutor(options.connections, "perdure-reader")
        self._writer = Writer(GroupCommit(self._line(), self.high_water, options.settle_seconds), LARGEST_GROUP)

    async def lookup(self, key: str) -> Identifier | None:
        self._check_open()
        loop = asyncio.get_running_loop()
        lookups = self._lookups.get(loop)
        if lookups is None:
            lookups = self._lookups[loop] = Lookups(self._address, self._options)
        return await lookups.ask(key)

    async def read(self, work: Callable[[Reader], T]) -> T:
        return await self._submit(work)

    async def _submit(self, work: Callable[[PostgresReader], T]) -> T:
        self._check_open()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, work)

    async def write(self, work: Callable[[Transaction], T]) -> T:
        result: T = await self._writer.submit(work)
        return result

    async def backup(self, file: Path, progress: Progress) -> None:
        self._check_open()
        await self._submit(lambda reader: copy_to_file(reader, file, progress))

    async def seal(self, reason: str | None) -> None:
        self._check_open()
        await asyncio.get_running_loop().run_in_executor(self._pool, self._seal, reason or "")

    async def sealed(self) -> str | None:
        return await self._submit(PostgresReader.sealed)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._pool.shutdown()
        for line in self._lines:
            line.hang_up()
        for lookups in self._lookups.values():
            lookups.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the registry is closed")

    def _line(self) -> Line:
        line = Line(self._address, self._options)
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

    def _seal(self, reason: str) -> None:
        """Every process's own row is sealed: that waits for what it is writing, and stops it before it writes again."""
        with in_our_words(), closing(connect(self._address, self._options)) as connection, connection.transaction():
            connection.execute("UPDATE guards SET value = %s WHERE name = 'sealed'", (reason,))
            connection.execute("SELECT id FROM writers ORDER BY id FOR UPDATE")
            connection.execute("UPDATE writers SET sealed = %s", (bool(reason),))
