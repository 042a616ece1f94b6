"""Items in a collection: new ones, versions, files, and what ocfl-py says about them."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from tests.collections.judge import judge
from tests.collections.samples import ANNA, LABEL

from perdure.collections.item import Agent
from perdure.collections.source_files import LocalFile, StreamedFile, list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.errors import ItemBusy, NoSuchFile, NoSuchItem, NoSuchVersion, NotACollection, OutOfRange, RefusedFile

OPAQUE = "8JMKD3MGP8W/34PGRBS"


def test_a_new_collection_is_a_valid_storage_root(root: StorageRoot) -> None:
    assert judge(root) == 0
    assert list(root.items()) == []


def test_a_directory_is_stored_as_an_item(root: StorageRoot, source: Path) -> None:
    version = root.put_version(LABEL, list_directory(source), agent=ANNA, message="first")
    assert (version.number, version.message, version.agent) == (1, "first", ANNA)
    assert {path: file.size for path, file in version.files.items()} == {
        "copy.tif": 3,
        "maps/Amazon? 1=1.tif": 3,
        "thesis.pdf": 400_000,
    }
    assert version.files["thesis.pdf"].media_type == "application/pdf"
    assert (root.path / LABEL / "v1" / "content" / "thesis.pdf").read_bytes() == b"%PDF" * 100_000
    assert judge(root) == 1


def test_content_that_occurs_twice_is_stored_once(root: StorageRoot, source: Path) -> None:
    root.put_version(LABEL, list_directory(source), agent=ANNA)
    content = root.path / LABEL / "v1" / "content"
    assert sorted(path.name for path in content.rglob("*")) == ["copy.tif", "thesis.pdf"]
    assert root.open_file(LABEL, "maps/Amazon? 1=1.tif")[0].read_bytes() == b"map"


def test_both_forms_of_labels_are_stored_in_any_case(root: StorageRoot, source: Path) -> None:
    root.put_version(LABEL.replace("sid", "SID"), list_directory(source), agent=ANNA)
    root.put_version(OPAQUE.lower(), list_directory(source), agent=ANNA)
    assert sorted(root.items()) == [OPAQUE, LABEL]
    assert root.read_item(OPAQUE.lower()).label == OPAQUE
    assert judge(root) == 2


def test_a_new_version_leaves_the_old_one_readable(root: StorageRoot, source: Path) -> None:
    root.put_version(LABEL, list_directory(source), agent=ANNA)
    (source / "copy.tif").write_bytes(b"new map")
    root.put_version(LABEL, list_directory(source), agent=Agent("Bruno"), message="a better map")
    item = root.read_item(LABEL)
    assert [version.number for version in item.versions] == [2, 1]
    assert (item.newest.agent, item.newest.message) == (Agent("Bruno"), "a better map")
    assert root.open_file(LABEL, "copy.tif")[0].read_bytes() == b"new map"
    assert root.open_file(LABEL, "copy.tif", 1)[0].read_bytes() == b"map"
    assert [path.name for path in (root.path / LABEL / "v2" / "content").iterdir()] == ["copy.tif"]
    assert judge(root) == 1


def test_the_same_files_again_make_no_new_version(root: StorageRoot, source: Path) -> None:
    for _ in range(2):
        version = root.put_version(LABEL, list_directory(source), agent=ANNA)
    assert version.number == 1
    assert not (root.path / LABEL / "v2").exists()


def test_a_version_can_extend_the_newest_one(root: StorageRoot, source: Path) -> None:
    root.put_version(LABEL, list_directory(source), agent=ANNA)
    note = LocalFile("note", source / "copy.tif", media_type="text/plain")
    root.put_version(LABEL, [note], agent=ANNA, extends=True, removed=["thesis.pdf"])
    version = root.put_version(LABEL, [StreamedFile("b.txt", BytesIO(b"b"))], agent=ANNA, extends=True)
    assert set(version.files) == {"copy.tif", "maps/Amazon? 1=1.tif", "note", "b.txt"}
    assert version.files["note"].media_type == "text/plain"
    assert judge(root) == 1


def test_what_is_not_there_has_its_own_error(root: StorageRoot, source: Path) -> None:
    with pytest.raises(NoSuchItem):
        root.read_item(LABEL)
    root.put_version(LABEL, list_directory(source), agent=ANNA)
    with pytest.raises(NoSuchVersion):
        root.open_file(LABEL, "copy.tif", 2)
    with pytest.raises(NoSuchFile):
        root.open_file(LABEL, "thesis.PDF")


@pytest.mark.parametrize(
    "path",
    ["../a", "/a", "a//b", "a/./b", "C:a", "a\\b", "nul", "x/COM1.txt", "a.", "a ", "a\nb", "", "\ud800", "a" * 256],
)
def test_a_path_that_is_not_safe_everywhere_is_refused(root: StorageRoot, source: Path, path: str) -> None:
    with pytest.raises(RefusedFile):
        root.put_version(LABEL, [LocalFile(path, source / "copy.tif")], agent=ANNA)
    assert not root.has_item(LABEL)
    assert judge(root) == 0


@pytest.mark.parametrize(
    "paths", [("a", "A"), ("a/b", "A/c"), ("a", "a/b"), ("a/b", "a"), ("é", "e\u0301"), ("a", "a")]
)
def test_paths_that_collide_on_some_system_are_refused(root: StorageRoot, source: Path, paths: tuple[str, ...]) -> None:
    with pytest.raises(RefusedFile):
        root.put_version(LABEL, [LocalFile(path, source / "copy.tif") for path in paths], agent=ANNA)
    assert not root.has_item(LABEL)


def test_symbolic_links_and_pipes_are_refused(root: StorageRoot, source: Path) -> None:
    (source / "link").symlink_to("/etc/passwd")
    with pytest.raises(RefusedFile, match="link"):
        root.put_version(LABEL, list_directory(source), agent=ANNA)
    with pytest.raises(RefusedFile, match="cannot be read"):
        root.put_version(LABEL, [LocalFile("link", source / "link")], agent=ANNA)
    with pytest.raises(RefusedFile, match="regular"):
        root.put_version(LABEL, [LocalFile("null", "/dev/null")], agent=ANNA)
    assert judge(root) == 0


def test_an_item_has_at_least_one_file(root: StorageRoot) -> None:
    with pytest.raises(RefusedFile):
        root.put_version(LABEL, [], agent=ANNA)


def test_a_file_that_is_not_what_its_source_says_is_refused(root: StorageRoot, source: Path) -> None:
    for file in (
        LocalFile("a", source / "copy.tif", digests={"sha256": "0" * 64}),
        LocalFile("a", source / "copy.tif", size=4),
    ):
        with pytest.raises(RefusedFile):
            root.put_version(LABEL, [file], agent=ANNA)


def test_an_item_can_be_limited_in_size(root: StorageRoot, source: Path) -> None:
    with pytest.raises(OutOfRange):
        root.put_version(LABEL, list_directory(source), agent=ANNA, most_bytes=400_005)
    assert root.put_version(LABEL, list_directory(source), agent=ANNA, most_bytes=400_006).number == 1


def test_a_second_writer_of_an_item_waits_and_then_gives_up(root: StorageRoot, source: Path) -> None:
    def second(step: object) -> None:
        with pytest.raises(ItemBusy):
            root.put_version(LABEL, list_directory(source), agent=ANNA, patience=0)
        with pytest.raises(ItemBusy):
            root.remove_item(LABEL, patience=0.01)

    assert root.put_version(LABEL, list_directory(source), agent=ANNA, report=second).number == 1


def test_a_removed_item_leaves_no_directories(root: StorageRoot, source: Path) -> None:
    sibling = "sid.inpe.br/mtc-m18/2010/02.16.17.46"
    for label in (LABEL, sibling):
        root.put_version(label, list_directory(source), agent=ANNA)
    root.remove_item(LABEL)
    assert list(root.items()) == [sibling]
    assert not (root.path / LABEL).parent.exists()
    assert judge(root) == 1
    with pytest.raises(NoSuchItem):
        root.remove_item(LABEL)


class Interruption(BaseException):
    """The end of a process, at a step of its work."""


@pytest.mark.parametrize("step", range(20))
def test_a_creation_that_was_interrupted_is_completed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    steps = iter(range(100))

    def interrupt(original: Callable[..., object]) -> Callable[..., object]:
        def run(path: Path, *arguments: Any, **options: Any) -> object:
            if next(steps) != step:
                return original(path, *arguments, **options)
            if original in (Path.write_bytes, Path.write_text):
                original(path, arguments[0][:3], **options)
            raise Interruption

        return run

    whole = StorageRoot.create(tmp_path / "whole")
    with monkeypatch.context() as patch, suppress(Interruption):
        for name in ("mkdir", "write_bytes", "write_text", "rename"):
            patch.setattr(Path, name, interrupt(getattr(Path, name)))
        StorageRoot.create(tmp_path / "new")
    is_complete = next(steps) <= step
    with pytest.raises(NotACollection) if is_complete else nullcontext():
        StorageRoot.create(tmp_path / "new")
    assert read_tree(tmp_path / "new") == read_tree(whole.path)
    StorageRoot.open(tmp_path / "new")


def read_tree(directory: Path) -> dict[str, bytes | None]:
    paths = directory.rglob("*")
    return {str(path.relative_to(directory)): path.read_bytes() if path.is_file() else None for path in paths}


def test_only_a_collection_is_opened_and_only_an_empty_directory_becomes_one(root: StorageRoot, tmp_path: Path) -> None:
    with pytest.raises(NotACollection):
        StorageRoot.open(tmp_path)
    with pytest.raises(NotACollection):
        StorageRoot.create(root.path)
    assert StorageRoot.open(root.path).path == root.path
