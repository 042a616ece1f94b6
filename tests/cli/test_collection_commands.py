"""`perdure collection` as an archivist uses it, wrong input first."""

import json
import os
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.cli.conftest import Run
from tests.cli.test_registry_commands import Desk, make_desk

SUBSYSTEM = "example.org/archive"


@pytest.fixture
def desk(quick: Run, tmp_path: Path) -> Desk:
    desk = make_desk(quick, tmp_path)
    desk.ok("prefix", "add", "--host", "archive.example.org", "--ip", "150.163.34.241", "--granularity", "0.001")
    for name in ("main", "mirror"):
        desk.ok("collection", "create", name, "--path", str(tmp_path / name), "--url", f"https://example.org/{name}")
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.txt").write_text("one")
    return desk


@pytest.fixture
def source(desk: Desk, tmp_path: Path) -> Path:
    return tmp_path / "source"


def put(desk: Desk, source: Path, *options: str) -> str:
    return desk.ok("collection", "put", "main", str(source), *options).strip()


def damage(tmp_path: Path, collection: str) -> None:
    [content] = (tmp_path / collection / "example.org").rglob("a.txt")
    content.chmod(0o644)
    content.write_text("two")


def test_no_name_is_reserved_for_what_cannot_be_stored(desk: Desk, source: Path, tmp_path: Path) -> None:
    (source / "link").symlink_to("a.txt")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    wrong = [
        (source, "link"),
        (tmp_path / "empty", "at least one"),
        (source / "a.txt", "not the main file"),
        (source / "link", "a symbolic link"),
        (tmp_path / "pipe", "a pipe"),
        (tmp_path, "contains the directory of the collection"),
    ]
    for path, reason in wrong:
        options = ["--main", "b.txt"] if path.name == "a.txt" else []
        refused = desk.run("collection", "put", "main", str(path), "--subsystem", SUBSYSTEM, *options)
        assert (refused.returncode, reason in refused.stderr) == (2, True), refused.stderr
    for option in ("--title", "--message"):
        options = ["--subsystem", SUBSYSTEM, option, "\x1b[2J"]
        refused = desk.run("collection", "put", "main", str(source / "a.txt"), *options)
        assert (refused.returncode, "control character" in refused.stderr) == (2, True), refused.stderr
    assert "No identifiers found" in desk.run("list", "--under", SUBSYSTEM).stderr


def test_the_folder_of_the_registry_is_not_put(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    desk.ok("collection", "create", "far", "--path", str(tmp_path_factory.mktemp("far")), "--url", "https://far.org")
    refused = desk.refuses("collection", "put", "far", str(desk.folder), "--subsystem", SUBSYSTEM)
    assert "contains the folder of the registry, with its keys" in refused


def test_the_files_of_a_zip_file_are_stored_but_not_those_of_a_bag_in_it(desk: Desk, tmp_path: Path) -> None:
    plain, hostile, bag = (tmp_path / name for name in ("plain.zip", "hostile.zip", "bag.zip"))
    for file, names in ((plain, ["a.txt", "b/c.txt"]), (hostile, ["../a.txt"]), (bag, ["b/bagit.txt", "b/data/a"])):
        with ZipFile(file, "w") as archive:
            for name in names:
                archive.writestr(name, name)
    label = put(desk, plain, "--subsystem", SUBSYSTEM, "--unzip")
    assert [one["path"] for one in json.loads(desk.ok("collection", "show", label, "--files", "--json"))["files"]] == [
        "a.txt",
        "b/c.txt",
    ]
    for file, reason in ((hostile, "'..'"), (bag, "makes this a bag"), (tmp_path / "perdure.toml", "not a zip file")):
        refused = desk.run("collection", "put", "main", str(file), "--unzip", "--subsystem", SUBSYSTEM)
        assert (refused.returncode, reason in refused.stderr) == (2, True), refused.stderr
    assert desk.ok("list", "--under", SUBSYSTEM).count("\n") == 1


def test_put_says_whether_there_is_a_new_version_and_names_empty_directories(desk: Desk, source: Path) -> None:
    (source / "hollow").mkdir()
    label = put(desk, source, "--subsystem", SUBSYSTEM)
    again = desk.run("collection", "put", "main", str(source), "--label", label)
    assert "1 empty directory is not stored, because an item consists of files: hollow/" in again.stderr
    assert "unchanged in main: version 1" in again.stderr


def test_show_lists_versions_and_files(desk: Desk, source: Path) -> None:
    label = put(desk, source, "--subsystem", SUBSYSTEM, "--message", "first")
    (source / "b.txt").write_text("more")
    put(desk, source, "--label", label, "--message", "second")
    shown = desk.ok("collection", "show", label, "--files", "--version", "1")
    assert ": first\n" in shown
    assert ": second\n" in shown
    assert "    a.txt  3 bytes, text/plain, sha512 " in shown
    assert "b.txt" not in shown.replace("main file", "")
    described = json.loads(desk.ok("collection", "show", label, "--files", "--json"))
    assert [one["message"] for one in described["versions"]] == ["second", "first"]
    assert [one["path"] for one in described["files"]] == ["a.txt", "b.txt"]


def test_a_rolling_check_does_not_forget_known_problems(desk: Desk, source: Path, tmp_path: Path) -> None:
    label = put(desk, source, "--subsystem", SUBSYSTEM)
    damage(tmp_path, "main")
    assert desk.run("collection", "verify", "main", "--rolling", "30d").returncode == 1
    again = desk.run("collection", "verify", "main", "--rolling", "30d")
    assert (again.returncode, "With problems, by their last checks: 1 item" in again.stdout) == (1, True)
    assert label in desk.ok("collection", "list", "main", "--problems")
    assert desk.ok("collection", "list", "mirror", "--problems") == ""


def test_a_damaged_original_is_replaced_by_its_copy(desk: Desk, source: Path, tmp_path: Path) -> None:
    label = put(desk, source, "--subsystem", SUBSYSTEM)
    desk.ok("collection", "copy", label, "main", "mirror")
    damage(tmp_path, "main")
    desk.run("collection", "verify", "main")
    desk.ok("collection", "migrate", label, "main", "mirror")
    assert desk.ok("resolve", label).startswith("https://example.org/mirror/")
    refused = desk.run("collection", "copy", label, "mirror", "main")
    assert (refused.returncode, f"perdure collection remove {label} main" in refused.stderr) == (2, True)
    desk.ok("collection", "remove", label, "main")
    desk.ok("collection", "copy", label, "mirror", "main")
    assert desk.run("collection", "verify", "main").returncode == 0


def test_an_original_without_files_is_replaced_by_its_copy(desk: Desk, source: Path, tmp_path: Path) -> None:
    label = put(desk, source, "--subsystem", SUBSYSTEM)
    desk.ok("collection", "copy", label, "main", "mirror")
    (tmp_path / "main" / "example.org").rename(tmp_path / "lost")
    assert desk.run("collection", "verify", "main").returncode == 1
    desk.ok("collection", "migrate", label, "main", "mirror")
    desk.ok("collection", "copy", label, "mirror", "main")
    assert "not yet" in desk.ok("collection", "show", label)
    assert desk.run("collection", "verify", "main").returncode == 0


def test_originals_are_moved_by_the_server_that_gets_them(desk: Desk, source: Path) -> None:
    label = put(desk, source, "--subsystem", SUBSYSTEM)
    there = "https://id.example.org/items/main"
    assert "run there" in desk.run("collection", "migrate", label, "main", there).stderr
    assert "PERDURE_ORIGIN_KEY" in desk.run("collection", "migrate", label, there, "main").stderr
    key = {"PERDURE_ORIGIN_KEY": "perdure_x"}
    unsafe = desk.run("collection", "migrate", label, there.replace("https", "http"), "main", env=key)
    assert "could read the key" in unsafe.stderr
    wrong = desk.run("collection", "migrate", label, "https://id.example.org/main", "main", env=key)
    assert "is not the address of a collection" in wrong.stderr
