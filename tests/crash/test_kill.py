"""When a process is killed at any moment, acknowledged operations exist once, and the next process continues from them."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from tests.crash.audit import audit
from tests.crash.conftest import NewFolder
from tests.crash.crash_registry import ELSEWHERE, create_in, open_registry, open_store
from tests.crash.kill import kill_at_work, kill_while_creating, kill_while_opening
from tests.crash.ledger import Ledger
from tests.crash.worker import IN_FLIGHT

from perdure.errors import InvalidInput
from perdure.registry import Settings, add_prefix, create_registry, mint
from perdure.registry.integrity import verify
from perdure.timelines.clock import SystemClock

_LONGEST: Final = {True: 0.4, False: 1.0}  # seconds of work, in a file and elsewhere
_AT_WORK, _OPENING = "at work", "opening"
_MORE: Final = 12


def _cases(**cases: int) -> pytest.MarkDecorator:
    """Return the cases of each engine, as parameters that can be distributed."""
    engines = [engine for engine, times in cases.items() for _ in range(times)]
    return pytest.mark.parametrize("new_folder", engines, indirect=True)


def _kill_again_and_again(new_folder: NewFolder, moments: list[str], processes: int = 1) -> None:
    """Kill processes on the same registry repeatedly, so that damage would accumulate."""
    folder = new_folder("registry")
    asyncio.run(create_in(folder))
    ledger = Ledger()
    for number, moment in enumerate([*moments, *[_AT_WORK] * _MORE]):
        if number >= len(moments) and len(ledger) > 0:  # on a slow machine the first are killed before they begin
            break
        if moment == _OPENING:
            ledger.enter([kill_while_opening(folder)])
        else:
            longest = _LONGEST[not (folder / ELSEWHERE).exists()]
            ledger.enter(kill_at_work(folder, longest, processes))
        audit(ledger, folder, processes * IN_FLIGHT)
    assert len(ledger) > 0, "nothing was ever acknowledged: nothing was tested"


@_cases(sqlite=4, postgres=1)
def test_acknowledged_writes_are_stored_once_after_a_kill(new_folder: NewFolder) -> None:
    _kill_again_and_again(new_folder, [_AT_WORK, _AT_WORK, _OPENING, _AT_WORK, _AT_WORK, _OPENING, _AT_WORK])


@_cases(sqlite=2, postgres=1)
def test_acknowledged_writes_are_stored_once_after_two_processes_were_killed(new_folder: NewFolder) -> None:
    _kill_again_and_again(new_folder, [_AT_WORK, _OPENING, _AT_WORK, _OPENING], processes=2)


def test_a_creation_that_was_killed_is_complete_or_can_be_repeated(new_folder: NewFolder) -> None:
    for number in range(6):
        folder = new_folder(str(number))
        kill_while_creating(folder)
        asyncio.run(_found_again(folder))


async def _found_again(folder: Path) -> None:
    store = open_store(folder, create=True)
    with suppress(InvalidInput):  # it was whole
        await create_registry(store, SystemClock(), Settings(), name="Test Library")
    store.close()
    async with open_registry(folder) as at:
        assert await verify(at.registry) == []
        await add_prefix(*at, "54321")
        await mint(*at, "54321")


@pytest.mark.slow
@_cases(sqlite=16, postgres=1)
def test_acknowledged_writes_are_stored_once_after_hundreds_of_kills(new_folder: NewFolder) -> None:
    _kill_again_and_again(new_folder, [_AT_WORK, _AT_WORK, _OPENING] * 4)


@pytest.mark.slow
@_cases(sqlite=8, postgres=1)
def test_acknowledged_writes_are_stored_once_after_many_pairs_were_killed(new_folder: NewFolder) -> None:
    _kill_again_and_again(new_folder, [_AT_WORK, _AT_WORK, _OPENING] * 3, processes=2)
