"""Connections to the server, with durable settings, and the mapping of its errors."""

import logging
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg import sql
from psycopg.abc import PQGen

from perdure.errors import StoreDamaged, StoreFull, StoreUnavailable
from perdure.store.postgres.address import Address
from perdure.store.postgres.postgres_options import PostgresOptions

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # our errors report the same

Row = tuple[Any, ...]
RV = TypeVar("RV")

_GRACE: Final = 5.0  # seconds after the server's own timeout, until it is considered unreachable


class Connection(psycopg.Connection[Row]):
    """A connection with a timeout for each reply. The server's own timeouts apply only while it is reachable."""

    reply_timeout: float = 60.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        until = time.monotonic() + self.reply_timeout
        try:
            return super().wait(gen, interval, self.reply_timeout if timeout is None else timeout)
        except psycopg.OperationalError:
            if timeout is None and time.monotonic() >= until:
                close_now(self)  # its state is unknown, so it cannot be used any more
            raise


AsyncConnection = psycopg.AsyncConnection[Row]

_CONNECTION_LOST: Final = (
    "the connection to the database was lost: nothing was written. It reconnects by itself; try again"
)

# What went wrong, what to do, and whether a retry may succeed. Nothing was written in any of these cases.
_ERROR_REASONS: Final[tuple[tuple[type[psycopg.Error], str, bool], ...]] = (
    (pg.QueryCanceled, "timeout: the database took longer than statement_seconds in the settings", True),
    (
        pg.LockNotAvailable,
        "timeout: another program held a lock longer than lock_seconds in the settings; try again",
        True,
    ),
    (pg.DeadlockDetected, "conflict with other programs; try again", True),
    (pg.SerializationFailure, "conflict with other programs; try again", True),
    (pg.IdleInTransactionSessionTimeout, "timeout: this program was idle within a transaction; try again", True),
    (pg.TooManyConnections, "too many connections: raise the database's max_connections, or close some", True),
    (pg.ReadOnlySqlTransaction, "the database is read-only: it is a standby. Connect to the primary", True),
    (
        pg.InsufficientPrivilege,
        "permission denied for the database user: see the documentation for the privileges it needs",
        False,
    ),
    (pg.DataCorrupted, "the database is damaged: check the server's log, and restore a backup", False),
    (pg.IndexCorrupted, "the database is damaged: check the server's log, and restore a backup", False),
)


# Plan settings for look-ups by key: each key in its own partition, whatever the statistics of a new database are.
KEY_LOOKUP_SETTINGS: Final = (
    ", set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_hashjoin', 'off', false)"
    ", set_config('enable_mergejoin', 'off', false), set_config('enable_seqscan', 'off', false)"
    ", set_config('jit', 'off', false)"  # an unavoidable scan now has such a high cost that it would be compiled
)


def connect(address: Address, options: PostgresOptions, extra: str = "", name: str | None = None) -> Connection:
    """Open a connection in autocommit mode."""
    parameters = _connection_parameters(address, options) | ({} if name is None else {"application_name": name})
    try:
        connection = Connection.connect(address.conninfo, autocommit=True, **parameters)
    except psycopg.OperationalError as problem:
        raise _unreachable_error(address, problem) from None
    try:
        connection.reply_timeout = options.statement_seconds + _GRACE
        connection.execute(_session_settings(address, options, extra), prepare=False)
        _check_encoding(connection)
    except BaseException:
        connection.close()
        raise
    return connection


async def connect_async(address: Address, options: PostgresOptions, extra: str = "") -> AsyncConnection:
    try:
        connection: AsyncConnection = await psycopg.AsyncConnection.connect(
            address.conninfo, autocommit=True, **_connection_parameters(address, options)
        )
    except psycopg.OperationalError as problem:
        raise _unreachable_error(address, problem) from None
    try:
        await connection.execute(_session_settings(address, options, extra), prepare=False)
    except BaseException:
        close_now(connection)
        raise
    return connection


def shut_down_socket(connection: AsyncConnection) -> None:
    """Shut down the socket, so that the task that waits for it gets an error; closing it would not wake the task."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.pgconn.socket)) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def close_now(connection: Connection | AsyncConnection) -> None:
    """Close a connection without waiting for the server, which may be unreachable."""
    with suppress(psycopg.Error):
        connection.pgconn.finish()


def _unreachable_error(address: Address, problem: psycopg.OperationalError) -> StoreUnavailable:
    """Build the error from libpq's message, which names host, port and user, and never the password."""
    detail = str(problem).strip().partition("\n")[0]
    return StoreUnavailable(f"the database {address.display_name} cannot be reached: {detail}", safe_to_retry=True)


def application_name(address: Address) -> str:
    """Return our name in the server's list of connections: by registry, so that its users can be seen there."""
    return f"perdure {address.schema}"


def _connection_parameters(address: Address, options: PostgresOptions) -> dict[str, Any]:
    """Return the parameters of a connection. An unreachable server is noticed in half a minute, not in two hours."""
    return {
        "connect_timeout": max(2, round(options.connect_seconds)),  # libpq takes whole seconds, and at least two
        "application_name": application_name(address),
        "client_encoding": "UTF8",
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        "prepare_threshold": 0,
    }


def _session_settings(address: Address, options: PostgresOptions, extra: str) -> sql.Composed:
    """Build the statement with all session settings. Commits are acknowledged only when they are on disk."""
    settings = sql.SQL(
        "SELECT set_config('search_path', {schema}, false),"
        " set_config('statement_timeout', {statement}, false), set_config('client_min_messages', 'error', false),"
        " set_config('lock_timeout', {lock}, false),"
        " set_config('idle_in_transaction_session_timeout', '60s', false),"
        " set_config('default_transaction_isolation', 'read committed', false),"
        " set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'on'"
        " ELSE current_setting('synchronous_commit') END, false)"
    ).format(
        schema=sql.Literal(address.schema),
        statement=sql.Literal(f"{options.statement_seconds * 1000:.0f}ms"),
        lock=sql.Literal(f"{options.lock_seconds * 1000:.0f}ms"),
    )
    return sql.Composed([settings, sql.SQL(extra)])


def _check_encoding(connection: Connection) -> None:
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreUnavailable(f"unsupported database encoding {encoding}: create a database with the encoding UTF8")


@contextmanager
def map_db_errors() -> Iterator[None]:
    """Raise psycopg's errors as errors of the registry."""
    try:
        yield
    except psycopg.Error as problem:
        raise to_store_error(problem) from problem


def is_lost(connection: Connection | AsyncConnection) -> bool:
    return connection.closed or connection.broken


def to_store_error(problem: psycopg.Error) -> StoreUnavailable:
    if isinstance(problem, pg.DiskFull):
        return StoreFull("the disk of the database server")
    for kind, reason, safe_to_retry in _ERROR_REASONS:
        if isinstance(problem, kind):
            damaged = isinstance(problem, pg.DataCorrupted | pg.IndexCorrupted)
            return StoreDamaged(reason) if damaged else StoreUnavailable(reason, safe_to_retry)
    detail = (problem.diag.message_primary or str(problem)).strip().partition("\n")[0]
    if isinstance(problem, psycopg.OperationalError) and (problem.sqlstate or "57P").startswith(("08", "57P")):
        return StoreUnavailable(f"{_CONNECTION_LOST} ({detail})", safe_to_retry=True)
    return StoreUnavailable(f"the database refused: {detail}")
