"""A place that is a schema in a PostgreSQL database."""

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
from perdure.registry.copying import histories_of, put_histories, put_surroundings, surroundings
from perdure.registry.entities import History
from perdure.registry.protocol import Progress, Transaction
from perdure.store.place import Place, SetAside
from perdure.store.postgres import migrations
from perdure.store.postgres.address import Address, checked_length
from perdure.store.postgres.connection import Connection, application, connect, in_our_words
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.reading import PostgresReader
from perdure.store.postgres.store import PostgresStore, seal
from perdure.store.sqlite.place import SqlitePlace

_LINGERING: Final = 2.0  # seconds in which a connection that was closed may still be listed
_OTHERS: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s "
    "AND pid <> pg_backend_pid()"
)


def _schema(place: Place) -> str:
    if not isinstance(place, PostgresPlace):
        raise TypeError("only a schema takes the place of a schema")
    return place.schema


def _rename(connection: Connection, old: str, new: str) -> None:
    names = sql.Identifier(old), sql.Identifier(new)
    connection.execute(sql.SQL("ALTER SCHEMA {} RENAME TO {}").format(*names), prepare=False)


class PostgresPlace:
    """A schema, and the file of the marks that are kept outside it."""

    def __init__(self, address: Address, marks: Path, options: PostgresOptions) -> None:
        self._address = address
        self._marks = marks
        self._options = options

    @property
    def shown(self) -> str:
        return self._address.shown

    @property
    def database(self) -> str:
        return self._address.shown

    @property
    def schema(self) -> str:
        return self._address.schema

    def is_file(self, file: Path) -> bool:
        return False

    def exists(self) -> bool:
        with in_our_words(), closing(self._connect()) as connection:
            return migrations.schema_version(connection) > 0

    def open(self) -> PostgresStore:
        return PostgresStore(self._address, self._marks, self._options)

    def create(self) -> PostgresStore:
        return PostgresStore(self._address, self._marks, self._options, create=True)

    def beside(self, purpose: str) -> "PostgresPlace":
        """Each folder on each machine builds in a schema of its own: two who begin at once do not mix theirs."""
        builder = sha256(f"{platform.node()} {self._marks.parent.resolve()}".encode()).hexdigest()[:8]
        return PostgresPlace(self._address.beside(f"{purpose}_{builder}"), self._marks, self._options)

    def remove(self) -> None:
        with in_our_words(), closing(self._connect()) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.schema)))

    async def fill(self, backup: Path, progress: Progress, digest: str | None = None) -> None:
        """A backup is a file of the embedded store: it is opened as one, and copied from there."""
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=self._marks.parent) as folder:
            file = SqlitePlace(Path(folder) / "backup.db")
            await file.fill(backup, lambda done, of: None, digest)
            source = file.open()
            # With marks of its own: those of the folder must not follow a backup that may yet be refused.
            target = PostgresStore(self._address, Path(folder) / "marks.json", self._options, create=True)
            try:
                problems = await source.read(lambda reader: list(reader.contradictions()))
                if problems:
                    raise StoreUnavailable(f"the backup is damaged, and was left alone: {problems[0]}")
                of, done = (await source.read(lambda reader: reader.counts()))["identifiers"], 0
                around = await source.read(surroundings)
                await target.write(lambda tx: put_surroundings(tx, around))
                async for chunk in histories_of(source):

                    def work(tx: Transaction, chunk: list[History] = chunk) -> None:
                        put_histories(tx, chunk)

                    await target.write(work)
                    done += len(chunk)
                    progress(done, of)
            finally:
                source.close()
                target.close()

    def take(self, fresh: Place) -> None:
        with in_our_words(), closing(self._connect()) as connection, connection.transaction():
            # One that the database's administrator has made, with nothing in it, is in the way.
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} RESTRICT").format(sql.Identifier(self.schema)))
            _rename(connection, _schema(fresh), self.schema)

    @contextmanager
    def replaced(self, fresh: Place, stamp: str) -> Iterator[SetAside]:
        """Two names change in one transaction: there is never a moment without a registry.

        The old one is sealed in the same transaction, and the seal waits for all that is being written, so that
        nothing is acknowledged by it that its last dates do not tell of.
        """
        with in_our_words(), closing(self._connect()) as connection:
            self._check_alone(connection)
            stem = f"{self.schema}_before_restore_{stamp.lower()}"
            names = chain([stem], (f"{stem}_{number}" for number in count(2)))
            there = {row[0] for row in connection.execute("SELECT nspname FROM pg_namespace")}
            name = checked_length(next(one for one in names if one not in there))
            with connection.transaction():
                timelines = {}
                with suppress(pg.UndefinedTable, pg.DataCorrupted), connection.transaction():
                    seal(connection, "this registry was replaced by a backup that was restored")
                    timelines = PostgresReader(connection, self._options.long_statement_seconds).timelines()
                yield SetAside(name, timelines)
                _rename(connection, self.schema, name)
                _rename(connection, _schema(fresh), self.schema)

    def versions(self) -> tuple[int, int]:
        with in_our_words(), closing(self._connect()) as connection:
            there = migrations.schema_version(connection)
            if there == 0:
                raise StoreUnavailable(f"there is no registry in {self.shown}")
            return there, len(migrations.MIGRATIONS)

    def save(self, file: Path) -> None:
        """PostgreSQL's own copy of the schema: `pg_restore` brings it back."""
        program = shutil.which("pg_dump")
        if program is None:
            raise StoreUnavailable(
                "pg_dump is not installed here, so no copy can be made: make one on the server, then say --no-backup"
            )
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # The address goes through the environment's side door: a command line can be read by everybody.
        with os.fdopen(descriptor, "wb") as stream:
            done = subprocess.run(  # noqa: S603  (a fixed program, and nothing from outside but names that were checked)
                [program, "--format=custom", f"--schema={self.schema}"],
                stdout=stream,
                stderr=subprocess.PIPE,
                env=os.environ | self._address.environment,
                check=False,
            )
        if done.returncode != 0:
            file.unlink()
            said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise StoreUnavailable(f"pg_dump could not copy the database: {said}")

    def migrate(self) -> None:
        with in_our_words(), closing(self._connect()) as connection:
            self._check_alone(connection)
            migrations.migrate(connection, self._options.long_statement_seconds)

    def _connect(self) -> Connection:
        """Under another name than a program that has the registry open."""
        return connect(self._address, self._options, name="perdure, keeping house")

    def _check_alone(self, connection: Connection) -> None:
        """Whether other programs have this very registry open, on whatever machine."""
        until = time.monotonic() + _LINGERING
        while True:
            others = connection.execute(_OTHERS, (application(self._address),)).fetchone()
            if others is None or not others[0]:
                return
            if time.monotonic() > until:
                raise StoreUnavailable("the registry is open in another program: stop that first", safe_to_retry=True)
            time.sleep(0.05)
