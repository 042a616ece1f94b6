"""Look-ups of one event loop, gathered: what is asked in one turn of the loop goes to the server as one question.

There are two lanes to the server. Who asks while one is busy goes over the other, and when both are, those who ask
meanwhile are the next question. When many ask in one turn, each lane takes half: the answers of one are handed out
while the server works on the other's. So one at a time costs one journey each, and the more ask at once, the less
each costs. Every question is asked after its callers asked: the answer is fresh.
"""

import asyncio
import time
from typing import Final

import psycopg

from perdure.errors import StoreUnavailable
from perdure.records.checks import can_be_kept
from perdure.registry.entities import Identifier
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import (
    BY_KEY,
    AsyncConnection,
    connect_async,
    cut,
    hang_up,
    is_lost,
    translated,
)
from perdure.store.postgres.line import BREATH
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.reading import FIND, FIND_MANY, as_json, identifier_of

_MOST: Final = 1_000  # keys in one question
_MANY: Final = 32  # keys that are worth two questions at once
_LANES: Final = 2

_Waiting = tuple[str, "asyncio.Future[Identifier | None]"]


class Lookups:
    """The look-ups of one event loop."""

    def __init__(self, address: Address, options: PostgresOptions) -> None:
        self.loop = asyncio.get_running_loop()
        self._idle = [_Lane(address, options) for _ in range(_LANES)]
        self._lanes = tuple(self._idle)
        self._waiting: list[_Waiting] = []
        self._is_turn_planned = False
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, key: str) -> "asyncio.Future[Identifier | None]":
        future: asyncio.Future[Identifier | None] = self.loop.create_future()
        if not (key.isascii() and "\0" not in key) and not can_be_kept(key):
            future.set_result(None)  # the server would refuse it, and everybody who asks at the same time with it
            return future
        self._waiting.append((key, future))
        if not self._is_turn_planned and self._idle:
            self._is_turn_planned = True
            self.loop.call_soon(self._send)  # when everybody in this turn has asked
        return future

    def close(self) -> None:
        """From any thread, when the loop may be gone."""
        for lane in self._lanes:
            lane.close()

    def _send(self) -> None:
        self._is_turn_planned = False
        while self._idle and self._waiting:
            lanes = len(self._idle) if len(self._waiting) >= _MANY else 1
            number = min(-(-len(self._waiting) // lanes), _MOST)
            batch, self._waiting = self._waiting[:number], self._waiting[number:]
            task = self.loop.create_task(self._answer(self._idle.pop(), batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, lane: "_Lane", batch: list[_Waiting]) -> None:
        try:
            found = await lane.found([key for key, _ in batch])
        except Exception as problem:
            for _, future in batch:
                if not future.done():
                    future.set_exception(_of_its_own(problem))
        else:
            for key, future in batch:
                if not future.done():
                    future.set_result(found.get(key))
        finally:
            self._idle.append(lane)
            for _, future in batch:
                future.cancel()  # only if the loop itself is being taken down is one not done by now
            if self._waiting and not self._is_turn_planned:
                self._is_turn_planned = True
                self.loop.call_soon(self._send)


class _Lane:
    """One connection, and one question at a time."""

    def __init__(self, address: Address, options: PostgresOptions) -> None:
        self._address = address
        self._options = options
        self._connection: AsyncConnection | None = None
        self._refused: StoreUnavailable | None = None
        self._not_before = 0.0

    def close(self) -> None:
        if self._connection is not None:
            hang_up(self._connection)

    async def found(self, keys: list[str]) -> dict[str, Identifier]:
        """A connection that was lost while nobody looked is made anew, once: to ask again is harmless."""
        loop = asyncio.get_running_loop()
        for is_last in (False, True):
            connection = await self._connected()
            patience = loop.call_later(self._options.statement_seconds + 1, cut, connection)
            try:
                asked = (FIND, keys) if len(keys) == 1 else (FIND_MANY, (as_json(keys),))
                rows = await (await connection.execute(*asked, binary=True)).fetchall()
                return {row[0]: identifier_of(row) for row in rows}
            except psycopg.Error as problem:
                if loop.time() >= patience.when():
                    hang_up(connection)
                    raise StoreUnavailable("the database does not answer", safe_to_retry=True) from problem
                if is_last or not is_lost(connection):
                    raise translated(problem) from problem
            except BaseException:
                hang_up(connection)  # what it was doing is not known
                raise
            finally:
                patience.cancel()
        raise AssertionError("the second try returns or raises")

    async def _connected(self) -> AsyncConnection:
        if self._connection is not None and not is_lost(self._connection):
            return self._connection
        if self._refused is not None and time.monotonic() < self._not_before:
            raise self._refused
        self.close()
        try:
            async with asyncio.timeout(self._options.connect_seconds + 1):
                self._connection = await connect_async(self._address, self._options, BY_KEY)
        except (StoreUnavailable, TimeoutError) as problem:
            self._refused = problem if isinstance(problem, StoreUnavailable) else _silent(self._address)
            self._not_before = time.monotonic() + BREATH
            raise self._refused from None
        self._refused = None
        return self._connection


def _silent(address: Address) -> StoreUnavailable:
    return StoreUnavailable(f"the database {address.shown} does not answer", safe_to_retry=True)


def _of_its_own(problem: Exception) -> Exception:
    """Each caller raises an error of its own: one that is raised in many places gathers all their traces."""
    return type(problem)(*problem.args) if isinstance(problem, StoreUnavailable) else problem
