"""`perdure --server … collection`: items of a real server, as on the machine of the registry."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.http.live_server import LiveServer, run_server

SUBSYSTEM = "example.org/archive"
ADDRESS = "https://id.example.org/items"
NO_ITEM = "example.org/archive/2009/02.16.17.46"
Command = Callable[..., CompletedProcess[str]]
# What a server does not show of a holding: keys of its store, and its checks.
UNSHOWN = ("subject", "verified_at", "outcome", "names")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("remote")
    with run_server(folder / "registry") as one:
        one.perdure(
            "prefix", "add", "--host", "archive.example.org", "--ip", "150.163.34.241", "--granularity", "0.001"
        )
        for name in ("main", "mirror"):
            one.perdure("collection", "create", name, "--path", str(folder / name), "--url", f"{ADDRESS}/{name}")
        yield one


@pytest.fixture
def command(server: LiveServer, quick: Run) -> Command:
    """Run a command with the server, and with a key in the environment."""

    def run(*arguments: str) -> CompletedProcess[str]:
        return quick("--server", server.url, "collection", *arguments, env={"PERDURE_KEY": server.key})

    return run


@pytest.fixture
def local(server: LiveServer, quick: Run) -> Command:
    """Run the same command on the machine of the registry."""

    def run(*arguments: str) -> CompletedProcess[str]:
        given = ("collection", *arguments, "--registry", str(server.folder))
        return quick(*given, env={"PERDURE_KEY": server.key})

    return run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "source"
    (directory / "maps").mkdir(parents=True)
    (directory / "a.txt").write_text("one")
    (directory / "maps" / "Amazon? 1=1 é.tif").write_bytes(bytes(range(256)) * 5_000)
    return directory


@pytest.fixture
def label(local: Command, source: Path) -> str:
    """An item with two versions, and with a copy."""
    name = ok(local("put", "main", str(source), "--subsystem", SUBSYSTEM, "--message", "first")).strip()
    ok(local("copy", name, "main", "mirror"))
    (source / "b.txt").write_text("two")
    ok(local("put", "main", str(source), "--label", name, "--message", "second", "--main", "a.txt"))
    return name


def ok(done: CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal_of(done: CompletedProcess[str]) -> str:
    assert (done.returncode, done.stdout) == (2, ""), (done.stdout, done.stderr)
    return done.stderr


def without_unshown(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key not in UNSHOWN}


def test_a_list_of_items_is_like_the_local_one(command: Command, local: Command, label: str) -> None:
    for collection in ("main", "mirror"):
        listed = ok(command("list", collection))
        assert listed == ok(local("list", collection))
        assert label in listed
    [shown] = [one for one in lines(command("list", "main", "--json")) if one["label"] == label]
    [known] = [one for one in lines(local("list", "main", "--json")) if one["label"] == label]
    assert shown.pop("url") == f"{ADDRESS}/main/{label}/"
    assert shown.pop("original") is None
    assert shown.items() <= known.items()


def lines(done: CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ok(done).splitlines()]


def test_a_list_longer_than_a_page_is_complete(
    command: Command, local: Command, label: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok(local("put", "main", str(source / "a.txt"), "--subsystem", SUBSYSTEM))
    monkeypatch.setattr("perdure.cli.remote.item_documents.PAGE", 1)
    assert ok(command("list", "main")) == ok(local("list", "main"))


def test_an_item_is_shown_as_on_the_machine_of_the_registry(command: Command, local: Command, label: str) -> None:
    for options in ((), ("--files",), ("--files", "--version", "1")):
        there = ok(command("show", label, *options))
        here = ok(local("show", label, *options)).replace("    checked    not yet\n", "")
        assert there == here
    assert "maps/Amazon? 1=1 é.tif" in there
    shown, known = (json.loads(ok(run("show", label, "--files", "--json"))) for run in (command, local))
    known["holdings"] = [without_unshown(one) for one in known["holdings"]]
    assert shown == known
    assert {one["collection"] for one in shown["holdings"]} == {"main", "mirror"}


def test_an_item_is_found_by_every_name_and_its_damaged_copy_is_shown(
    command: Command, local: Command, label: str, server: LiveServer
) -> None:
    [copy] = (server.folder.parent / "mirror").rglob(f"{label.rpartition('/')[2]}/v1/content/a.txt")
    copy.chmod(0o644)
    copy.write_text("changed")
    assert local("verify", "mirror").returncode == 1
    alias = json.loads(server.perdure("show", label, "--json"))["names"]
    for name in (*alias, label.upper(), f"hdl:{label}"):
        held = json.loads(ok(command("show", name, "--json")))["holdings"]
        assert [one["collection"] for one in held] == ["main", "mirror"], name


def test_what_is_not_there_is_refused_as_on_the_machine_of_the_registry(command: Command, local: Command) -> None:
    for given in (("show", NO_ITEM), ("show", "99.99/x"), ("list", "nowhere")):
        assert refusal_of(command(*given)) == refusal_of(local(*given))


def test_a_version_that_does_not_exist_is_refused(command: Command, local: Command, label: str) -> None:
    given = ("show", label, "--files", "--version", "7")
    assert refusal_of(command(*given)) == refusal_of(local(*given))


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("list",), "without the name of a collection, perdure collection list works on the machine of the registry"),
        (("list", "main", "--problems"), "--problems works on the machine of the registry only"),
        (("verify", "main"), "perdure collection verify works on the machine of the registry only"),
    ],
)
def test_what_a_server_does_not_show_is_named(command: Command, given: tuple[str, ...], reason: str) -> None:
    assert reason in refusal_of(command(*given))


def test_reading_needs_no_key(server: LiveServer, quick: Run, label: str) -> None:
    assert label in ok(quick("--server", server.url, "collection", "list", "main"))
    assert label in ok(quick("--server", server.url, "collection", "show", label))
