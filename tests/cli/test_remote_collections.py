"""`perdure --server … collection`: items of a real server, as on the machine of the registry."""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.cli.breaking_relay import breaking_relay
from tests.cli.conftest import Run
from tests.http.live_server import LiveServer, run_server

from perdure.cli.remote import item_downloads, part_upload, remote_deposit, sent_files

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


@pytest.fixture(autouse=True)
def upload_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the user where unfinished uploads are remembered."""
    directory = tmp_path.parent / f"{tmp_path.name}-state"
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    return directory / "perdure" / "uploads"


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


def test_the_collections_are_listed(command: Command, local: Command, label: str) -> None:
    rows = [one.split("\t") for one in ok(command("list")).splitlines()]
    local_rows = [one.split("\t") for one in ok(local("list")).splitlines()]
    assert rows == [[*one[:4], one[6]] for one in local_rows]  # without problems and directory
    assert [(one[0], one[4]) for one in rows] == [(name, f"{ADDRESS}/{name}") for name in ("main", "mirror")]
    known = lines(local("list", "--json"))
    for one in known:
        del one["path"], one["problems"]
    assert lines(command("list", "--json")) == known


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
        (("get", NO_ITEM, "--as-bag"), "--as-bag works on the machine of the registry only"),
        (("list", "--problems"), "name the collection whose items are to be listed"),
        (("list", "main", "--problems"), "--problems works on the machine of the registry only"),
        (("verify", "main"), "perdure collection verify works on the machine of the registry only"),
    ],
)
def test_what_a_server_does_not_show_is_named(command: Command, given: tuple[str, ...], reason: str) -> None:
    assert reason in refusal_of(command(*given))


def test_reading_needs_no_key(server: LiveServer, quick: Run, label: str) -> None:
    assert label in ok(quick("--server", server.url, "collection", "list", "main"))
    assert label in ok(quick("--server", server.url, "collection", "show", label))


def content_of(directory: Path) -> dict[str, bytes]:
    files = (one for one in directory.rglob("*") if one.is_file())
    return {str(one.relative_to(directory)): one.read_bytes() for one in files}


def test_the_files_of_an_item_are_downloaded(command: Command, label: str, source: Path, tmp_path: Path) -> None:
    done = ok(command("get", label, "--to", "got"))
    assert done == f"Copied {label} from main to got: version 2, 3 files, 1,280,006 bytes.\n"
    assert content_of(tmp_path / "got") == content_of(source)
    fields = json.loads(ok(command("get", label, "--version", "1", "--collection", "mirror", "--to", "old", "--json")))
    assert (fields["collection"], fields["version"], fields["files"]) == ("mirror", 1, 2)
    (source / "b.txt").unlink()
    assert content_of(tmp_path / "old") == content_of(source)
    assert "got exists already: name a new directory" in refusal_of(command("get", label, "--to", "got"))


def test_what_cannot_be_downloaded_is_refused_as_by_the_local_command(
    command: Command, local: Command, label: str, tmp_path: Path
) -> None:
    ok(local("remove", label, "mirror"))
    wrong = ([NO_ITEM], [label, "--version", "7"], [label, "--collection", "none"], [label, "--collection", "mirror"])
    for given in wrong:
        assert refusal_of(command("get", *given, "--to", "got")) == refusal_of(local("get", *given, "--to", "got"))
    assert {one.name for one in tmp_path.iterdir()} == {"source"}


def test_a_damaged_original_is_replaced_by_a_copy(
    command: Command, label: str, source: Path, server: LiveServer, local: Command, tmp_path: Path
) -> None:
    ok(local("copy", label, "main", "mirror"))
    [original] = (server.folder.parent / "main").rglob(f"{label.rpartition('/')[2]}/v1/content/a.txt")
    original.chmod(0o644)
    original.write_text("two")
    done = command("get", label, "--to", "got")
    assert "from mirror to got" in ok(done)
    assert "a.txt differs from the digest that the server gives" in done.stderr
    assert content_of(tmp_path / "got") == content_of(source)
    assert "differs from the digest" in refusal_of(command("get", label, "--to", "again", "--collection", "main"))
    assert {one.name for one in tmp_path.iterdir()} == {"source", "got"}


def test_a_download_whose_connection_breaks_continues(
    quick: Run, label: str, source: Path, server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_downloads, "_PAUSE", 0.0)
    with breaking_relay(server.address) as relay:
        relay.to_client = 500_000
        ok(quick("--server", relay.url, "collection", "get", label, "--to", "got"))
        assert relay.breaks == 2
        relay.to_client = 20_000  # the descriptions arrive, and of the file only that it begins
        monkeypatch.setattr(item_downloads, "_ATTEMPTS", 1)
        refusal = refusal_of(quick("--server", relay.url, "collection", "get", label, "--to", "none"))
    assert f"cannot reach {relay.url}: the connection was closed after" in refusal
    assert content_of(tmp_path / "got") == content_of(source)
    assert {one.name for one in tmp_path.iterdir()} == {"source", "got"}


@contextmanager
def hostile_server(path: str) -> Iterator[str]:
    """Serve the description of an item with a file of this path."""
    file = {"path": path, "size": 3, "sha512": "0" * 128, "media_type": "text/plain"}
    version = {"version": 1, "created": "2026-01-02T03:04:05Z", "message": "", "files": [file]}
    item = dict.fromkeys(("url", "role_since", "put_at", "source", "digest"), "") | {"versions": [version]}
    item |= {"label": NO_ITEM, "names": [NO_ITEM], "collection": "main", "role": "original", "main_file": None}
    answer = item | {"stored": [{"collection": "main", "state": "original"}], "owner": True, "name": NO_ITEM}
    body = json.dumps(answer).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("path", ["../escaped.txt", "/escaped.txt", "a/../../escaped.txt", ""])
def test_a_server_cannot_write_outside_the_new_directory(quick: Run, path: str, tmp_path: Path) -> None:
    with hostile_server(path) as url:
        refusal_of(quick("--server", url, "collection", "get", NO_ITEM, "--to", "below/got"))
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]


def read_item(run: Command, label: str) -> dict[str, Any]:
    """Return an item without dates and without what differs between an upload and a local put."""
    item: dict[str, Any] = json.loads(ok(run("show", label, "--files", "--json")))
    [held] = item["holdings"]
    versions = [(one["version"], one["files"], one["message"]) for one in item["versions"]]
    return {"versions": versions, "main": held["main_file"], "files": item["files"]}


def test_a_directory_becomes_an_item_and_its_next_version(
    command: Command, local: Command, source: Path, server: LiveServer
) -> None:
    (source / 'quote "1" 100%; é.txt').write_text("awkward")
    options = ("--main", "a.txt", "--message", "what is new")
    done = command("put", "main", str(source), "--subsystem", SUBSYSTEM, "--title", "On lasting", *options)
    label = ok(done).strip()
    assert f"reserved {label}, also known as " in done.stderr
    assert "stored in main: version 1, 3 files, 1,280,010 bytes" in done.stderr
    here = ok(local("put", "main", str(source), "--subsystem", SUBSYSTEM, *options)).strip()
    assert read_item(command, label)["files"] == read_item(command, here)["files"]
    assert read_item(command, label)["main"] == "a.txt"
    record = json.loads(server.perdure("show", label, "--json"))
    assert (record["about"]["what"], record["target"]) == ("On lasting", f"{ADDRESS}/main/{label}/a.txt")
    again = command("put", "main", str(source), "--label", label)
    assert "unchanged in main: version 1" in again.stderr
    (source / "a.txt").write_text("new")
    fields = json.loads(ok(command("put", "main", str(source), "--label", label, "--json", "--message", "corrected")))
    assert (fields["version"], fields["main_file"]) == (2, "a.txt")
    assert read_item(command, label)["versions"][0] == (2, 3, "corrected")


def test_one_file_is_the_main_file_and_another_one_can_be_chosen(
    command: Command, source: Path, tmp_path: Path
) -> None:
    label = ok(command("put", "main", str(source / "a.txt"), "--subsystem", SUBSYSTEM)).strip()
    assert read_item(command, label)["main"] == "a.txt"
    (source / "b.txt").write_text("")  # an empty file
    ok(command("put", "main", str(source), "--label", label))
    assert read_item(command, label)["versions"][0][:2] == (2, 3)
    for chosen, main in (("b.txt", "b.txt"), ("/", None), ("a.txt", "a.txt")):
        ok(command("put", "main", str(source), "--label", label, "--main", chosen))
        assert read_item(command, label)["main"] == main
    assert read_item(command, label)["versions"][0][:2] == (2, 3)


def test_a_version_without_a_file_of_the_one_before_is_refused(command: Command, source: Path) -> None:
    label = ok(command("put", "main", str(source), "--subsystem", SUBSYSTEM)).strip()
    (source / "a.txt").unlink()
    refusal = refusal_of(command("put", "main", str(source), "--label", label))
    assert "the item has 'a.txt', which the new version would leave out: with --label" in refusal
    assert read_item(command, label)["versions"] == [(1, 2, "upload")]


def test_no_name_is_reserved_for_what_the_server_refuses(
    command: Command, source: Path, server: LiveServer, quick: Run
) -> None:
    before = server.perdure("list", "--under", SUBSYSTEM)
    (source / "link").symlink_to("a.txt")
    wrong = [
        (("put", "main", str(source), "--subsystem", SUBSYSTEM), "symbolic link"),
        (("put", "nowhere", str(source / "a.txt"), "--subsystem", SUBSYSTEM), "there is no collection 'nowhere'"),
        (("put", "main", str(source / "a.txt"), "--subsystem", "99.99"), "the prefix '99.99' is not registered"),
        (("put", "main", str(source / "a.txt"), "--label", NO_ITEM), "is not registered here"),
    ]
    for given, reason in wrong:
        assert reason in refusal_of(command(*given))
    server.perdure("agent", "add", "guest", "--name", "Guest")
    [key] = re.findall(r"perdure_\w+", server.perdure("agent", "key", "guest"))
    given = ("--server", server.url, "collection", *wrong[0][0][:2], str(source / "a.txt"), "--subsystem", SUBSYSTEM)
    assert "guest" in refusal_of(quick(*given, env={"PERDURE_KEY": key}))
    assert server.perdure("list", "--under", SUBSYSTEM) == before


def test_the_same_token_continues_with_the_same_name(
    command: Command, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    headers = sent_files.FileForm.headers

    def count(self: sent_files.FileForm) -> dict[str, str]:
        sent.append(len(self._sources))
        return headers(self)

    monkeypatch.setattr(sent_files.FileForm, "headers", count)
    given = ("put", "main", str(source), "--subsystem", SUBSYSTEM, "--resume", "survey é 7")
    first = ok(command(*given))
    (source / "b.txt").write_text("two")
    assert ok(command(*given)) == first
    assert sent == [2, 1]
    assert read_item(command, first.strip())["versions"] == [(2, 3, "upload"), (1, 2, "upload")]


def test_zip_files_and_bags_are_stored_as_by_the_local_command(
    command: Command, local: Command, source: Path, tmp_path: Path, label: str, server: LiveServer
) -> None:
    shutil.make_archive(str(tmp_path / "plain"), "zip", source)
    zipped = ok(command("put", "main", "plain.zip", "--unzip", "--subsystem", SUBSYSTEM)).strip()
    assert {one["path"] for one in read_item(command, zipped)["files"]} == content_of(source).keys()
    ok(local("get", label, "--as-bag", "--to", "bag"))
    bagged = ok(command("put", "main", "bag", "--subsystem", SUBSYSTEM)).strip()
    assert read_item(command, bagged)["files"] == read_item(local, zipped)["files"]
    (tmp_path / "bag" / "data" / "a.txt").write_text("two")
    before = server.perdure("list", "--under", SUBSYSTEM)
    assert "a.txt" in refusal_of(command("put", "main", "bag", "--subsystem", SUBSYSTEM))
    assert server.perdure("list", "--under", SUBSYSTEM) == before


@pytest.fixture
def in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send files of more than 100 kB in parts of 200 kB."""
    monkeypatch.setattr(remote_deposit, "_FORM_BYTES", 100_000)
    monkeypatch.setattr(part_upload, "_PART_BYTES", 200_000)
    monkeypatch.setattr(part_upload, "_PAUSE", 0.0)
    monkeypatch.setattr(remote_deposit, "_PAUSE", 0.0)


@pytest.mark.usefixtures("in_small_parts")
def test_a_large_file_continues_after_its_connection_breaks(
    quick: Run, command: Command, source: Path, server: LiveServer, upload_memory: Path
) -> None:
    (source / "a.txt").write_bytes(b"a" * 90_000)
    (source / "%22.txt").write_text("a form would make another name of this")
    (source / "%0D.txt").write_text("")
    with breaking_relay(server.address) as relay:
        relay.from_client, relay.every = 50_000, 3
        options = ("collection", "put", "main", str(source), "--subsystem", SUBSYSTEM)
        label = ok(quick("--server", relay.url, *options, env={"PERDURE_KEY": server.key})).strip()
        assert relay.breaks > 2
    item = read_item(command, label)
    known = {path: hashlib.sha512(content).hexdigest() for path, content in content_of(source).items()}
    assert {one["path"]: one["sha512"] for one in item["files"]} == known
    assert (item["main"], len(item["versions"])) == (None, 4)
    assert list(upload_memory.iterdir()) == []


@pytest.mark.usefixtures("in_small_parts")
def test_another_process_continues_an_upload(
    command: Command, source: Path, upload_memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, sent = part_upload.PartUpload._send_part, []

    def break_off(self: Any, path: str, offset: int, part: bytes) -> None:
        sent.append(offset)
        if len(sent) == 4:
            raise KeyboardInterrupt
        send(self, path, offset, part)

    monkeypatch.setattr(part_upload.PartUpload, "_send_part", break_off)
    large = source / "maps" / "Amazon? 1=1 é.tif"
    done = command("put", "main", str(large), "--subsystem", SUBSYSTEM)
    assert done.returncode != 0
    label = done.stderr.split("continue with --label ")[1].split()[0]
    assert len(list(upload_memory.iterdir())) == 1
    ok(command("put", "main", str(large), "--label", label))
    assert sent == [0, 262_144, 524_288, 786_432, 786_432, 1_048_576]
    assert list(upload_memory.iterdir()) == []
    [file] = read_item(command, label)["files"]
    assert file["sha512"] == hashlib.sha512(large.read_bytes()).hexdigest()
