"""Connections to the server, set up for safety first, and its errors said in the registry's words."""

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
from perdure.store.postgres.options import PostgresOptions

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it reports, our errors say

Row = tuple[Any, ...]
RV = TypeVar("RV")

_GRACE: Final = 5.0  # seconds beyond what the server was told, before it is taken for gone


class Connection(psycopg.Connection[Row]):
    """A connection that waits for no answer longer than `patience`: the server's own limits count while it lives."""

    patience: float = 60.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        until = time.monotonic() + self.patience
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except psycopg.OperationalError:
            if timeout is None and time.monotonic() >= until:
                hang_up(self)  # what it was doing is not known, so it can be used for nothing else
            raise


AsyncConnection = psycopg.AsyncConnection[Row]

_LOST: Final = "the connection to the database was lost: nothing was written. It is made anew by itself; try again"

# What went wrong, what to do about it, and whether the same call may succeed later. Nothing was written in any of them.
_TROUBLES: Final[tuple[tuple[type[psycopg.Error], str, bool], ...]] = (
    (pg.QueryCanceled, "the database took longer than statement_seconds in the settings allows", True),
    (pg.LockNotAvailable, "another program holds what is needed longer than lock_seconds allows; try again", True),
    (pg.DeadlockDetected, "other programs were in the way; try again", True),
    (pg.SerializationFailure, "other programs were in the way; try again", True),
    (pg.IdleInTransactionSessionTimeout, "this program stood still in the middle of a transaction; try again", True),
    (pg.TooManyConnections, "the database has no connection left: raise its max_connections, or close some", True),
    (pg.ReadOnlySqlTransaction, "the database takes no writes: it is a standby. Connect to the primary", True),
    (pg.InsufficientPrivilege, "the database user may not do this: see the documentation for what it needs", False),
    (pg.DataCorrupted, "the database is damaged: look at the server's log, and restore a backup", False),
    (pg.IndexCorrupted, "the database is damaged: look at the server's log, and restore a backup", False),
)


# Keys are looked up one by one, each in its own partition, whatever the statistics of a young database say.
BY_KEY: Final = (
    ", set_config('plan_cache_mode', 'force_generic_plan', false), set_config('enable_hashjoin', 'off', false)"
    ", set_config('enable_mergejoin', 'off', false), set_config('enable_seqscan', 'off', false)"
    ", set_config('jit', 'off', false)"  # a scan that cannot be avoided looks so costly then that it would be compiled
)


def connect(address: Address, options: PostgresOptions, extra: str = "", name: str | None = None) -> Connection:
    """One connection; each statement is its own transaction unless one is begun."""
    parameters = _parameters(address, options) | ({} if name is None else {"application_name": name})
    try:
        connection = Connection.connect(address.conninfo, autocommit=True, **parameters)
    except psycopg.OperationalError as problem:
        raise _unreachable(address, problem) from None
    try:
        connection.patience = options.statement_seconds + _GRACE
        connection.execute(_session(address, options, extra), prepare=False)
        _check_encoding(connection)
    except BaseException:
        connection.close()
        raise
    return connection


async def connect_async(address: Address, options: PostgresOptions, extra: str = "") -> AsyncConnection:
    try:
        connection: AsyncConnection = await psycopg.AsyncConnection.connect(
            address.conninfo, autocommit=True, **_parameters(address, options)
        )
    except psycopg.OperationalError as problem:
        raise _unreachable(address, problem) from None
    try:
        await connection.execute(_session(address, options, extra), prepare=False)
    except BaseException:
        hang_up(connection)
        raise
    return connection


def cut(connection: AsyncConnection) -> None:
    """End what a connection is waiting for: whoever waits hears of it, which closing it would not let them."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.pgconn.socket)) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def hang_up(connection: Connection | AsyncConnection) -> None:
    """Close at once, without waiting for a server that may be gone."""
    with suppress(psycopg.Error):
        connection.pgconn.finish()


def _unreachable(address: Address, problem: psycopg.OperationalError) -> StoreUnavailable:
    """libpq names host, port and user, and never the password."""
    said = str(problem).strip().partition("\n")[0]
    return StoreUnavailable(f"the database {address.shown} cannot be reached: {said}", safe_to_retry=True)


def application(address: Address) -> str:
    """What the server's list of connections calls us: by registry, so that one can see who has it open."""
    return f"perdure {address.schema}"


def _parameters(address: Address, options: PostgresOptions) -> dict[str, Any]:
    """A server that vanishes without a word is noticed in half a minute, and not in the system's two hours."""
    return {
        "connect_timeout": max(2, round(options.connect_seconds)),  # libpq takes whole seconds, and at least two
        "application_name": application(address),
        "client_encoding": "UTF8",
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 20_000,
        "prepare_threshold": 0,
    }


def _session(address: Address, options: PostgresOptions, extra: str) -> sql.Composed:
    """One sentence for all settings. A server that acknowledges before it is on disk is told not to."""
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
        raise StoreUnavailable(f"the database is encoded in {encoding}, and names need UTF8: make another with UTF8")


@contextmanager
def in_our_words() -> Iterator[None]:
    """psycopg's errors never leave this room."""
    try:
        yield
    except psycopg.Error as problem:
        raise translated(problem) from problem


def is_lost(connection: Connection | AsyncConnection) -> bool:
    return connection.closed or connection.broken


def translated(problem: psycopg.Error) -> StoreUnavailable:
    if isinstance(problem, pg.DiskFull):
        return StoreFull("the disk of the database server")
    for kind, reason, safe_to_retry in _TROUBLES:
        if isinstance(problem, kind):
            damaged = isinstance(problem, pg.DataCorrupted | pg.IndexCorrupted)
            return StoreDamaged(reason) if damaged else StoreUnavailable(reason, safe_to_retry)
    said = (problem.diag.message_primary or str(problem)).strip().partition("\n")[0]
    if isinstance(problem, psycopg.OperationalError) and (problem.sqlstate or "57P").startswith(("08", "57P")):
        return StoreUnavailable(f"{_LOST} ({said})", safe_to_retry=True)
    return StoreUnavailable(f"the database refused: {said}")
