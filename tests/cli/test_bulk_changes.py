"""The commands list, retarget and bulk, with a real process that is killed while it works."""

import asyncio
import csv
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, FEW_PARTITIONS, need_engine

from perdure.folder.registry_folder import make_registry, open_registry
from perdure.formats.import_entries import ImportPut
from perdure.registry import add_prefix, import_entries
from perdure.registry.store_interface import Reader

OLD, NEW = "http://old.example.org/", "https://new.example.org/"
RETARGET = ("retarget", "--from", OLD, "--to", NEW)
NAMES = 7_000  # several transactions


async def fill(folder: Path, count: int, **options: object) -> None:
    created = await make_registry(folder, name="Tests", **options)  # type: ignore[arg-type]
    async with open_registry(folder) as registry:
        await add_prefix(registry, created.admin, "12345", minter="chosen")
        puts = (ImportPut(line=n, name=f"12345/n{n:05}", target=f"{OLD}{n}") for n in range(count))
        await import_entries(registry, created.admin, puts)


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Run:
    asyncio.run(fill(tmp_path, 25))
    return quick


def ok(desk: Run, *arguments: str, code: int = 0, stdin: str = "") -> str:
    done = desk(*arguments, stdin=stdin)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def test_a_list_is_printed_as_lines_as_a_table_and_as_json(desk: Run) -> None:
    assert ok(desk, "list", "--under", "12345/n0000").splitlines()[0] == f"12345/n00000\t{OLD}0"
    table = list(csv.DictReader(io.StringIO(ok(desk, "list", "--under", "12345", "--csv"))))
    assert len(table) == 25
    assert (table[1]["name"], table[1]["version"], table[1]["target"]) == ("12345/n00001", "1", f"{OLD}1")
    lines = [json.loads(line) for line in ok(desk, "list", "--target-contains", "org/24", "--json").splitlines()]
    assert [line["name"] for line in lines] == ["12345/n00024"]
    assert ok(desk, "list", "--state", "merged", code=1) == ""


def test_a_retarget_needs_a_terminal_or_an_option(desk: Run) -> None:
    done = desk(*RETARGET)
    assert done.returncode == 2
    assert f"12345/n00000  {OLD}0 → {NEW}0" in done.stderr
    assert "--yes" in done.stderr
    assert ok(desk, "bulk", "list") == ""
    assert "25 of 25 identifiers would change (25 URLs)" in ok(desk, *RETARGET, "--under", "12345", "--dry-run")


def test_a_change_is_listed_shown_and_undone_by_its_id(desk: Run, tmp_path: Path) -> None:
    done = json.loads(ok(desk, *RETARGET, "--yes", "--json"))
    assert (done["changed"], done["state"]) == (25, "finished")
    assert ok(desk, "resolve", "12345/n00003") == f"{NEW}3\n"
    assert done["id"] in ok(desk, "bulk", "list")
    assert NEW in ok(desk, "bulk", "show", done["id"])
    ok(desk, "set", "12345/n00004", "https://elsewhere.example/")
    problems = tmp_path / "problems.ndjson"
    undone = ok(desk, "bulk", "undo", done["id"], "--yes", "--problems", str(problems), code=1)
    assert undone == "Restored 24 of 25 identifiers.\n"
    assert json.loads(problems.read_text())["name"] == "12345/n00004"
    assert problems.stat().st_mode & 0o077 == 0
    assert ok(desk, "resolve", "12345/n00003") == f"{OLD}3\n"


def test_names_of_a_file_or_of_standard_input_are_withdrawn_and_transferred(desk: Run, tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("12345/n00001\n\nhdl:12345/n00002\n")
    withdrawn = ok(desk, "bulk", "withdraw", str(names), "--reason", "lost", "--yes")
    assert withdrawn.startswith("2 of 2 identifiers changed, 0 refused. To undo this:")
    ok(desk, "agent", "add", "maria", "--name", "Maria")
    ok(desk, "bulk", "transfer", "maria", "-", "--yes", stdin="12345/n00003\n12345/nope\n", code=1)
    assert len(ok(desk, "list", "--owner", "maria").splitlines()) == 1
    assert ok(desk, "list", "--state", "withdrawn").splitlines() == [
        "12345/n00001\twithdrawn",
        "12345/n00002\twithdrawn",
    ]


def test_the_output_of_a_list_is_a_list_of_names(desk: Run) -> None:
    listed = desk("list").stdout
    assert "\thttp" in listed
    names = [line.partition("\t")[0] for line in listed.splitlines()]
    done = desk("bulk", "withdraw", "-", "--reason", "lost", "--dry-run", stdin=listed)
    assert f" of {len(names)} identifiers would change" in done.stdout
    assert not any("\\t" in line for line in done.stderr.splitlines())


@pytest.mark.parametrize("arguments", [
    ("bulk", "withdraw", "--reason", "lost", "--yes"),
    ("bulk", "withdraw", "names.txt", "--under", "12345", "--reason", "lost", "--yes"),
    ("bulk", "undo", "0123456789", "--yes"),
    ("retarget", "--from", "old.example.org", "--to", NEW, "--yes"),
    ("list", "--csv", "--json"),
    ("list", "--state", "active", "--for-spreadsheet"),
    ("list", "--created-since", "yesterday"),
])  # fmt: skip
def test_a_wrong_use_is_refused_in_one_line(desk: Run, arguments: tuple[str, ...]) -> None:
    done = desk(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("perdure: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture(params=ENGINES)
def large(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    need_engine(request.param)
    with ExitStack() as stack:
        options: dict[str, object] = {}
        if request.param == "postgres":
            schema = f"t_bulk_{tmp_path.stat().st_ino}"
            stack.callback(database().drop, schema)
            options = {"store": database().address(schema), "postgresql": FEW_PARTITIONS}
        asyncio.run(fill(tmp_path, NAMES, **options))
        yield tmp_path


def kill_when_some_are_changed(folder: Path, command: tuple[str, ...], action: str) -> int:
    """Kill a process of the command after its first transaction. Return how many names it has changed."""
    process = subprocess.Popen([sys.executable, "-m", "perdure", *command, "--registry", str(folder)])

    async def wait() -> None:
        async with open_registry(folder) as registry:
            deadline = time.monotonic() + 60
            while process.poll() is None:
                newest = await registry.store.read(lambda reader: reader.newest_change())
                if newest is not None and newest.revision.action == action:
                    return
                assert time.monotonic() < deadline
                await asyncio.sleep(0.005)

    try:
        asyncio.run(wait())
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait()
    return count_actions(folder, action)


def count_actions(folder: Path, action: str) -> int:
    """Return how many names were last changed by this action, and check that none has it twice."""

    def work(reader: Reader) -> int:
        found = reader.histories("", NAMES + 100, "12345/")
        assert all(sum(revision.action == action for revision in one.revisions) <= 1 for one in found)
        return sum(one.revisions[-1].action == action for one in found)

    async def read() -> int:
        async with open_registry(folder) as registry:
            return await registry.store.read(work)

    return asyncio.run(read())


def test_every_name_changes_once_though_the_process_is_killed(large: Path, quick: Run) -> None:
    """The same holds for the undo."""
    retarget = (*RETARGET, "--yes")
    changed = kill_when_some_are_changed(large, retarget, "retarget")
    assert 0 < changed <= NAMES
    done = json.loads(ok(quick, *retarget, "--json"))
    if changed < NAMES:
        assert (done["changed"], done["state"]) == (NAMES, "finished")
    assert count_actions(large, "retarget") == NAMES
    (line,) = ok(quick, "bulk", "list").splitlines()
    undo = ("bulk", "undo", line.split("\t")[0], "--yes")
    kill_when_some_are_changed(large, undo, "undo retarget")
    quick(*undo)
    assert count_actions(large, "undo retarget") == NAMES
    assert ok(quick, "resolve", "12345/n00007") == f"{OLD}7\n"
