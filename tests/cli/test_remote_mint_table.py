"""`perdure --server … mint --from`: the same copy of the table as on the machine of the registry, and no name twice."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from tests.cli.conftest import Run
from tests.http.live_server import LiveServer, run_server

from perdure import ibi
from perdure.cli.remote import table_minting

TABLE = 'url;title;shelf\r\nhttps://e.org/1;"One; or two";A\r\nnowhere;Two;\r\n;;\r\nhttps://e.org/3;Drei;é\r\n'
Command = Callable[..., CompletedProcess[str]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("remote") / "registry") as one:
        for number in range(1, 6):
            one.perdure("prefix", "add", f"20.{number}", "--minter", "sequential")
        one.perdure("prefix", "add", "--host", "mtc.example.org", "--ip", "150.163.34.243", "--granularity", "0.001")
        yield one


@pytest.fixture
def command(server: LiveServer, quick: Run, tmp_path: Path) -> Command:
    (tmp_path / "theses.csv").write_bytes(TABLE.encode())

    def run(*arguments: str) -> CompletedProcess[str]:
        return quick("--server", server.url, *arguments, env={"PERDURE_KEY": server.key})

    return run


def rows(count: int) -> str:
    return "url\n" + "".join(f"https://e.org/{number}\n" for number in range(count))


def test_every_row_gets_a_name_and_all_else_stays_byte_for_byte(command: Command, tmp_path: Path) -> None:
    assert command("mint", "20.1", "--from", "theses.csv", "--dry-run").stdout == (
        "2 would be minted, 0 would be unchanged, 1 would be refused\n"
    )
    done = command("mint", "20.1", "--from", "theses.csv", "--ttl", "60")
    assert done.returncode == 1
    assert "line 3: the target 'nowhere' is not an absolute URL" in done.stderr
    minted = (tmp_path / "theses-minted.csv").read_bytes()
    assert minted == (
        b'url;title;shelf;name\r\nhttps://e.org/1;"One; or two";A;20.1/1\r\n'
        b"nowhere;Two;;\r\n;;\r\nhttps://e.org/3;Drei;\xc3\xa9;20.1/2\r\n"
    )
    shown = json.loads(command("show", "20.1/1", "--json").stdout)
    assert (shown["about"]["what"], shown["values"][0]["ttl"]) == ("One; or two", 60)


def test_the_same_table_gets_the_same_names(command: Command, tmp_path: Path) -> None:
    for output in ("first.csv", "second.csv"):
        command("mint", "20.2", "--from", "theses.csv", "--output", output)
    first = (tmp_path / "first.csv").read_bytes()
    assert first == (tmp_path / "second.csv").read_bytes()
    assert b"20.2/2" in first
    (tmp_path / "first.csv").write_bytes(first.replace(b"nowhere", b"https://e.org/2"))
    done = command("mint", "20.2", "--from", "first.csv", "--output", "third.csv")
    assert done.stdout.startswith("1 minted, 2 unchanged, 0 refused\n")
    assert b"https://e.org/2;Two;;20.2/3" in (tmp_path / "third.csv").read_bytes()


def test_a_table_that_is_read_in_another_way_gets_no_other_names(command: Command) -> None:
    assert (
        command("mint", "20.5", "--from", "theses.csv", "--map", "what=title", "--output", "first.csv").returncode == 0
    )
    before = command("list", "--under", "20.5").stdout
    done = command("mint", "20.5", "--from", "theses.csv", "--output", "second.csv")
    assert done.returncode == 2
    assert "this table was minted before, with other options" in done.stderr
    assert command("list", "--under", "20.5").stdout == before


def test_a_table_is_sent_in_parts_and_continues_after_an_interruption(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_minting, "_ROWS", 3)
    (tmp_path / "long.csv").write_text(rows(8))
    send, sent = table_minting._send, []

    def break_off(*arguments: object) -> object:
        sent.append(arguments)
        if len(sent) == 3:
            raise KeyboardInterrupt
        return send(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(table_minting, "_send", break_off)
    assert command("mint", "20.3", "--from", "long.csv").returncode != 0
    assert not (tmp_path / "long-minted.csv").exists()
    done = command("mint", "20.3", "--from", "long.csv")
    assert done.stdout.startswith("2 minted, 6 unchanged, 0 refused\n")
    expected = [f"https://e.org/{number},20.3/{number + 1}" for number in range(8)]
    assert (tmp_path / "long-minted.csv").read_text().splitlines() == ["url,name", *expected]


def test_both_labels_of_a_pair_are_in_the_copy(command: Command, tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(rows(3))
    done = command("mint", "example.org/mtc", "--from", "pairs.csv")
    assert done.stdout.startswith("3 minted"), done.stderr
    heading, *lines = (tmp_path / "pairs-minted.csv").read_text().splitlines()
    assert heading == "url,name,alias"
    for line in lines:
        url, name, alias = line.split(",")
        assert command("resolve", name).stdout == command("resolve", alias).stdout == f"{url}\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("20.4", "--from", "theses.csv", "--again"), "--again works on the machine of the registry only"),
        (("20.9", "--from", "theses.csv"), "the prefix '20.9' is not registered here"),
        (("POID", "--from", "theses.csv"), "POID identifiers are computed"),
        (("20.4", "--from", "theses.csv", "--output", "mine.csv"), "mine.csv exists already"),
        (("20.4", "--from", "theses.csv", "--strict"), "nothing was minted"),
    ],
)
def test_a_refusal_mints_nothing(command: Command, tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    (tmp_path / "mine.csv").write_text("mine")
    done = command("mint", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr
    assert (tmp_path / "mine.csv").read_text() == "mine"
    assert command("list", "--under", "20.4").stdout == ""


def test_more_names_than_a_subsystem_has_dates_for_at_once_are_minted(command: Command, server: LiveServer) -> None:
    server.perdure("prefix", "add", "--host", "tenths.example.org", "--granularity", "0.1")
    done = command("mint", "example.org/tenths", "--count", "120")
    assert done.returncode == 0, done.stderr
    names = done.stdout.split()
    assert len(set(names)) == 120
    dates = [ibi.parse(name).date for name in names]
    assert dates == sorted(dates)
    refused = command("mint", "example.org/tenths", "--count", "1000001")
    assert (refused.returncode, refused.stdout) == (2, "")
