"""A store on PostgreSQL behind a network that fails on demand."""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from tests.cutting_proxy import CuttingProxy
from tests.postgres.addresses import address_of
from tests.postgres.shared_server import database, need_postgres

from perdure.errors import StoreUnavailable
from perdure.registry.store_interface import Transaction
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.store import PostgresStore

PATIENCE: Final = 20.0  # seconds


class Unreliable:
    """A schema that is reached through a proxy."""

    def __init__(self, folder: Path) -> None:
        self.schema = f"t_{secrets.token_hex(6)}"
        self.direct = database().address(self.schema)
        self._folder = folder
        self._stores: list[PostgresStore] = []
        self.proxy = CuttingProxy(self.direct)

    def open(self, *, direct: bool = False, **options: Any) -> PostgresStore:
        """Open the store, through the proxy or directly; the first call creates it."""
        address = self.direct if direct else self.proxy.address(self.direct)
        store = PostgresStore(
            address, self._folder / "high-water.json", PostgresOptions(**{"partitions": 2} | options), create=True
        )
        self._stores.append(store)
        return store

    def connect(self) -> psycopg.Connection[Any]:
        """Connect directly, without proxy and store."""
        return psycopg.connect(address_of(self.direct, schema=None), options=f"-csearch_path={self.schema}")

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement in this schema directly, without the store."""
        with self.connect() as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self.proxy.heal()
        for store in self._stores:
            store.close()
        self.proxy.close()
        database().drop(self.schema)


@pytest.fixture
def unreliable(tmp_path: Path) -> Iterator[Unreliable]:
    need_postgres()
    unreliable = Unreliable(tmp_path)
    yield unreliable
    unreliable.close()


async def in_one_group(store: PostgresStore, works: list[Callable[[Transaction], Any]]) -> list[Any]:
    """Run all works in one commit: they queue behind a slow work. Return results or errors."""
    begun, gate = threading.Event(), threading.Event()

    def slow(tx: Transaction) -> None:
        begun.set()
        assert gate.wait(PATIENCE)

    first = asyncio.ensure_future(store.write(slow))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    others = [asyncio.ensure_future(store.write(work)) for work in works]
    await asyncio.sleep(0)  # they are waiting in the queue now
    gate.set()
    await first
    return await asyncio.gather(*others, return_exceptions=True)


async def as_soon_as_possible(attempt: Callable[[], Any]) -> Any:
    """Retry until the store can be reached."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return await attempt()
        except StoreUnavailable as problem:
            assert problem.safe_to_retry, problem
            assert time.monotonic() < until, f"it does not recover: {problem}"
            await asyncio.sleep(0.05)
