"""Copies of items into another collection: complete, continued after an interruption, and compared."""

from io import BytesIO
from pathlib import Path

import pytest
from tests.collections.judge import judge
from tests.collections.samples import ANNA, LABEL

from perdure.collections.source_files import LocalFile, StreamedFile, list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Step
from perdure.errors import Conflict, ItemDamaged, NoSuchItem


@pytest.fixture
def copy(tmp_path: Path) -> StorageRoot:
    return StorageRoot.create(tmp_path / "mirror")


@pytest.fixture
def item(root: StorageRoot, source: Path) -> Path:
    root.put_version(
        LABEL, [*list_directory(source), LocalFile("note", source / "copy.tif", media_type="text/plain")], agent=ANNA
    )
    _add_version(root, source, "second")
    return root.path / LABEL


def _add_version(root: StorageRoot, source: Path, content: str) -> None:
    (source / "copy.tif").write_text(content)
    root.put_version(LABEL, [LocalFile("copy.tif", source / "copy.tif")], agent=ANNA, extends=True, message=content)


def _files(directory: Path) -> dict[str, bytes]:
    return {str(file.relative_to(directory)): file.read_bytes() for file in directory.rglob("*") if file.is_file()}


def test_a_copy_has_all_versions(root: StorageRoot, item: Path, copy: StorageRoot) -> None:
    stored = copy.copy_item(LABEL, root)
    assert [version.message for version in stored.versions] == ["second", ""]
    assert stored.newest.files["note"].media_type == "text/plain"
    assert _files(copy.path / LABEL) == _files(item)
    assert judge(copy) == 1


def test_later_versions_are_added_to_a_copy(root: StorageRoot, item: Path, copy: StorageRoot, source: Path) -> None:
    copy.copy_item(LABEL, root)
    for content in ("third", "fourth"):
        _add_version(root, source, content)
    copy.copy_item(LABEL, root)
    copy.copy_item(LABEL, root)
    assert _files(copy.path / LABEL) == _files(item)
    assert judge(copy) == 1


def test_a_copy_that_was_interrupted_is_continued(root: StorageRoot, item: Path, copy: StorageRoot) -> None:
    def interrupt(step: Step) -> None:
        if step.files == 2:
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            copy.copy_item(LABEL, root, report=interrupt)
        assert not copy.has_item(LABEL)
        assert judge(copy) == 0
    (first,) = copy.path.glob("extensions/perdure-collection/staging/*/object/v1/content/copy.tif")
    before = first.stat().st_ino
    StorageRoot.open(copy.path).copy_item(LABEL, root)
    assert (copy.path / LABEL / "v1/content/copy.tif").stat().st_ino == before
    assert judge(copy) == 1


def test_what_an_interrupted_copy_has_left_is_not_trusted(root: StorageRoot, item: Path, copy: StorageRoot) -> None:
    def interrupt(step: Step) -> None:
        if step.files == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy.copy_item(LABEL, root, report=interrupt)
    (stage,) = copy.path.glob("extensions/perdure-collection/staging/*/object")
    (stage / "v1/content/copy.tif").chmod(0o644)
    (stage / "v1/content/copy.tif").write_text("moo")
    (stage / "v1/content/extra").write_text("extra")
    copy.copy_item(LABEL, root)
    assert _files(copy.path / LABEL) == _files(item)


def test_a_damaged_item_is_not_copied(root: StorageRoot, item: Path, copy: StorageRoot) -> None:
    (item / "v1/content/copy.tif").chmod(0o644)
    (item / "v1/content/copy.tif").write_bytes(b"moo")
    with pytest.raises(ItemDamaged, match="digest"):
        copy.copy_item(LABEL, root)
    (item / "v1/content/copy.tif").unlink()
    with pytest.raises(ItemDamaged, match="does not have"):
        copy.copy_item(LABEL, root)
    assert not copy.has_item(LABEL)


def test_two_histories_are_never_mixed(root: StorageRoot, item: Path, copy: StorageRoot, source: Path) -> None:
    copy.copy_item(LABEL, root)
    _add_version(copy, source, "mine")
    with pytest.raises(Conflict):
        copy.copy_item(LABEL, root)
    _add_version(root, source, "theirs")
    with pytest.raises(Conflict):
        copy.copy_item(LABEL, root)
    assert judge(copy) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LABEL, "sid.inpe.br/mtc-m18/2010/02.16.17.46"),
        ('"v1/content/copy.tif"', '"v1/content/../../../../../etc/passwd"'),
        ('"v1/content/copy.tif"', '"v1/content/nul"'),
        ('"note"', '"../note"'),
        ('"note"', '"THESIS.pdf"'),
        ('"head": "v2"', '"head": "v3"'),
        ("sha512", "md5"),
    ],
)
def test_a_source_that_lies_is_refused(root: StorageRoot, item: Path, copy: StorageRoot, old: str, new: str) -> None:
    from perdure.collections.inventory import encode_sidecar

    for directory in (item, item / "v1", item / "v2"):
        content = (directory / "inventory.json").read_text().replace(old, new).encode()
        (directory / "inventory.json").write_bytes(content)
        (directory / "inventory.json.sha512").write_bytes(encode_sidecar(content))

    class Source:
        def open(self, path: str) -> object:
            return (item / path).open("rb", buffering=0)

    with pytest.raises((ItemDamaged, ValueError)):
        copy.copy_item(LABEL, Source())  # type: ignore[arg-type]
    assert not copy.has_item(LABEL)
    assert judge(copy) == 0


@pytest.mark.parametrize(
    "path",
    [
        "d/" * 31 + "f",  # as many directories as there can be
        "/".join(["d" * 203] * 5),  # as long as a path can be
        "?" * 42,  # as long as a name can be, with its escapes
        "/".join(["é?" * 10] * 20),  # longer than other paths, with its escapes
        "/".join(["?" * 30] * 11),
    ],
)
def test_every_name_that_an_item_can_have_can_be_copied(root: StorageRoot, copy: StorageRoot, path: str) -> None:
    root.put_version(LABEL, [StreamedFile(path, BytesIO(b"1"))], agent=ANNA)
    copy.copy_item(LABEL, root)
    assert list(copy.read_item(LABEL).newest.files) == [path]
    assert copy.verify_item(LABEL).is_sound
    assert judge(copy) == 1


def test_an_item_that_is_not_there_cannot_be_copied(root: StorageRoot, copy: StorageRoot) -> None:
    with pytest.raises(NoSuchItem):
        copy.copy_item(LABEL, root)
