"""A connection that is there when it is needed: made on demand, and made anew after it was lost."""

import time
from contextlib import suppress
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

from perdure.errors import StoreUnavailable
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import Connection, connect, hang_up, is_lost
from perdure.store.postgres.options import PostgresOptions

BREATH: Final = 0.5  # seconds before a database that could not be reached is tried again: until then all hear at once


class Line:
    """The connection of one thread."""

    def __init__(self, address: Address, options: PostgresOptions, extra: str = "") -> None:
        self._address = address
        self._options = options
        self._extra = extra
        self._connection: Connection | None = None
        self._refused: StoreUnavailable | None = None
        self._not_before = 0.0

    @property
    def was_lost(self) -> bool:
        return self._connection is not None and is_lost(self._connection)

    def connection(self) -> Connection:
        """The connection, as it is or new."""
        if self._connection is not None and not is_lost(self._connection):
            return self._connection
        if self._refused is not None and time.monotonic() < self._not_before:
            raise StoreUnavailable(self._refused.reason, self._refused.safe_to_retry)
        self.hang_up()
        try:
            self._connection = connect(self._address, self._options, self._extra)
        except StoreUnavailable as problem:
            self._refused, self._not_before = problem, time.monotonic() + BREATH
            raise
        self._refused = None
        return self._connection

    def end_transaction(self) -> None:
        """Leave nothing open behind, whatever has happened."""
        connection = self._connection
        if connection is None or is_lost(connection):
            self.hang_up()
            return
        if connection.info.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK", prepare=False)
            if is_lost(connection):
                self.hang_up()

    def hang_up(self) -> None:
        if self._connection is not None:
            hang_up(self._connection)
            self._connection = None
