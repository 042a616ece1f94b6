"""The location of the PostgreSQL bench's data: its own server or a named one, for this run or for longer."""

import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql
from tests.postgres.addresses import address_of
from tests.postgres.server import PostgresServer
from tests.postgres.shared_server import FOREIGN

from bench.rounds import cpu_of_tree

OURS, BARE = "ours", "bare"
DATABASE: Final = "bench"
_DISK_FOLDER: Final = Path("/var/tmp")  # noqa: S108  (only for mkdtemp)

# Usual settings for a million identifiers (PostgreSQL's manual recommends a quarter of the memory); otherwise
# it would measure the server's checkpoints.
_QUARTER: Final = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 >> 20
_SETTINGS: Final = {"shared_buffers": f"{_QUARTER}MB", "max_wal_size": "8GB", "checkpoint_timeout": "30min"}


class BenchLocation:
    """Two schemas of a database, `ours` and `bare`, and a folder for their files."""

    def __init__(self, address: str, folder: Path, schemas: dict[str, str], pid: int | None) -> None:
        self._address = address
        self._schemas = schemas
        self._pid = pid
        self.folder = folder
        self._notes = folder / "loaded.json"

    def address(self, name: str) -> str:
        return address_of(self._address, schema=self._schemas[name])

    def marks(self, name: str) -> Path:
        return self.folder / f"{name}-high-water.json"

    def server_cpu(self) -> float | None:
        return None if self._pid is None else cpu_of_tree(self._pid)

    def connect(self) -> "psycopg.Connection[tuple[Any, ...]]":
        """Connect as the administrator of the server."""
        return psycopg.connect(self._address, autocommit=True)

    def drop(self, *names: str) -> None:
        """Drop these schemas; without names, drop both and the notes on the loaded data."""
        if not names:
            self._notes.unlink(missing_ok=True)
        with self.connect() as connection:
            for name in names or self._schemas:
                schema = sql.Identifier(self._schemas[name])
                connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))
                self.marks(name).unlink(missing_ok=True)

    def settle(self, name: str) -> None:
        """Run VACUUM and a checkpoint, so that the server does not start them during a measurement."""
        with self.connect() as connection:
            connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(self._schemas[name])))
            partitioned = connection.execute(
                "SELECT relname FROM pg_class WHERE relkind = 'p' AND relnamespace = current_schema()::regnamespace"
            )
            for (table,) in partitioned.fetchall():
                connection.execute(sql.SQL("VACUUM (ANALYZE) {}").format(sql.Identifier(table)))
            connection.execute("CHECKPOINT")

    @property
    def notes(self) -> dict[str, Any] | None:
        """The notes of the run that loaded the data, if it completed."""
        return json.loads(self._notes.read_text()) if self._notes.exists() else None

    def note(self, notes: dict[str, Any]) -> None:
        self._notes.write_text(json.dumps(notes, indent=1))


@contextmanager
def open_location(keep: Path | None) -> Iterator[BenchLocation]:
    """Create the schemas. Everything is removed at the end, unless there is a folder to keep it in."""
    if "TMPDIR" not in os.environ and _DISK_FOLDER.is_dir():  # on disk, which /tmp often is not
        os.environ["TMPDIR"] = str(_DISK_FOLDER)
        tempfile.tempdir = None
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as made:
        folder = keep or Path(made)
        if FOREIGN in os.environ:
            suffix = "kept" if keep else secrets.token_hex(4)
            location = BenchLocation(
                os.environ[FOREIGN], folder, {name: f"bench_{name}_{suffix}" for name in (OURS, BARE)}, None
            )
            try:
                yield location
            finally:
                if keep is None:
                    location.drop()
            return
        with PostgresServer(fsync=True, settings=_SETTINGS) if keep is None else _PersistentServer(keep) as server:
            with psycopg.connect(server.address(), autocommit=True) as connection:
                there = connection.execute("SELECT FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if there is None:
                server.create_database(DATABASE)
            pid = int((server.data / "postmaster.pid").read_text().split()[0])
            yield BenchLocation(server.address(DATABASE), folder, {name: name for name in (OURS, BARE)}, pid)


class _PersistentServer(PostgresServer):
    """A server whose data is in a folder that outlives it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(fsync=True, settings=_SETTINGS)
        self._lasting = folder.resolve() / "server"
        self.data = self._lasting / "data"

    def start(self) -> None:
        self._lasting.mkdir(exist_ok=True)
        for folder in (self.folder, self._lasting):
            self._give(folder)
        super().start()

    def close(self) -> None:
        self.stop()  # in order, so that nothing must be recovered the next time
        super().close()
