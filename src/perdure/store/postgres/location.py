"""The location of a store that is a schema in a PostgreSQL database."""

import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from itertools import chain, count
from pathlib import Path
from typing import Final

from psycopg import errors as pg
from psycopg import sql

from perdure.errors import StoreUnavailable
from perdure.registry.entities import History
from perdure.registry.store_copy import (
    iterate_histories,
    iterate_holdings,
    iterate_resolutions,
    put_histories,
    put_holdings,
    put_registry_state,
    read_registry_state,
)
from perdure.registry.store_interface import Progress, Transaction
from perdure.store.location import DisplacedStore, StoreLocation
from perdure.store.postgres import migrations
from perdure.store.postgres.address import Address, check_schema_length
from perdure.store.postgres.connection import Connection, application_name, connect, map_db_errors
from perdure.store.postgres.postgres_options import PostgresOptions
from perdure.store.postgres.reader import PostgresReader
from perdure.store.postgres.store import PostgresStore, make_read_only
from perdure.store.sqlite.location import SqliteLocation

_CLOSE_GRACE: Final = 2.0  # seconds for which the server may list a connection that was closed
_OTHER_CONNECTIONS: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s "
    "AND pid <> pg_backend_pid()"
)


def _require_schema(location: StoreLocation) -> str:
    if not isinstance(location, PostgresLocation):
        raise TypeError("a schema can only be replaced by a schema")
    return location.schema


def _rename_schema(connection: Connection, old: str, new: str) -> None:
    names = sql.Identifier(old), sql.Identifier(new)
    connection.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(*names), prepare=False)


class PostgresLocation:
    """A schema, and the file of the high-water marks, which is outside the database."""

    def __init__(self, address: Address, marks: Path, options: PostgresOptions) -> None:
        self._address = address
        self._marks = marks
        self._options = options

    @property
    def display_name(self) -> str:
        return self._address.display_name

    @property
    def database(self) -> str:
        return self._address.display_name

    @property
    def schema(self) -> str:
        return self._address.schema

    def is_file(self, file: Path) -> bool:
        return False

    def exists(self) -> bool:
        with map_db_errors(), closing(self._connect()) as connection:
            return migrations.schema_version(connection) > 0

    def open(self) -> PostgresStore:
        return PostgresStore(self._address, self._marks, self._options)

    def create(self) -> PostgresStore:
        return PostgresStore(self._address, self._marks, self._options, create=True)

    def temporary_location(self, purpose: str) -> "PostgresLocation":
        """Return a schema of this folder and machine alone, so that two programs do not build in the same one."""
        builder = sha256(f"{platform.node()} {self._marks.parent.resolve()}".encode()).hexdigest()[:8]
        return PostgresLocation(self._address.with_temporary_schema(f"{purpose}_{builder}"), self._marks, self._options)

    def remove(self) -> None:
        with map_db_errors(), closing(self._connect()) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.schema)))

    async def restore_backup(self, backup: Path, progress: Progress, digest: str | None = None) -> str | None:
        """Open the backup, which is a file of the embedded store, and copy its content."""
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=self._marks.parent) as folder:
            file = SqliteLocation(Path(folder) / "backup.db")
            settings = await file.restore_backup(backup, lambda done, of: None, digest)
            source = file.open()
            # With separate marks: those of the folder must not change for a backup that may still be refused.
            target = PostgresStore(self._address, Path(folder) / "marks.json", self._options, create=True)
            try:
                problems = await source.read(lambda reader: list(reader.contradictions()))
                if problems:
                    raise StoreUnavailable(f"the backup is damaged, and was not restored: {problems[0]}")
                of, done = (await source.read(lambda reader: reader.counts()))["identifiers"], 0
                around = await source.read(read_registry_state)
                await target.write(lambda tx: put_registry_state(tx, around))
                async for chunk in iterate_histories(source):

                    def work(tx: Transaction, chunk: list[History] = chunk) -> None:
                        put_histories(tx, chunk)

                    await target.write(work)
                    done += len(chunk)
                    progress(done, of)
                async for counts in iterate_resolutions(source):
                    await target.write(lambda tx, counts=counts: tx.add_resolutions(counts))  # type: ignore[misc]
                async for holdings in iterate_holdings(source):
                    await target.write(lambda tx, holdings=holdings: put_holdings(tx, holdings))  # type: ignore[misc]
            finally:
                source.close()
                target.close()
            return settings

    def install(self, fresh: StoreLocation) -> None:
        with map_db_errors(), closing(self._connect()) as connection, connection.transaction():
            # An empty schema, created by the database administrator, is replaced.
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} RESTRICT").format(sql.Identifier(self.schema)))
            _rename_schema(connection, _require_schema(fresh), self.schema)

    @contextmanager
    def replace_with(self, fresh: StoreLocation, stamp: str) -> Iterator[DisplacedStore]:
        """Rename two schemas in one transaction, so that there is always a registry.

        The same transaction makes the old one read-only, which waits for its writes in progress. So the last dates
        include everything that it acknowledged.
        """
        with map_db_errors(), closing(self._connect()) as connection:
            self._check_alone(connection)
            stem = f"{self.schema}_before_restore_{stamp.lower()}"
            names = chain([stem], (f"{stem}_{number}" for number in count(2)))
            existing = {row[0] for row in connection.execute("SELECT nspname FROM pg_namespace")}
            name = check_schema_length(next(name for name in names if name not in existing))
            with connection.transaction():
                timelines = {}
                with suppress(pg.UndefinedTable, pg.DataCorrupted), connection.transaction():
                    make_read_only(connection, "this registry was replaced by a backup that was restored")
                    timelines = PostgresReader(connection, self._options.long_statement_seconds).timelines()
                yield DisplacedStore(name, timelines)
                _rename_schema(connection, self.schema, name)
                _rename_schema(connection, _require_schema(fresh), self.schema)

    def schema_versions(self) -> tuple[int, int]:
        with map_db_errors(), closing(self._connect()) as connection:
            version = migrations.schema_version(connection)
            if version == 0:
                raise StoreUnavailable(f"no registry found in {self.display_name}")
            return version, len(migrations.MIGRATIONS)

    def dump(self, file: Path) -> None:
        """Write a dump of the schema with `pg_dump`, for `pg_restore`."""
        program = shutil.which("pg_dump")
        if program is None:
            raise StoreUnavailable(
                "pg_dump was not found, so no backup can be made: make one on the server, then use --no-backup"
            )
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # The address is passed in the environment, because a command line is readable by all users.
        with os.fdopen(descriptor, "wb") as stream:
            done = subprocess.run(  # noqa: S603  (a fixed program, and checked names)
                [program, "--format=custom", f"--schema={self.schema}"],
                stdout=stream,
                stderr=subprocess.PIPE,
                env=os.environ | self._address.environment,
                check=False,
            )
        if done.returncode != 0:
            file.unlink()
            detail = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise StoreUnavailable(f"pg_dump failed: {detail}")

    def migrate(self) -> None:
        with map_db_errors(), closing(self._connect()) as connection:
            self._check_alone(connection)
            migrations.migrate(connection, self._options.long_statement_seconds)

    def _connect(self) -> Connection:
        """Connect under an application name that no program uses while it has the registry open."""
        return connect(self._address, self._options, name="perdure, maintenance")

    def _check_alone(self, connection: Connection) -> None:
        """Refuse if another program, on any machine, has this registry open."""
        until = time.monotonic() + _CLOSE_GRACE
        while True:
            others = connection.execute(_OTHER_CONNECTIONS, (application_name(self._address),)).fetchone()
            if others is None or not others[0]:
                return
            if time.monotonic() > until:
                raise StoreUnavailable("the registry is open in another program: stop that first", safe_to_retry=True)
            time.sleep(0.05)
