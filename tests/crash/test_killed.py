"""Whatever moment a process is killed at: what was acknowledged is there, once, and the next one goes on from it."""

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from tests.crash.ground import DATABASE, lay, opened
from tests.crash.killing import killed_at_work, killed_while_founding, killed_while_opening
from tests.crash.ledger import Ledger
from tests.crash.worker import IN_FLIGHT

from perdure.errors import InvalidInput
from perdure.minting.clock import SystemClock
from perdure.registry import Settings, add_prefix, found, mint
from perdure.registry.verifying import verify
from perdure.store.sqlite import SqliteStore

_LONGEST: Final = 0.4  # seconds of work
_AT_WORK, _OPENING = "at work", "opening"


def _kill_again_and_again(tmp_path: Path, moments: list[str], processes: int = 1) -> None:
    """The same registry all along, so that damage would add up."""
    folder = tmp_path / "registry"
    folder.mkdir()
    asyncio.run(lay(folder))
    ledger = Ledger()
    for moment in moments:
        if moment == _OPENING:
            ledger.enter([killed_while_opening(folder)])
        else:
            ledger.enter(killed_at_work(folder, _LONGEST, processes))
        _audit(ledger, folder, processes * IN_FLIGHT)
    assert len(ledger) > 0, "nothing was ever acknowledged: nothing was tested"


def _audit(ledger: Ledger, folder: Path, in_flight: int) -> None:
    """On a copy: the log, the locks and the half-written files are left to the next process as the kill left them."""
    ledger.check_marks(folder)
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)

    async def audit() -> None:
        async with opened(copy) as at:
            await ledger.audit(at, in_flight)

    asyncio.run(audit())
    shutil.rmtree(copy)


# Forty kills, in cases that can be shared out.
@pytest.mark.parametrize("case", range(4))
def test_what_was_acknowledged_is_there_once_after_a_kill(tmp_path: Path, case: int) -> None:
    _kill_again_and_again(tmp_path, [_AT_WORK, _AT_WORK, _OPENING, _AT_WORK, _AT_WORK, _OPENING, _AT_WORK])


@pytest.mark.parametrize("case", range(2))
def test_what_was_acknowledged_is_there_once_after_two_processes_were_killed(tmp_path: Path, case: int) -> None:
    _kill_again_and_again(tmp_path, [_AT_WORK, _OPENING, _AT_WORK, _OPENING], processes=2)


def test_a_founding_that_was_killed_is_whole_or_can_be_done_again(tmp_path: Path) -> None:
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        killed_while_founding(folder)
        asyncio.run(_found_again(folder))


async def _found_again(folder: Path) -> None:
    store = SqliteStore(folder / DATABASE, create=True)
    with suppress(InvalidInput):  # it was whole
        await found(store, SystemClock(), Settings(), name="Test Library")
    store.close()
    async with opened(folder) as at:
        assert await verify(at.registry) == []
        await add_prefix(*at, "54321")
        await mint(*at, "54321")


@pytest.mark.slow
@pytest.mark.parametrize("case", range(16))
def test_what_was_acknowledged_is_there_once_after_hundreds_of_kills(tmp_path: Path, case: int) -> None:
    _kill_again_and_again(tmp_path, [_AT_WORK, _AT_WORK, _OPENING] * 4)


@pytest.mark.slow
@pytest.mark.parametrize("case", range(8))
def test_what_was_acknowledged_is_there_once_after_many_pairs_were_killed(tmp_path: Path, case: int) -> None:
    _kill_again_and_again(tmp_path, [_AT_WORK, _AT_WORK, _OPENING] * 3, processes=2)
