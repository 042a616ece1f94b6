"""A registry without write permission: a clear error, no change, and it works again with the permission."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.crash.attempt import NEW_TARGET, TARGET
from tests.crash.crash_registry import DATABASE, DATED, MARKS, create_in, open_registry
from tests.crash.mount_namespace import in_own_mounts

from perdure.registry import Statement, find_by_value, mint
from perdure.registry.integrity import verify

_ROOT: Final = Path(__file__).parents[2]
_READ_ONLY: Final = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a closed registry with one name; after the test it must be unchanged and usable."""
    registry = tmp_path / "registry"
    registry.mkdir()
    asyncio.run(_fill(registry))
    return registry


async def _fill(folder: Path) -> None:
    await create_in(folder)
    async with open_registry(folder) as at:
        await mint(*at, DATED, statement=Statement(target=TARGET))


def _attempt(command: list[str]) -> dict[str, str]:
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _without_root_privileges(program: list[str]) -> list[str]:
    """Return the command with the privileges dropped by which root ignores permissions."""
    if os.geteuid() != 0:
        return program
    confined = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *program]
    try:
        subprocess.run([*confined[:2], "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        pytest.skip(f"NOT TESTED: permissions do not count for this user, and setpriv cannot change that ({problem})")
    return confined


def _check_unchanged_and_usable(folder: Path) -> None:
    async def run() -> None:
        async with open_registry(folder) as at:
            assert len(await find_by_value(at.registry, TARGET)) == 1
            assert await find_by_value(at.registry, NEW_TARGET) == []
            await mint(*at, DATED, statement=Statement(target=NEW_TARGET))
            assert await verify(at.registry) == []

    asyncio.run(run())


def _program(folder: Path) -> list[str]:
    return [sys.executable, "-m", "tests.crash.attempt", str(folder)]


def test_a_disk_that_is_mounted_read_only_is_refused_clearly(folder: Path) -> None:
    steps = _attempt(in_own_mounts(_READ_ONLY, folder, _program(folder)))
    assert steps["open"].startswith("StoreUnavailable: the database")
    assert "writable" in steps["open"]
    _check_unchanged_and_usable(folder)


def test_a_folder_without_permission_to_write_is_refused_clearly(folder: Path) -> None:
    command = _without_root_privileges(_program(folder))
    folder.chmod(0o555)
    try:
        steps = _attempt(command)
    finally:
        folder.chmod(0o755)
    assert steps["open"].startswith("StoreUnavailable: the database"), steps
    _check_unchanged_and_usable(folder)


def test_a_folder_without_permission_to_enter_is_refused_clearly(folder: Path) -> None:
    command = _without_root_privileges(_program(folder))
    folder.chmod(0)
    try:
        steps = _attempt(command)
    finally:
        folder.chmod(0o755)
    assert steps["open"].startswith("StoreUnavailable: "), steps
    _check_unchanged_and_usable(folder)


def test_marks_without_permission_to_read_are_refused_clearly(folder: Path) -> None:
    command = _without_root_privileges(_program(folder))
    (folder / MARKS).chmod(0)
    try:
        steps = _attempt(command)
    finally:
        (folder / MARKS).chmod(0o644)
    assert steps["open"].startswith("StoreUnavailable: the high-water mark"), steps
    _check_unchanged_and_usable(folder)


def test_a_database_without_permission_to_write_can_be_read_and_not_minted_from(folder: Path) -> None:
    command = _without_root_privileges(_program(folder))
    (folder / DATABASE).chmod(0o444)
    try:
        steps = _attempt(command)
    finally:
        (folder / DATABASE).chmod(0o644)
    assert (steps["open"], steps["read"]) == ("ok", "ok")
    assert steps["mint"].startswith("StoreUnavailable: the database or its folder is not writable"), steps
    _check_unchanged_and_usable(folder)


def test_a_missing_folder_is_refused_clearly(folder: Path) -> None:
    steps = _attempt(_program(folder.with_name("elsewhere")))
    assert steps["open"].startswith("StoreUnavailable: the database registry.db was not found"), steps
