"""A database that has lost acknowledged writes is not served, and issues nothing, until the operator accepts the loss."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from perdure.errors import ClockUnconfirmed, CountUnknown, InvalidInput, StoreBehind, StoreDamaged
from perdure.folder.registry_folder import make_registry, open_registry
from perdure.folder.restore import recover_registry, restore_registry
from perdure.formats import ndjson
from perdure.records.value import Text, Value
from perdure.registry import (
    ImportOptions,
    Registry,
    Statement,
    add_prefix,
    export,
    import_entries,
    mint,
    reset_timeline,
    update,
    verify,
)
from perdure.registry.entities import Agent
from perdure.registry.opening_checks import confirm_clock
from perdure.store import commit_mark
from perdure.store.commit_mark import LINEAGE, CommitMarkFile

DAYS = 86_400_000_000  # microseconds
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from perdure.folder.registry_folder import open_registry
from perdure.registry import mint

async def run():
    async with open_registry(Path(sys.argv[1])) as registry:
        agent = await registry.store.read(lambda reader: reader.agent("admin"))
        for _ in range(3):
            print((await mint(registry, agent, "777"))[0].name, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(run())
"""


class Archive:
    """A registry on the embedded store, with a sequential prefix."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.admin: Agent = asyncio.run(make_registry(folder, name="The Archive")).admin
        self.do(lambda registry: add_prefix(registry, self.admin, "777", minter="sequential"))

    @property
    def database(self) -> Path:
        return self.folder / "perdure.db"

    def do(self, work: Callable[[Registry], Any], **how: Any) -> Any:
        async def session() -> Any:
            async with open_registry(self.folder, **how) as registry:
                return await work(registry)

        return asyncio.run(session())

    def mint(self) -> int:
        [minted] = self.do(
            lambda registry: mint(registry, self.admin, "777", statement=Statement(target="https://a.org/"))
        )
        return int(minted.name.rpartition("/")[2])

    def execute(self, statement: str) -> None:
        with closing(apsw.Connection(str(self.database))) as connection:
            connection.execute(statement)

    def perdure(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "perdure", *arguments, "-R", str(self.folder)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def alter(self, statement: str, trigger: str = "revisions_stay") -> None:
        """Change content that the schema protects, without any other trace."""
        with closing(apsw.Connection(str(self.database))) as connection:
            text = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (trigger,)).get
            connection.execute(f"DROP TRIGGER {trigger}; {statement}; {text}")


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive")


def test_a_database_that_was_replaced_by_an_older_copy_is_refused_until_it_is_accepted(archive: Archive) -> None:
    archive.mint()
    copy = archive.folder.parent / "copy.db"
    shutil.copyfile(archive.database, copy)
    issued = [archive.mint() for _ in range(3)]
    shutil.copyfile(copy, archive.database)
    with pytest.raises(StoreBehind, match=f"of '777/{issued[-1]}' at "):
        archive.mint()
    refused = archive.perdure("resolve", "777/1")
    assert (refused.returncode, "perdure recover" in refused.stderr) == (2, True)
    result = archive.perdure("recover")
    assert result.returncode == 1
    assert f"the last acknowledged change, of '777/{issued[-1]}'" in result.stdout
    assert archive.perdure("verify").returncode == 1
    accepted = archive.perdure("recover", "--accept", "the copy of Monday came back")
    assert (accepted.returncode, "names under 777 continue after" in accepted.stderr) == (0, True)
    assert archive.mint() > issued[-1]
    assert archive.perdure("recover").returncode == 0
    assert archive.do(verify) == []
    assert "the copy of Monday came back (the last acknowledged change" in archive.perdure("log", "--json").stdout


def test_writes_of_a_killed_program_are_stored_and_its_missing_log_is_noticed(archive: Archive) -> None:
    def kill() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(archive.folder)], capture_output=True, text=True, check=False
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        return done.stdout.split()

    names = kill()
    assert archive.mint() == 4
    assert archive.do(lambda registry: registry.store.lookup(names[-1])) is not None
    names = kill()
    for part in ("-wal", "-shm"):
        archive.database.with_name(archive.database.name + part).unlink()
    with pytest.raises(StoreBehind, match=names[-1]):
        archive.mint()
    asyncio.run(recover_registry(archive.folder, "the log was deleted"))
    assert archive.mint() > int(names[-1].rpartition("/")[2])


def test_a_lost_log_after_a_power_cut_is_refused_until_it_is_accepted(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.mint()
    lineage = archive.do(lambda registry: registry.store.read(lambda reader: reader.fact(LINEAGE)))
    mark = CommitMarkFile(archive.folder, lineage)
    result = mark.read(lineage)
    assert result is not None
    with monkeypatch.context() as before:
        before.setattr(commit_mark, "_boot_id", lambda: "before the power cut")
        mark.record_commit(result.change, result.event)  # opens the mark, which no program closes
    mark.close()
    for _ in range(2):  # a refusal does not forget it
        with pytest.raises(StoreBehind, match="write-ahead log"):
            archive.mint()
    assert archive.perdure("recover").returncode == 1
    assert archive.perdure("recover", "--clock-is-right").returncode == 2
    assert archive.perdure("recover").returncode == 1
    asyncio.run(recover_registry(archive.folder, "the power was cut"))
    assert archive.mint() > 1


def test_nothing_can_be_accepted_if_nothing_is_missing(archive: Archive) -> None:
    with pytest.raises(InvalidInput, match="nothing is missing"):
        asyncio.run(recover_registry(archive.folder, "to be sure"))
    assert archive.mint() == 1


def test_the_database_from_before_a_restore_is_refused_if_it_is_copied_back(archive: Archive) -> None:
    archive.mint()
    backup = archive.folder.parent / "backup.db"
    archive.do(lambda registry: registry.store.backup(backup, lambda done, of: None))
    restored = asyncio.run(restore_registry(archive.folder, backup))
    assert restored.displaced_name is not None
    last = archive.mint()
    shutil.copyfile(archive.folder / restored.displaced_name, archive.database)
    with pytest.raises(StoreBehind, match="mark of its last commit"):
        archive.mint()
    asyncio.run(recover_registry(archive.folder, "the wrong file was copied"))
    assert archive.mint() > last


def test_a_database_that_was_changed_elsewhere_is_refused(archive: Archive) -> None:
    archive.mint()
    other = Path(shutil.copytree(archive.folder, archive.folder.parent / "other"))
    archive.mint()

    async def mint_there() -> None:
        async with open_registry(other) as registry:
            for _ in range(3):
                await mint(registry, archive.admin, "777")

    asyncio.run(mint_there())
    shutil.copyfile(other / archive.database.name, archive.database)
    with pytest.raises(StoreBehind, match="is missing"):
        archive.mint()


def test_a_database_without_its_mark_is_refused(archive: Archive) -> None:
    [mark] = archive.folder.glob("commits-*.mark")
    mark.unlink()
    with pytest.raises(StoreBehind, match=mark.name):
        archive.mint()


def test_a_folder_can_be_copied_as_a_whole(archive: Archive) -> None:
    archive.mint()
    shutil.copytree(archive.folder, archive.folder.parent / "other")
    archive.folder = archive.folder.parent / "other"
    assert archive.mint() == 2


def test_a_restore_leaves_marks_that_agree(archive: Archive) -> None:
    archive.mint()
    backup = archive.folder.parent / "backup.db"
    archive.do(lambda registry: registry.store.backup(backup, lambda done, of: None))
    archive.mint()
    asyncio.run(restore_registry(archive.folder, backup))
    assert archive.mint() > 2
    assert archive.perdure("recover").stdout.startswith("No problems")


async def export_all(registry: Registry) -> list[bytes]:
    agent = await registry.store.read(lambda reader: reader.agent("admin"))
    assert agent is not None
    return [data async for _, data in export(registry, agent)]


def test_after_a_restore_on_another_machine_a_prefix_mints_no_numbers_until_it_is_reset(archive: Archive) -> None:
    archive.mint()
    backup = archive.folder.parent / "backup.db"
    archive.do(lambda registry: registry.store.backup(backup, lambda done, of: None))
    exported = b"".join(archive.do(export_all)).splitlines()
    archive.database.unlink()
    restored = asyncio.run(restore_registry(archive.folder, backup))
    assert restored.unsure == ["777"]
    with pytest.raises(CountUnknown, match="777"):
        archive.mint()
    assert "or more" in archive.perdure("prefix", "show", "777").stdout
    for mark in archive.folder.glob("commits-*.mark"):
        mark.unlink()
    assert asyncio.run(recover_registry(archive.folder, "its mark was deleted")).unsure == ["777"]
    imported = ndjson.read(enumerate(exported, 1))
    archive.do(lambda registry: import_entries(registry, archive.admin, imported, ImportOptions()))
    with pytest.raises(CountUnknown, match="777"):
        archive.mint()
    archive.do(lambda registry: reset_timeline(registry, archive.admin, "777", "looked it up", number=40))
    assert archive.mint() == 41


@pytest.mark.parametrize(
    "alteration",
    ["at = '2020-01-01T00:00:00.000000Z'", "agent = 'eve'", "action = 'set'", "note = 'x'", "digest = x'00'"],
)
def test_the_newest_revision_is_checked_on_opening(archive: Archive, alteration: str) -> None:
    archive.mint()
    newest = "(SELECT identifier FROM changes ORDER BY number DESC LIMIT 1)"
    archive.alter(f"UPDATE revisions SET {alteration} WHERE identifier = {newest}")  # noqa: S608
    with pytest.raises((StoreDamaged, StoreBehind)):
        archive.mint()
    result = archive.perdure("verify")
    assert (result.returncode, "777/1: version 1 is not what was recorded" in result.stdout) == (1, True)


def test_every_older_revision_and_event_is_checked_by_verify(archive: Archive) -> None:
    archive.mint()
    for number in (2, 3):
        value = Value(1, "DESC", Text(f"version {number}"))
        archive.do(lambda registry, value=value: update(registry, archive.admin, "777/1", Statement(values=(value,))))
    archive.mint()
    archive.alter(
        "UPDATE revisions SET at = substr(at, 1, 25) || ((substr(at, 26, 1) + 1) % 10) || 'Z' WHERE version = 2"
    )
    archive.alter("UPDATE events SET detail = 'nothing' WHERE id = 1", "events_stay")
    found = archive.do(verify)
    assert "777/1: version 2 is not what was recorded: its digest differs" in found
    assert any(one.startswith("the event 'found' of ") for one in found)
    assert len(found) == 2


def test_a_clock_far_from_the_newest_change_is_confirmed_before_it_mints(archive: Archive) -> None:
    archive.mint()
    archive.execute(f"UPDATE changes SET number = number - {500 * DAYS}")  # noqa: S608
    asyncio.run(recover_registry(archive.folder, "changes were numbered anew"))
    with pytest.raises(ClockUnconfirmed, match="the newest change is from"):
        archive.mint()
    refused = archive.perdure("mint", "777")
    assert (refused.returncode, "perdure recover" in refused.stderr) == (2, True)
    archive.do(confirm_clock)
    assert archive.mint() > 1


def test_a_clock_that_is_behind_is_confirmed_by_the_command(archive: Archive) -> None:
    archive.mint()
    archive.execute(f"UPDATE changes SET number = number + {DAYS} WHERE number = (SELECT max(number) FROM changes)")  # noqa: S608
    asyncio.run(recover_registry(archive.folder, "the clock was wrong for a while"))
    with pytest.raises(ClockUnconfirmed):
        archive.mint()
    assert archive.perdure("recover").returncode == 1
    assert archive.perdure("recover", "--accept", "nothing").returncode == 2
    assert archive.perdure("recover", "--clock-is-right").returncode == 0
    assert archive.mint() > 1
