"""The write-ahead log of a killed process is recovered in every state."""

import asyncio
import os
import random
from pathlib import Path
from typing import Final

import pytest
from tests.crash.crash_registry import DATABASE, MARKS, RANDOM, create_in, open_registry
from tests.crash.kill import WorkerProcess
from tests.crash.ledger import Ledger
from tests.crash.worker import IN_FLIGHT, READY

from perdure.errors import StoreUnavailable
from perdure.registry import Statement, mint
from perdure.registry.integrity import verify

_LOG: Final = f"{DATABASE}-wal"
_INDEX: Final = f"{DATABASE}-shm"


@pytest.fixture
def left_log(tmp_path: Path) -> tuple[Path, Ledger]:
    """Return a registry whose process was killed, with the last acknowledged operations in its write-ahead log."""
    folder = tmp_path / "registry"
    folder.mkdir()
    asyncio.run(create_in(folder))
    process = WorkerProcess(folder)
    process.await_line(READY)
    process.await_line(b'"act":"add"')
    ledger = Ledger()
    ledger.enter([process.kill()])
    assert (folder / _LOG).stat().st_size > 0
    return folder, ledger


def _audit(folder: Path, ledger: Ledger) -> None:
    async def run() -> None:
        async with open_registry(folder) as at:
            await ledger.audit(at, IN_FLIGHT)

    asyncio.run(run())


def test_a_log_left_by_a_killed_process_is_taken_over(left_log: tuple[Path, Ledger]) -> None:
    _audit(*left_log)


def test_garbage_at_the_end_of_a_log_loses_no_write(left_log: tuple[Path, Ledger]) -> None:
    folder, ledger = left_log
    with (folder / _LOG).open("ab") as log:
        log.write(random.Random(1).randbytes(10_000))
    _audit(folder, ledger)


def test_a_log_without_its_index_is_taken_over(left_log: tuple[Path, Ledger]) -> None:
    folder, ledger = left_log
    (folder / _INDEX).unlink()
    _audit(folder, ledger)


def test_an_index_full_of_garbage_is_rebuilt(left_log: tuple[Path, Ledger]) -> None:
    folder, ledger = left_log
    (folder / _INDEX).write_bytes(random.Random(2).randbytes(32_768))
    _audit(folder, ledger)


def test_half_written_marks_are_replaced(left_log: tuple[Path, Ledger]) -> None:
    folder, ledger = left_log
    (folder / MARKS.replace("json", "new")).write_text('{"12346": "17')
    _audit(folder, ledger)
    ledger.check_marks(folder)


def test_a_log_that_is_truncated_under_a_reader_is_reported(tmp_path: Path) -> None:
    """SQLite then ends the transaction itself; the failure of a second end must not hide the error."""

    async def run() -> None:
        await create_in(tmp_path)
        async with open_registry(tmp_path) as at:
            await mint(*at, RANDOM, 300, statement=Statement(target="https://example.org/"))
            os.truncate(tmp_path / _LOG, 5000)
            with pytest.raises(StoreUnavailable, match=r"disk|damaged"):
                await verify(at.registry)

    asyncio.run(run())
