"""`perdure mint --from`: the copy of a table has a name in every row, and no name is minted twice."""

import asyncio
import csv
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk, make_desk
from tests.registry_fixture import ENGINES, FEW_PARTITIONS, PostgresLocations, need_engine

from perdure.folder.registry_folder import make_registry, open_registry
from perdure.registry import add_prefix, names_under, resolve

TABLE = 'url,title,shelf\r\nhttps://e.org/1,"One, or two",A\r\nhttps://e.org/2,Two,\r\n'


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Desk:
    desk = make_desk(quick, tmp_path)
    (tmp_path / "theses.csv").write_bytes(TABLE.encode())
    desk.ok("prefix", "add", "20.1", "--minter", "sequential")
    return desk


def names(folder: Path, prefix: str) -> list[str]:
    async def collect() -> list[str]:
        async with open_registry(folder) as registry:
            return [name async for chunk in names_under(registry, prefix) for name in chunk]

    return asyncio.run(collect())


def test_the_copy_has_the_names_and_everything_else_byte_for_byte(desk: Desk) -> None:
    content = b"\xef\xbb\xbf" + TABLE.encode() + "\r\nhttps://e.org/3,Trois,é".encode()
    (desk.folder / "theses.csv").write_bytes(content)
    said = desk.ok("mint", "20.1", "--from", "theses.csv")
    assert said == "3 minted, 0 unchanged, 0 refused\nThe names are in theses-minted.csv.\n"
    copy = (desk.folder / "theses-minted.csv").read_bytes()
    lines = [
        b"\xef\xbb\xbfurl,title,shelf,name",
        b'https://e.org/1,"One, or two",A,20.1/1',
        b"https://e.org/2,Two,,20.1/2",
    ]
    assert copy == b"\r\n".join([*lines, b"", "https://e.org/3,Trois,é,20.1/3".encode()])
    assert stat.S_IMODE((desk.folder / "theses-minted.csv").stat().st_mode) == 0o600
    assert desk.ok("resolve", "20.1/1") == "https://e.org/1\n"
    assert "minted from theses.csv" in desk.ok("history", "20.1/2")


def test_the_same_command_mints_nothing_twice(desk: Desk) -> None:
    desk.ok("mint", "20.1", "--from", "theses.csv")
    first = (desk.folder / "theses-minted.csv").read_bytes()
    assert desk.ok("mint", "20.1", "--from", "theses.csv").startswith("0 minted, 2 unchanged, 0 refused\n")
    desk.ok("mint", "20.1", "--from", "theses.csv", "--output", "again.csv")
    assert (desk.folder / "again.csv").read_bytes() == first == (desk.folder / "theses-minted.csv").read_bytes()
    assert len(names(desk.folder, "20.1")) == 2
    desk.ok("mint", "20.1", "--from", "theses.csv", "--again", "--output", "new.csv")
    assert b"20.1/4" in (desk.folder / "new.csv").read_bytes()


def test_a_run_with_wrong_options_or_rows_is_not_a_request_for_new_names(desk: Desk) -> None:
    (desk.folder / "theses.csv").write_text("url\nhttps://e.org/1\nnowhere\n")
    desk.ok("mint", "20.1", "--from", "theses.csv", code=1)
    again = ("mint", "20.1", "--from", "theses.csv", "--again", "--output", "new.csv")
    for options in (("--map", "url=colour"), ("--strict",)):
        assert desk.run(*again, *options).returncode == 2
    assert desk.ok(*again, "--dry-run", code=1).startswith("1 would be minted, 0 would be unchanged")
    assert desk.ok("mint", "20.1", "--from", "theses.csv", code=1).startswith("0 minted, 1 unchanged")


def test_a_table_in_another_encoding_stays_in_it(desk: Desk) -> None:
    (desk.folder / "theses.csv").write_bytes("url;title\nhttps://e.org/1;Café\n".encode("latin-1"))
    assert "If it is Latin-1, add --encoding latin-1" in desk.refuses("mint", "20.1", "--from", "theses.csv")
    assert "not a supported encoding" in desk.refuses("mint", "20.1", "--from", "theses.csv", "--encoding", "utf-16")
    desk.ok("mint", "20.1", "--from", "theses.csv", "--encoding", "latin-1")
    copy = (desk.folder / "theses-minted.csv").read_bytes()
    assert copy == "url;title;name\nhttps://e.org/1;Café;20.1/1\n".encode("latin-1")
    assert desk.json("show", "20.1/1")["about"]["what"] == "Café"


def test_a_ttl_applies_to_every_row(desk: Desk) -> None:
    desk.ok("mint", "20.1", "--from", "theses.csv", "--ttl", "60")
    desk.ok("prefix", "change", "20.1", "--ttl", "90")
    (desk.folder / "more.csv").write_text("url\nhttps://e.org/3\n")
    desk.ok("mint", "20.1", "--from", "more.csv")
    shown = [desk.json("show", name)["values"][0]["ttl"] for name in ("20.1/1", "20.1/2", "20.1/3")]
    assert shown == [60, 60, 90]


def test_refused_rows_are_mended_in_the_copy(desk: Desk) -> None:
    (desk.folder / "theses.csv").write_text("url,title\nhttps://e.org/1,One\nnowhere,Two\nhttps://e.org/3,Three\n")
    done = desk.run("mint", "20.1", "--from", "theses.csv", "--problems", "problems.ndjson")
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "2 minted, 0 unchanged, 1 refused")
    assert "perdure mint 20.1 --from theses-minted.csv" in done.stdout
    assert '"line": 3' in (desk.folder / "problems.ndjson").read_text()
    copy = desk.folder / "theses-minted.csv"
    copy.write_text(copy.read_text().replace("nowhere", "https://e.org/2"))
    counts = desk.json("mint", "20.1", "--from", "theses-minted.csv", "--output", "theses-minted.csv", "--overwrite")
    assert counts == {"minted": 1, "unchanged": 2, "refused": 0, "dry_run": False, "output": "theses-minted.csv"}
    rows = list(csv.DictReader(copy.read_text().splitlines()))
    assert [row["name"] for row in rows] == ["20.1/1", "20.1/3", "20.1/2"]
    assert len(names(desk.folder, "20.1")) == 3


def test_a_dry_run_and_a_strict_run_with_an_invalid_row_write_nothing(desk: Desk) -> None:
    assert desk.ok("mint", "20.1", "--from", "theses.csv", "--dry-run").startswith("2 would be minted, ")
    (desk.folder / "theses.csv").write_text(TABLE + "nowhere,Three,\n")
    assert desk.run("mint", "20.1", "--from", "theses.csv", "--dry-run").returncode == 1
    done = desk.run("mint", "20.1", "--from", "theses.csv", "--strict")
    assert (done.returncode, "line 4: the target 'nowhere'" in done.stderr) == (2, True)
    assert names(desk.folder, "20.1") == []
    assert not (desk.folder / "theses-minted.csv").exists()
    (desk.folder / "theses.csv").write_text(TABLE)
    assert desk.ok("mint", "20.1", "--from", "theses.csv", "--strict").startswith("2 minted")


def test_a_subsystem_adds_both_labels(desk: Desk) -> None:
    desk.ok("prefix", "add", "--host", "mtc-m18.sid.inpe.br", "--ip", "150.163.34.243", "--granularity", "0.01")
    desk.ok("mint", "sid.inpe.br/mtc-m18", "--from", "theses.csv")
    for row in csv.DictReader((desk.folder / "theses-minted.csv").read_text().splitlines()):
        assert desk.ok("resolve", row["name"]) == desk.ok("resolve", row["alias"]) == f"{row['url']}\n"


def test_a_table_is_read_from_a_pipe_and_written_to_one(desk: Desk) -> None:
    for counts in ("2 minted, 0 unchanged", "0 minted, 2 unchanged"):
        done = desk.run("mint", "20.1", "--from", "-", "--map", "target=url", stdin=TABLE)
        assert done.stdout.splitlines()[1] == 'https://e.org/1,"One, or two",A,20.1/1'
        assert counts in done.stderr


def test_a_table_is_read_from_a_named_pipe(desk: Desk) -> None:
    os.mkfifo(desk.folder / "pipe.csv")
    with ThreadPoolExecutor() as writer:
        writer.submit((desk.folder / "pipe.csv").write_text, TABLE)
        desk.ok("mint", "20.1", "--from", "pipe.csv", "--output", "out.csv")
    assert "20.1/2" in (desk.folder / "out.csv").read_text()


def test_columns_that_are_not_read_are_named(desk: Desk) -> None:
    done = desk.run("mint", "20.1", "--from", "theses.csv", "--dry-run")
    assert "copied, but not read: shelf" in done.stderr
    done = desk.run("mint", "20.1", "--from", "theses.csv", "--dry-run", "--map", "what=title")
    assert "no column is the target" in done.stderr


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--output", "other.csv"], "other.csv exists already"),
        (["--output", "nowhere/x.csv"], "folder not found"),
        (["--map", "colour=shelf"], "is not a field"),
        (["--map", "target=colour"], "there is no column"),
        (["--count", "2"], "--from cannot be combined"),
        (["--delimiter", "ab"], "one character"),
        (["--problems", "theses.csv"], "is the input file"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_minted(desk: Desk, options: list[str], reason: str) -> None:
    (desk.folder / "other.csv").write_text("mine")
    assert reason in desk.refuses("mint", "20.1", "--from", "theses.csv", *options)
    assert (desk.folder / "other.csv").read_text() == "mine"


def test_options_of_tables_need_a_table(desk: Desk) -> None:
    assert "are only for --from" in desk.refuses("mint", "20.1", "--dry-run")


def test_a_file_that_appears_meanwhile_is_not_replaced(desk: Desk) -> None:
    desk.ok("mint", "20.1", "--from", "theses.csv")
    (desk.folder / "theses-minted.csv").write_text("edited by hand")
    done = desk.run("mint", "20.1", "--from", "theses.csv")
    assert (done.returncode, "theses-minted.csv exists already" in done.stderr) == (2, True)
    desk.ok("mint", "20.1", "--from", "theses.csv", "--overwrite")
    assert "20.1/2" in (desk.folder / "theses-minted.csv").read_text()
    assert sorted(path.name for path in desk.folder.glob(".*.new")) == []


@pytest.fixture(params=ENGINES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A registry on each engine, with prefixes of which one counts and one dates its names."""
    need_engine(request.param)
    locations = PostgresLocations(tmp_path) if request.param == "postgres" else None
    folder = tmp_path / "library"
    if locations is None:
        created = asyncio.run(make_registry(folder, name="The Library"))
    else:
        address = locations.address()
        created = asyncio.run(make_registry(folder, name="The Library", store=address, postgresql=FEW_PARTITIONS))

    async def fill() -> None:
        async with open_registry(folder) as registry:
            await add_prefix(registry, created.admin, "20.1", minter="sequential")
            await add_prefix(registry, created.admin, "20.2", minter="pilin")

    asyncio.run(fill())
    yield folder
    if locations is not None:
        locations.close()


def kill_when_minted(command: list[str], folder: Path) -> None:
    """Start the command, and kill it when its first names are stored."""

    async def watch() -> None:
        async with open_registry(folder) as registry:

            async def count() -> int:
                return (await registry.store.read(lambda reader: reader.counts()))["identifiers"]

            before, deadline = await count(), time.monotonic() + 60
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and time.monotonic() < deadline and await count() == before:
                await asyncio.sleep(0.002)
            process.kill()
            assert process.wait() == -signal.SIGKILL, "the command ended before it was killed: nothing was tested"

    asyncio.run(watch())


@pytest.mark.parametrize(("prefix", "rows"), [("20.1", 8_000), ("20.2", 2_500)])
def test_a_command_that_was_killed_is_run_again(folder: Path, quick: Run, prefix: str, rows: int) -> None:
    """Every row has one name, and every name belongs to one row."""
    table, copy = folder / "theses.csv", folder / "theses-minted.csv"
    table.write_text("url\n" + "".join(f"https://e.org/{row}\n" for row in range(rows)))
    command = ["mint", prefix, "--from", str(table), "--registry", str(folder)]
    kill_when_minted([sys.executable, "-m", "perdure", *command], folder)
    assert not copy.exists()
    before = names(folder, prefix)
    done = quick(*command)
    assert done.stdout.startswith(f"{rows - len(before):,} minted, {len(before):,} unchanged, 0 refused\n"), done.stderr
    with copy.open(newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [row["url"] for row in written] == [f"https://e.org/{row}" for row in range(rows)]
    found = [row["name"] for row in written]
    assert sorted(found) == sorted(names(folder, prefix))
    assert set(before) <= set(found)

    async def resolve_some() -> list[str | None]:
        async with open_registry(folder) as registry:
            return [(await resolve(registry, name)).target for name in found[:: rows // 10]]

    assert asyncio.run(resolve_some()) == [row["url"] for row in written[:: rows // 10]]
