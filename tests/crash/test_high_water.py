"""The marks outside the database cover every date that was returned, so that an older copy cannot repeat one."""

import asyncio
import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest
from tests.crash.crash_registry import (
    DATABASE,
    DATED,
    KEYS,
    MARKS,
    NUMBERED,
    PAIRED,
    TIMELINES,
    Open,
    create_in,
    open_registry,
)
from tests.crash.ledger import date_of

from perdure.errors import StoreUnavailable
from perdure.registry import MintedIdentifier, mint
from perdure.timelines.clock import NANOSECONDS, SystemClock


class _Later:
    """A clock that is some seconds ahead, and does not really wait."""

    def __init__(self, seconds: int) -> None:
        self._now = SystemClock().now_ns() + seconds * NANOSECONDS

    def now_ns(self) -> int:
        return self._now

    async def wait_until(self, instant: Fraction) -> None:
        self._now = max(self._now, int(instant * NANOSECONDS) + 1)


def _marks(folder: Path) -> dict[str, Fraction]:
    return {timeline: Fraction(mark) for timeline, mark in json.loads((folder / MARKS).read_bytes()).items()}


async def _mint(at: Open, timeline: str, count: int = 1) -> Fraction:
    minted: list[MintedIdentifier] = await mint(*at, timeline, count)
    return max(date_of(timeline, one.name, one.date) for one in minted)


def test_a_mark_is_never_behind_a_date_that_was_returned(tmp_path: Path) -> None:
    async def run() -> None:
        await create_in(tmp_path)
        for seconds in (0, 4, 6, 3600):  # the marks run some seconds ahead: within them, at their end, long after
            async with open_registry(tmp_path, _Later(seconds)) as at:
                for count in (1, 400, 900):
                    for timeline in TIMELINES:
                        date = await _mint(at, timeline, count)
                        assert _marks(tmp_path)[KEYS[timeline]] >= date

    asyncio.run(run())


def test_nothing_is_minted_if_the_mark_cannot_be_written(tmp_path: Path) -> None:
    async def run() -> None:
        await create_in(tmp_path)
        obstacle = tmp_path / f".{MARKS}.new"
        obstacle.mkdir()  # simulates a full disk: the file cannot be written
        async with open_registry(tmp_path) as at:
            for timeline in TIMELINES:
                for _ in range(2):
                    with pytest.raises(StoreUnavailable, match="nothing was issued"):
                        await _mint(at, timeline)
            assert not set(KEYS.values()) & _marks(tmp_path).keys()
            obstacle.rmdir()
            for timeline in TIMELINES:
                date = await _mint(at, timeline)
                assert _marks(tmp_path)[KEYS[timeline]] >= date

    asyncio.run(run())


def test_marks_that_cannot_be_read_are_an_error(tmp_path: Path) -> None:
    asyncio.run(create_in(tmp_path))
    for garbage in (b"", b"{", b"[]", b'{"12346": null}', b'{"12346": "1/0"}', b'{"12346": "soon"}', b"\xff"):
        (tmp_path / MARKS).write_bytes(garbage)
        with pytest.raises(StoreUnavailable, match="high-water"):
            asyncio.run(_open(tmp_path))


async def _open(folder: Path) -> None:
    async with open_registry(folder):
        pass


def test_an_older_copy_of_a_database_repeats_no_name_once_its_timelines_reach_the_marks(
    tmp_path: Path,
) -> None:
    folder, old = tmp_path / "registry", tmp_path / "old.db"
    folder.mkdir()

    async def run() -> None:
        await create_in(folder)
        clock = _Later(0)
        async with open_registry(folder, clock) as at:
            for timeline in TIMELINES:
                await _mint(at, timeline)
        shutil.copyfile(folder / DATABASE, old)
        async with open_registry(folder, clock) as at:
            issued = {timeline: await _mint(at, timeline, 300) for timeline in TIMELINES}
        shutil.copyfile(old, folder / DATABASE)

        async with open_registry(folder, clock) as at:
            marks = at.registry.store.high_water.marks()
            assert all(marks[KEYS[timeline]] >= issued[timeline] for timeline in TIMELINES)
            for key in KEYS.values():  # as `restore` does it
                await at.registry.store.write(lambda tx, key=key: tx.put_timeline(key, marks[key], Fraction(0)))
        async with open_registry(folder, _Later(120)) as at:
            for timeline in TIMELINES:
                assert await _mint(at, timeline) > issued[timeline]

    asyncio.run(run())


def test_processes_that_share_a_timeline_share_its_mark(tmp_path: Path) -> None:
    async def run() -> None:
        await create_in(tmp_path)
        async with open_registry(tmp_path) as one, open_registry(tmp_path, _Later(300)) as other:
            for timeline in (DATED, PAIRED, NUMBERED):
                await _mint(one, timeline)
                later = await _mint(other, timeline)
                assert _marks(tmp_path)[KEYS[timeline]] >= later

    asyncio.run(run())
