"""A connection that is opened on demand, and again after it was lost."""

import time
from contextlib import suppress
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

from perdure.errors import StoreUnavailable
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import Connection, close_now, connect, is_lost
from perdure.store.postgres.postgres_options import PostgresOptions

RETRY_PAUSE: Final = 0.5  # seconds until an unreachable database is tried again; until then callers fail at once


class ReconnectingConnection:
    """The connection of a thread."""

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

    def get_connection(self) -> Connection:
        """Return the open connection, or a new one."""
        if self._connection is not None and not is_lost(self._connection):
            return self._connection
        if self._refused is not None and time.monotonic() < self._not_before:
            raise StoreUnavailable(self._refused.reason, self._refused.safe_to_retry)
        self.close()
        try:
            self._connection = connect(self._address, self._options, self._extra)
        except StoreUnavailable as problem:
            self._refused, self._not_before = problem, time.monotonic() + RETRY_PAUSE
            raise
        self._refused = None
        return self._connection

    def end_transaction(self) -> None:
        """Roll back an open transaction, whatever the state of the connection."""
        connection = self._connection
        if connection is None or is_lost(connection):
            self.close()
            return
        if connection.info.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK", prepare=False)
            if is_lost(connection):
                self.close()

    def close(self) -> None:
        if self._connection is not None:
            close_now(self._connection)
            self._connection = None
