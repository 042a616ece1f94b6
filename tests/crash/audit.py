"""The comparison of a registry with the ledger, after its processes were killed."""

import asyncio
import shutil
from pathlib import Path

import msgspec
import psycopg
from psycopg import sql
from tests.crash.crash_registry import ELSEWHERE, ServerNote, open_registry
from tests.crash.ledger import Ledger

from perdure.store.postgres.address import parse


def audit(ledger: Ledger, folder: Path, in_flight: int) -> None:
    """Compare a registry with the ledger. A file is copied first, so that the next process finds log and locks unchanged."""
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
    """Wait for commits that continue on the server after their process was killed.

    Each has locked the row of its process until it has ended.
    """
    address = parse(msgspec.json.decode((folder / ELSEWHERE).read_bytes(), type=ServerNote).address)
    with psycopg.connect(address.conninfo) as connection:
        connection.execute(sql.SQL("SELECT id FROM {} FOR UPDATE").format(sql.Identifier(address.schema, "writers")))


def _audit_in(folder: Path, ledger: Ledger, in_flight: int) -> None:
    async def run() -> None:
        async with open_registry(folder) as at:
            await ledger.audit(at, in_flight)

    asyncio.run(run())
