"""Batched look-ups of an event loop: those of one iteration of the loop are sent as one query.

There are two connections. A look-up uses the second while the first is busy; while both are busy, look-ups wait for the
next batch. A large batch is split between both: the results of one are delivered while the server works on the other.
So single look-ups cost one round trip each, and the more there are at once, the less each costs. Every query is sent
after its callers have asked, so its result is up to date.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import psycopg

from perdure.errors import StoreUnavailable
from perdure.records.validation import is_storable
from perdure.registry.entities import Identifier
from perdure.registry.store_interface import Redirect, ResultCallback, StoredRecord
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import (
    KEY_LOOKUP_SETTINGS,
    AsyncConnection,
    Row,
    close_now,
    connect_async,
    is_lost,
    shut_down_socket,
    to_store_error,
)
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.reader import (
    FIND,
    FIND_MANY,
    FIND_RECORD,
    FIND_RECORDS,
    FIND_REDIRECT,
    FIND_REDIRECTS,
    to_identifier,
    to_json_array,
)
from perdure.store.postgres.reconnecting import RETRY_PAUSE

_MOST_KEYS: Final = 1_000  # keys in one query
_SPLIT_KEYS: Final = 32  # keys from which a batch is split in two
_CONNECTIONS: Final = 2


class _LookupQuery(NamedTuple):
    """The SQL for one key and for many keys, and the conversion of a row, whose first column is the key."""

    one: str
    many: str
    to_result: Callable[[Row], Any]


_NAMES: Final = _LookupQuery(FIND, FIND_MANY, to_identifier)
_REDIRECTS: Final = _LookupQuery(FIND_REDIRECT, FIND_REDIRECTS, lambda row: (row[1], row[2]))
_RECORDS: Final = _LookupQuery(FIND_RECORD, FIND_RECORDS, lambda row: (row[1], row[2]))

_Results = dict[str, Any]
_PendingLookup = tuple[_LookupQuery, Sequence[str], "asyncio.Future[_Results]"]


class BatchedLookups:
    """The look-ups of an event loop."""

    def __init__(self, address: Address, options: PostgresOptions) -> None:
        self.loop = asyncio.get_running_loop()
        self._idle = [_LookupConnection(address, options) for _ in range(_CONNECTIONS)]
        self._connections = tuple(self._idle)
        self._pending: deque[_PendingLookup] = deque()
        self._pending_keys = 0
        self._is_scheduled = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def find(self, key: str) -> Identifier | None:
        if not (key.isascii() and "\0" not in key) and not is_storable(key):
            return None  # the server would refuse it, and with it all look-ups of the batch
        row: Identifier | None = (await self._enqueue(_NAMES, (key,))).get(key)
        return row

    def find_redirects(self, keys: Sequence[str], callback: ResultCallback[Redirect]) -> None:
        self._enqueue(_REDIRECTS, keys).add_done_callback(partial(_deliver_results, keys, callback))

    def find_records(self, keys: Sequence[str], callback: ResultCallback[StoredRecord]) -> None:
        self._enqueue(_RECORDS, keys).add_done_callback(partial(_deliver_results, keys, callback))

    def _enqueue(self, query: _LookupQuery, keys: Sequence[str]) -> "asyncio.Future[_Results]":
        future: asyncio.Future[_Results] = self.loop.create_future()
        self._pending.append((query, keys, future))
        self._pending_keys += len(keys)
        if not self._is_scheduled and self._idle:
            self._is_scheduled = True
            self.loop.call_soon(self._send)  # after all look-ups of this iteration
        return future

    def close(self) -> None:
        """Close the connections, from any thread; the loop may be closed already."""
        for connection in self._connections:
            connection.close()

    def _send(self) -> None:
        self._is_scheduled = False
        while self._idle and self._pending:
            shares = len(self._idle) if self._pending_keys >= _SPLIT_KEYS else 1
            task = self.loop.create_task(self._run_batch(self._idle.pop(), self._take_batch(shares)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _take_batch(self, shares: int) -> list[_PendingLookup]:
        """Return the oldest look-ups with the same query: one of `shares` equal parts, up to a limit."""
        share = min(-(-self._pending_keys // shares), _MOST_KEYS)
        first = self._pending.popleft()
        batch, number = [first], len(first[1])
        while self._pending:
            query, keys, _ = self._pending[0]
            if query is not first[0] or number + len(keys) > share:
                break
            batch.append(self._pending.popleft())
            number += len(keys)
        self._pending_keys -= number
        return batch

    async def _run_batch(self, connection: "_LookupConnection", batch: list[_PendingLookup]) -> None:
        try:
            results = await connection.fetch(batch[0][0], [key for _, keys, _ in batch for key in keys])
        except Exception as problem:
            for _, _, future in batch:
                if not future.done():
                    future.set_exception(_copy_error(problem))
        else:
            for _, _, future in batch:
                if not future.done():
                    future.set_result(results)
        finally:
            self._idle.append(connection)
            for _, _, future in batch:
                future.cancel()  # a future is not done by now only if the loop is being closed
            if self._pending and not self._is_scheduled:
                self._is_scheduled = True
                self.loop.call_soon(self._send)


class _LookupConnection:
    """A connection that runs one query at a time."""

    def __init__(self, address: Address, options: PostgresOptions) -> None:
        self._address = address
        self._options = options
        self._connection: AsyncConnection | None = None
        self._refused: StoreUnavailable | None = None
        self._not_before = 0.0

    def close(self) -> None:
        if self._connection is not None:
            close_now(self._connection)

    async def fetch(self, query: _LookupQuery, keys: list[str]) -> _Results:
        """Run a query. If the connection was lost while idle, reconnect once: repeating a read is harmless."""
        loop = asyncio.get_running_loop()
        for is_last in (False, True):
            connection = await self._get_connection()
            timeout = loop.call_later(self._options.statement_seconds + 1, shut_down_socket, connection)
            try:
                statement = (query.one, keys) if len(keys) == 1 else (query.many, (to_json_array(keys),))
                rows = await (await connection.execute(*statement, binary=True)).fetchall()
                to_result = query.to_result
                return {row[0]: to_result(row) for row in rows}
            except psycopg.Error as problem:
                if loop.time() >= timeout.when():
                    close_now(connection)
                    raise StoreUnavailable("timeout: the database does not answer", safe_to_retry=True) from problem
                if is_last or not is_lost(connection):
                    raise to_store_error(problem) from problem
            except BaseException:
                close_now(connection)  # its state is unknown
                raise
            finally:
                timeout.cancel()
        raise AssertionError("the second try returns or raises")

    async def _get_connection(self) -> AsyncConnection:
        if self._connection is not None and not is_lost(self._connection):
            return self._connection
        if self._refused is not None and time.monotonic() < self._not_before:
            raise self._refused
        self.close()
        try:
            async with asyncio.timeout(self._options.connect_seconds + 1):
                self._connection = await connect_async(self._address, self._options, KEY_LOOKUP_SETTINGS)
        except (StoreUnavailable, TimeoutError) as problem:
            self._refused = problem if isinstance(problem, StoreUnavailable) else _no_answer_error(self._address)
            self._not_before = time.monotonic() + RETRY_PAUSE
            raise self._refused from None
        self._refused = None
        return self._connection


def _deliver_results(keys: Sequence[str], callback: ResultCallback[Any], future: "asyncio.Future[_Results]") -> None:
    results = {} if future.cancelled() or future.exception() is not None else future.result()
    callback([results.get(key) for key in keys])


def _no_answer_error(address: Address) -> StoreUnavailable:
    return StoreUnavailable(f"timeout: the database {address.display_name} does not answer", safe_to_retry=True)


def _copy_error(problem: Exception) -> Exception:
    """Copy an error for one of several callers: raising one object repeatedly would accumulate their tracebacks."""
    return type(problem)(*problem.args) if isinstance(problem, StoreUnavailable) else problem
