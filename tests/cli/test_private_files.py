"""Tests of file permissions: only its owner can read a file with data that is not public, with any umask."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk, make_desk
from tests.http.live_server import run_server

from perdure.folder.registry_folder import make_registry
from perdure.store.high_water import HIGH_WATER
from perdure.store.sqlite.database_files import displace_database

URL = "https://example.org/"
SEEN = ("https://example.org/jan", "--at", "2025-01-09T10:30:00Z", "--hash", "0" * 64)


@pytest.fixture
def open_to_all() -> Iterator[None]:
    """Set a umask that lets others read and write every file with default permissions."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def desk(quick: Run, tmp_path: Path, open_to_all: None) -> Desk:
    desk = make_desk(quick, tmp_path)
    desk.ok("mint", "12346", URL)
    return desk


def file_modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def test_only_the_owner_can_read_files_except_the_settings(desk: Desk) -> None:
    desk.ok("person", "observe", *SEEN)
    (desk.folder / "bad.csv").write_text("name\n99999/x\n")
    for name in ("all.ndjson", "names.csv", "batch.txt"):
        (desk.folder / name).write_text("was here before, readable for all")
        desk.ok("export", name, "--overwrite")
    desk.ok("person", "export", "--output", "persons.nt")
    for _ in range(2):  # a new file, and an existing one
        desk.ok("import", "bad.csv", "--problems", "import.problems", code=1)
        desk.ok("check", "bad.csv", "--problems", "check.problems", code=1)
        (desk.folder / "check.problems").chmod(0o644)
    desk.ok("check", "bad.csv", "--problems", "check.problems", code=1)
    desk.ok("backup", "safe.db")
    desk.ok("restore", "safe.db")
    found = file_modes(desk.folder)
    assert {found.pop(name) for name in ("perdure.toml", "bad.csv")} <= {0o644, 0o666}
    assert {
        "all.ndjson",
        "persons.nt",
        "import.problems",
        "safe.db",
        "admin.key",
        HIGH_WATER,
        "high-water.lock",
    } <= set(found)
    assert {name: mode for name, mode in found.items() if mode != 0o600} == {}


def test_a_mark_that_others_could_read_becomes_private_when_it_advances(desk: Desk) -> None:
    marks = desk.folder / HIGH_WATER
    marks.unlink()
    marks.write_text("{}")
    marks.chmod(0o644)
    desk.ok("mint", "12346", URL)
    assert file_modes(desk.folder)[HIGH_WATER] == 0o600


@pytest.mark.slow  # waits 30 s for a locked database
def test_only_the_owner_can_read_the_log_of_a_database_that_is_set_aside(tmp_path: Path, open_to_all: None) -> None:
    """Displace a database with a log that cannot be merged, because another program holds a lock."""
    holder = apsw.Connection(str(tmp_path / "a.db"))
    for statement in ("PRAGMA locking_mode = EXCLUSIVE", "PRAGMA journal_mode = WAL", "CREATE TABLE a (b)"):
        holder.execute(statement)
    displace_database(tmp_path / "a.db", tmp_path / "b.db")
    holder.close()
    assert file_modes(tmp_path)["b.db-wal"] == 0o600


def test_the_permissions_of_standard_output_and_pipes_are_not_changed(desk: Desk) -> None:
    assert desk.ok("export", "--format", "ndjson", "-").startswith("{")
    pipe = desk.folder / "pipe"
    os.mkfifo(pipe, 0o622)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        (desk.folder / "bad.csv").write_text("name\n99999/x\n")
        desk.ok("import", "bad.csv", "--problems", "pipe", code=1)
        assert b"99999/x" in os.read(reader, 10_000)
    finally:
        os.close(reader)
    assert file_modes(desk.folder)["pipe"] == 0o622


@pytest.mark.parametrize("command", [("stats",), ("show", "12345/a"), ("mint", "12346", URL)])
def test_a_key_that_others_can_read_gives_a_warning(desk: Desk, command: tuple[str, ...]) -> None:
    assert desk.run(*command).stderr == ""
    for mode in (0o640, 0o604, 0o602):
        (desk.folder / "admin.key").chmod(mode)
        message = desk.run(*command)
        assert message.returncode == 0
        assert message.stderr.startswith("perdure: other users can")
        assert message.stderr.count("\n") == 1
        assert "chmod 600 " in message.stderr
        assert "admin.key" in message.stderr
        assert desk.key not in message.stderr


def test_a_server_also_gives_the_warning(tmp_path: Path) -> None:
    asyncio.run(make_registry(tmp_path / "registry", name="The Library"))
    (tmp_path / "registry" / "admin.key").chmod(0o644)
    with run_server(tmp_path / "registry"):
        assert "chmod 600 " in (tmp_path / "registry" / "server.log").read_text()
