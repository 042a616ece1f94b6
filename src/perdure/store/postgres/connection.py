"""Connections to the server, set up for safety first, and its errors said in the registry's words."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
from psycopg import errors as pg
from psycopg import sql

from perdure.errors import StoreDamaged, StoreUnavailable
from perdure.store.postgres.address import Address
from perdure.store.postgres.options import PostgresOptions

Connection = psycopg.Connection[tuple[Any, ...]]
AsyncConnection = psycopg.AsyncConnection[tuple[Any, ...]]

_LOST: Final = "the connection to the database was lost: nothing was written. It is made anew by itself; try again"

# What went wrong, what to do about it, and whether the same call may succeed later. Nothing was written in any of them.
_TROUBLES: Final[tuple[tuple[type[psycopg.Error], str, bool], ...]] = (
    (pg.QueryCanceled, "the database took longer than statement_seconds in the settings allows", True),
    (pg.LockNotAvailable, "another program holds what is needed longer than lock_seconds allows; try again", True),
    (pg.DeadlockDetected, "other programs were in the way; try again", True),
    (pg.SerializationFailure, "other programs were in the way; try again", True),
    (pg.IdleInTransactionSessionTimeout, "this program stood still in the middle of a transaction; try again", True),
    (pg.DiskFull, "the disk of the database is full: nothing was written. Make room and try again", True),
    (pg.TooManyConnections, "the database has no connection left: raise its max_connections, or close some", True),
    (pg.ReadOnlySqlTransaction, "the database takes no writes: it is a standby. Connect to the primary", True),
    (pg.InsufficientPrivilege, "the database user may not do this: see the documentation for what it needs", False),
    (pg.DataCorrupted, "the database is damaged: look at the server's log, and restore a backup", False),
    (pg.IndexCorrupted, "the database is damaged: look at the server's log, and restore a backup", False),
)


def connect(address: Address, options: PostgresOptions, extra: str = "") -> Connection:
    """One connection; each statement is its own transaction unless one is begun."""
    try:
        connection: Connection = psycopg.connect(address.conninfo, autocommit=True, **_parameters(address, options))
    except psycopg.OperationalError as problem:
        raise _unreachable(address, problem) from None
    try:
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
        " set_config('statement_timeout', {statement}, false),"
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
    for kind, reason, safe_to_retry in _TROUBLES:
        if isinstance(problem, kind):
            damaged = isinstance(problem, pg.DataCorrupted | pg.IndexCorrupted)
            return StoreDamaged(reason) if damaged else StoreUnavailable(reason, safe_to_retry)
    said = (problem.diag.message_primary or str(problem)).strip().partition("\n")[0]
    if isinstance(problem, psycopg.OperationalError):
        return StoreUnavailable(f"{_LOST} ({said})", safe_to_retry=True)
    return StoreUnavailable(f"the database refused: {said}")
