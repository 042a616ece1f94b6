"""Hold a registry against the ledger, after its processes were killed."""

import asyncio
import shutil
from pathlib import Path

import msgspec
import psycopg
from psycopg import sql
from tests.crash.ground import ELSEWHERE, Elsewhere, opened
from tests.crash.ledger import Ledger

from perdure.store.postgres.address import parse


def audit(ledger: Ledger, folder: Path, in_flight: int) -> None:
    """A file is copied first: the log, the locks and the half-written files are left to the next process as they are."""
    ledger.check_marks(folder)
    if (folder / ELSEWHERE).exists():
        wait_for_orphans(folder)
        _audit_in(folder, ledger, in_flight)
        return
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    _audit_in(copy, ledger, in_flight)
    shutil.rmtree(copy)


def wait_for_orphans(folder: Path) -> None:
    """A commit may be under way on the server after the process that asked for it was killed.

    Each holds the row of its process until it has ended, one way or the other.
    """
    place = parse(msgspec.json.decode((folder / ELSEWHERE).read_bytes(), type=Elsewhere).address)
    with psycopg.connect(place.conninfo) as connection:
        connection.execute(sql.SQL("SELECT id FROM {} FOR UPDATE").format(sql.Identifier(place.schema, "writers")))


def _audit_in(folder: Path, ledger: Ledger, in_flight: int) -> None:
    async def run() -> None:
        async with opened(folder) as at:
            await ledger.audit(at, in_flight)

    asyncio.run(run())
