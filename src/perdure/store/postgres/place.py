"""A place that is a schema in a PostgreSQL database."""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import closing
from itertools import chain, count
from pathlib import Path
from typing import Final

from psycopg import errors as pg
from psycopg import sql

from perdure.errors import PerdureError, StoreUnavailable
from perdure.registry.copying import histories_of, put_histories, put_surroundings, surroundings
from perdure.registry.entities import History
from perdure.registry.protocol import Transaction
from perdure.store.place import Place, SetAside
from perdure.store.postgres import migrations
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import Connection, application, connect, in_our_words
from perdure.store.postgres.options import PostgresOptions
from perdure.store.postgres.reading import PostgresReader
from perdure.store.postgres.store import PostgresStore
from perdure.store.sqlite.place import SqlitePlace

_LINGERING: Final = 2.0  # seconds in which a connection that was closed may still be listed
_OTHERS: Final = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s "
    "AND pid <> pg_backend_pid()"
)


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
        return PostgresPlace(self._address.with_schema(f"{self.schema}_{purpose}"), self._marks, self._options)

    def remove(self) -> None:
        with in_our_words(), closing(self._connect()) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.schema)))

    async def fill(self, backup: Path) -> None:
        """A backup is a file of the embedded store: it is opened as one, and copied from there."""
        with tempfile.TemporaryDirectory(prefix=".restore-", dir=self._marks.parent) as folder:
            file = SqlitePlace(Path(folder) / "backup.db")
            await file.fill(backup)
            source = file.open()
            target = self.create()
            try:
                problems = await source.read(lambda reader: list(reader.contradictions()))
                if problems:
                    raise StoreUnavailable(f"the backup is damaged, and was left alone: {problems[0]}")
                around = await source.read(surroundings)
                await target.write(lambda tx: put_surroundings(tx, around))
                async for chunk in histories_of(source):

                    def work(tx: Transaction, chunk: list[History] = chunk) -> None:
                        put_histories(tx, chunk)

                    await target.write(work)
            finally:
                source.close()
                target.close()

    def set_aside(self, stamp: str) -> SetAside:
        with in_our_words(), closing(self._connect()) as connection:
            self._check_alone(connection)
            stem = f"{self.schema}_before_restore_{stamp.lower()}"
            names = chain([stem], (f"{stem}_{number}" for number in count(2)))
            there = {row[0] for row in connection.execute("SELECT nspname FROM pg_namespace")}
            name = next(one for one in names if one not in there)
            try:
                timelines = PostgresReader(connection).timelines()
            except (pg.Error, PerdureError):  # it is being replaced because it is damaged
                timelines = {}
            return SetAside(name, timelines)

    def take(self, fresh: Place, aside: SetAside | None = None) -> None:
        """Two names change in one transaction: there is never a moment without a registry."""
        if not isinstance(fresh, PostgresPlace):
            raise TypeError("only a schema takes the place of a schema")
        rename = sql.SQL("ALTER SCHEMA {} RENAME TO {}")
        with in_our_words(), closing(self._connect()) as connection, connection.transaction():
            if aside is not None:
                self._check_alone(connection)
                connection.execute(rename.format(sql.Identifier(self.schema), sql.Identifier(aside.name)))
            connection.execute(rename.format(sql.Identifier(fresh.schema), sql.Identifier(self.schema)))

    def versions(self) -> tuple[int, int]:
        with in_our_words(), closing(self._connect()) as connection:
            return migrations.schema_version(connection), len(migrations.MIGRATIONS)

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
            migrations.migrate(connection)

    def _connect(self) -> Connection:
        return connect(self._address, self._options)

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
