"""Look-ups of one event loop, gathered: what is asked in one turn of the loop goes to the server as one question.

There are two lanes to the server. Who asks while one is busy goes over the other, and when both are, those who ask
meanwhile are the next question. When many ask in one turn, each lane takes half: the answers of one are handed out
while the server works on the other's. So one at a time costs one journey each, and the more ask at once, the less
each costs. Every question is asked after its callers asked: the answer is fresh.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import psycopg

from perdure.errors import StoreUnavailable
from perdure.records.checks import can_be_kept
from perdure.registry.entities import Identifier
from perdure.registry.protocol import Give, Redirect, Written
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import (
    BY_KEY,
    AsyncConnection,
    Row,
    connect_async,
    cut,
    hang_up,
    is_lost,
    translated,
)
from perdure.store.postgres.line import BREATH
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.reading import (
    FIND,
    FIND_MANY,
    FIND_RECORD,
    FIND_RECORDS,
    FIND_REDIRECT,
    FIND_REDIRECTS,
    as_json,
    identifier_of,
)

_MOST: Final = 1_000  # keys in one question
_MANY: Final = 32  # keys that are worth two questions at once
_LANES: Final = 2


class _Question(NamedTuple):
    """What is asked of keys: of one, and of many; and what becomes of a row, whose first column is the key."""

    one: str
    many: str
    told: Callable[[Row], Any]


_NAMES: Final = _Question(FIND, FIND_MANY, identifier_of)
_REDIRECTS: Final = _Question(FIND_REDIRECT, FIND_REDIRECTS, lambda row: (row[1], row[2]))
_RECORDS: Final = _Question(FIND_RECORD, FIND_RECORDS, lambda row: (row[1], row[2]))

_Found = dict[str, Any]
_Waiting = tuple[_Question, Sequence[str], "asyncio.Future[_Found]"]


class Lookups:
    """The look-ups of one event loop."""

    def __init__(self, address: Address, options: PostgresOptions) -> None:
        self.loop = asyncio.get_running_loop()
        self._idle = [_Lane(address, options) for _ in range(_LANES)]
        self._lanes = tuple(self._idle)
        self._waiting: deque[_Waiting] = deque()
        self._keys_waiting = 0
        self._is_turn_planned = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, key: str) -> Identifier | None:
        if not (key.isascii() and "\0" not in key) and not can_be_kept(key):
            return None  # the server would refuse it, and everybody who asks at the same time with it
        found: Identifier | None = (await self._ask(_NAMES, (key,))).get(key)
        return found

    def redirects(self, keys: Sequence[str], give: Give[Redirect]) -> None:
        self._ask(_REDIRECTS, keys).add_done_callback(partial(_hand_over, keys, give))

    def records(self, keys: Sequence[str], give: Give[Written]) -> None:
        self._ask(_RECORDS, keys).add_done_callback(partial(_hand_over, keys, give))

    def _ask(self, question: _Question, keys: Sequence[str]) -> "asyncio.Future[_Found]":
        future: asyncio.Future[_Found] = self.loop.create_future()
        self._waiting.append((question, keys, future))
        self._keys_waiting += len(keys)
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
            lanes = len(self._idle) if self._keys_waiting >= _MANY else 1
            task = self.loop.create_task(self._answer(self._idle.pop(), self._batch(lanes)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _batch(self, lanes: int) -> list[_Waiting]:
        """Those who have waited longest, and ask the same: a fair share for one of so many lanes, bounded."""
        share = min(-(-self._keys_waiting // lanes), _MOST)
        first = self._waiting.popleft()
        batch, number = [first], len(first[1])
        while self._waiting:
            question, keys, _ = self._waiting[0]
            if question is not first[0] or number + len(keys) > share:
                break
            batch.append(self._waiting.popleft())
            number += len(keys)
        self._keys_waiting -= number
        return batch

    async def _answer(self, lane: "_Lane", batch: list[_Waiting]) -> None:
        try:
            found = await lane.found(batch[0][0], [key for _, keys, _ in batch for key in keys])
        except Exception as problem:
            for _, _, future in batch:
                if not future.done():
                    future.set_exception(_of_its_own(problem))
        else:
            for _, _, future in batch:
                if not future.done():
                    future.set_result(found)
        finally:
            self._idle.append(lane)
            for _, _, future in batch:
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

    async def found(self, question: _Question, keys: list[str]) -> _Found:
        """A connection that was lost while nobody looked is made anew, once: to ask again is harmless."""
        loop = asyncio.get_running_loop()
        for is_last in (False, True):
            connection = await self._connected()
            patience = loop.call_later(self._options.statement_seconds + 1, cut, connection)
            try:
                asked = (question.one, keys) if len(keys) == 1 else (question.many, (as_json(keys),))
                rows = await (await connection.execute(*asked, binary=True)).fetchall()
                told = question.told
                return {row[0]: told(row) for row in rows}
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


def _hand_over(keys: Sequence[str], give: Give[Any], future: "asyncio.Future[_Found]") -> None:
    found = {} if future.cancelled() or future.exception() is not None else future.result()
    give([found.get(key) for key in keys])


def _silent(address: Address) -> StoreUnavailable:
    return StoreUnavailable(f"the database {address.shown} does not answer", safe_to_retry=True)


def _of_its_own(problem: Exception) -> Exception:
    """Each caller raises an error of its own: one that is raised in many places gathers all their traces."""
    return type(problem)(*problem.args) if isinstance(problem, StoreUnavailable) else problem
