"""The server that all tests of a run share: started by the first that needs it, or named by PERDURE_TEST_POSTGRES.

Each process of the run has its own database, and each store its own schema in it.
"""

import fcntl
import os
import secrets
from functools import cache
from pathlib import Path
from typing import Final

import psycopg
from psycopg import errors, sql
from tests import system_packages
from tests.postgres.addresses import address_of
from tests.postgres.binaries import OLDEST
from tests.postgres.run_folder import run_folder
from tests.postgres.server import PostgresServer, ServerFailed

FOREIGN: Final = "PERDURE_TEST_POSTGRES"  # the address of an existing server
_PATIENCE: Final = "20s"  # a test that locks a schema for longer has forgotten to close something


def need_postgres() -> None:
    """Skip the test, with a clear message, if there is no PostgreSQL."""
    if FOREIGN not in os.environ:
        system_packages.require_package("postgresql")


class Database:
    """The database of a process, on the shared server."""

    def __init__(self) -> None:
        server = server_address()
        with psycopg.connect(server, autocommit=True) as connection:
            if connection.info.server_version < OLDEST * 10_000:
                raise ServerFailed(f"{FOREIGN} names a server that is older than PostgreSQL {OLDEST}")
            self._name: str | None = f"perdure_test_{secrets.token_hex(6)}"
            try:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self._name)))
            except errors.InsufficientPrivilege:
                self._name = None  # then in the one that was given: schemas keep the tests apart as well
        self._server = server
        self.connection = psycopg.connect(self.address(), autocommit=True)
        self.connection.execute(f"SET lock_timeout = '{_PATIENCE}'; SET client_min_messages = error")

    def address(self, schema: str | None = None) -> str:
        return address_of(self._server, self._name, schema)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement directly, without the store."""
        cursor = self.connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def drop(self, schema: str) -> None:
        self.connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))

    def close(self) -> None:
        self.connection.close()
        if self._name is not None and FOREIGN in os.environ:  # our own server goes as a whole
            with psycopg.connect(self._server, autocommit=True) as connection:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(self._name)))


_database: Database | None = None


def database() -> Database:
    """Return the database of this process."""
    global _database
    if _database is None:
        _database = Database()
    return _database


def close_database() -> None:
    global _database
    if _database is not None:
        _database.close()
        _database = None


@cache
def server_address() -> str:
    """Return the address of the shared server, which is started if it does not run yet."""
    if FOREIGN in os.environ:
        return address_of(os.environ[FOREIGN])
    started, failed = run_folder() / "address", run_folder() / "failed"
    with (run_folder() / "starting.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if failed.exists():  # hundreds of tests would wait for it in vain, one after the other
            raise ServerFailed(failed.read_text())
        if not started.exists():
            _start(started, failed)
        return started.read_text()


def _start(started: Path, failed: Path) -> None:
    server = PostgresServer()
    try:
        server.start()
    except ServerFailed as failure:
        failed.write_text(str(failure))
        raise
    started.write_text(server.address())
    server.leave_running()  # others may need it for longer than this process lives
