"""A damaged file is reported clearly wherever it is read, and intact parts are still readable."""

import asyncio
import random
import re
from pathlib import Path
from typing import Final

import pytest
from tests.crash.crash_registry import DATABASE, RANDOM, create_in, open_registry
from tests.registry_fixture import set_target

from perdure.errors import InvalidInput, StoreDamaged, StoreUnavailable
from perdure.records.value import Text, Value
from perdure.registry import Statement, history, mint, resolve, show
from perdure.registry.integrity import verify

_PAGE: Final = 4096
_NAMES: Final = 300
_VALUES: Final = (Value(2, "NOTE", Text("of some length " * 10)),)


async def _fill_registry(folder: Path) -> dict[str, str]:
    """Create a registry with names that have different targets, in a single file."""
    await create_in(folder)
    targets: dict[str, str] = {}
    async with open_registry(folder) as at:
        minted = await mint(*at, RANDOM, _NAMES, statement=Statement(target="https://example.org/", values=_VALUES))
        for number, one in enumerate(minted):
            targets[one.name] = f"https://example.org/{number}/"
        await asyncio.gather(*(set_target(*at, name, target) for name, target in targets.items()))
    assert not (folder / f"{DATABASE}-wal").exists()
    return targets


def _overwrite(file: Path, offset: int, content: bytes) -> None:
    with file.open("r+b") as stream:
        stream.seek(offset)
        stream.write(content)


async def _survey(folder: Path, targets: dict[str, str]) -> tuple[int, int, list[str]]:
    """Count the names with the right target and those reported as damaged; return the problems that verify reports."""
    right = damaged = 0
    async with open_registry(folder) as at:
        for name, target in targets.items():
            try:
                assert (await resolve(at.registry, name)).target == target
                assert (await show(at.registry, name)).values[0].text == target
                assert [one.version for one in await history(at.registry, name)] == [1, 2]
                right += 1
            except StoreDamaged:
                damaged += 1
        try:
            found = await verify(at.registry)
        except StoreDamaged as problem:
            found = [str(problem)]
    return right, damaged, found


def _page_of(file: Path, text: str) -> int:
    """Return the number of a page that contains this text."""
    return file.read_bytes().index(text.encode()) // _PAGE


@pytest.mark.parametrize("seed", range(6))
def test_a_page_of_garbage_is_found_and_the_rest_is_readable(tmp_path: Path, seed: int) -> None:
    targets = asyncio.run(_fill_registry(tmp_path))
    chance = random.Random(seed)
    file = tmp_path / DATABASE
    page = _page_of(file, f'"https://example.org/{chance.randrange(_NAMES)}/"')
    _overwrite(file, page * _PAGE, chance.randbytes(_PAGE))

    right, damaged, found = asyncio.run(_survey(tmp_path, targets))
    assert found, "the check found nothing wrong"
    assert right + damaged == _NAMES
    assert right > _NAMES / 2


@pytest.mark.parametrize("seed", range(3))
def test_a_record_with_overwritten_bytes_is_damaged_and_the_others_are_not(tmp_path: Path, seed: int) -> None:
    targets = asyncio.run(_fill_registry(tmp_path))
    file, number = tmp_path / DATABASE, random.Random(seed).randrange(_NAMES)
    content = file.read_bytes()
    target = f'"https://example.org/{number}/"'.encode()
    offset = content.index(target)
    while offset >= 0:  # in the row and in its history
        _overwrite(file, offset, bytes(len(target)))
        offset = content.find(target, offset + 1)

    right, damaged, found = asyncio.run(_survey(tmp_path, targets))
    assert found, "the check found nothing wrong"
    assert (right, damaged) == (_NAMES - 1, 1)


def test_a_target_that_differs_from_its_record_is_found(tmp_path: Path) -> None:
    asyncio.run(_fill_registry(tmp_path))
    file = tmp_path / DATABASE
    in_the_row = file.read_bytes().index(b"https://example.org/7/active")  # where the state follows the target
    _overwrite(file, in_the_row, b"https://example.org/8")

    index, row = asyncio.run(_problems(tmp_path))
    assert "missing from index redirects" in index  # which has the old target
    assert "its row differs from its record" in row


def test_a_redirect_that_differs_from_its_row_is_found(tmp_path: Path) -> None:
    """Most redirects are read from an index, without the row."""
    asyncio.run(_fill_registry(tmp_path))
    file = tmp_path / DATABASE
    in_the_index = re.search(rb"12345/[0-9a-f-]{36}(https://example\.org/7/)(?!active)", file.read_bytes())
    assert in_the_index is not None
    _overwrite(file, in_the_index.start(1), b"https://example.org/8")

    (found,) = asyncio.run(_problems(tmp_path))
    assert "missing from index redirects" in found


@pytest.mark.parametrize("seed", range(6))
def test_the_check_of_a_damaged_file_lists_the_damage(tmp_path: Path, seed: int) -> None:
    """It must not stop at the damage with the advice to run itself."""
    asyncio.run(_fill_registry(tmp_path))
    file, chance = tmp_path / DATABASE, random.Random(seed)
    page = _page_of(file, f'"https://example.org/{chance.randrange(_NAMES)}/"')
    _overwrite(file, page * _PAGE, bytes(_PAGE))
    assert any("damaged" in problem for problem in asyncio.run(_problems(tmp_path)))


async def _problems(folder: Path) -> list[str]:
    async with open_registry(folder) as at:
        return await verify(at.registry)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_database_is_damaged_and_never_returns_wrong_content(tmp_path: Path, share: float) -> None:
    targets = asyncio.run(_fill_registry(tmp_path))
    file = tmp_path / DATABASE
    last = file.read_bytes().rindex(b"https://example.org/")  # beyond it there may be nothing but free pages
    with file.open("r+b") as stream:
        stream.truncate(int(last * share))
    try:
        right, damaged, found = asyncio.run(_survey(tmp_path, targets))
    except StoreDamaged:
        return
    assert found, "the check found nothing wrong"
    assert right + damaged == _NAMES


@pytest.mark.parametrize("content", [b"", b"not a database " * 1000, b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_not_a_registry_is_refused(tmp_path: Path, content: bytes) -> None:
    asyncio.run(create_in(tmp_path))
    (tmp_path / DATABASE).write_bytes(content)

    async def run() -> None:
        async with open_registry(tmp_path):
            pass

    with pytest.raises((StoreUnavailable, InvalidInput)):
        asyncio.run(run())
    assert (tmp_path / DATABASE).read_bytes() == content, "a file that is no registry was written to"


def test_writing_to_a_damaged_file_is_refused_and_the_writer_goes_on(tmp_path: Path) -> None:
    targets = asyncio.run(_fill_registry(tmp_path))
    file = tmp_path / DATABASE
    _overwrite(file, _page_of(file, '"https://example.org/150/"') * _PAGE, bytes(_PAGE))

    async def run() -> None:
        refused = done = 0
        async with open_registry(tmp_path) as at:
            for name in targets:
                try:
                    await asyncio.wait_for(set_target(*at, name, "https://example.org/new/"), 60)
                    done += 1
                except StoreDamaged:
                    refused += 1
        assert refused > 0
        assert done > _NAMES / 2

    asyncio.run(run())
