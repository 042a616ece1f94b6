"""Bags: those that items are stored from, those that items are written to, and hostile ones."""

import hashlib
from pathlib import Path

import bagit
import pytest
from tests.collections.judge import judge
from tests.collections.samples import ANNA, LABEL

from perdure.collections.bag_reader import is_bag, read_bag
from perdure.collections.bag_writer import write_bag
from perdure.collections.source_files import LocalFile, list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.errors import InvalidInput, ItemDamaged, RefusedFile


@pytest.fixture
def bag(source: Path) -> Path:
    bagit.make_bag(str(source), {"Contact-Name": "Anna"}, checksums=["sha256", "md5"])
    return source


def test_the_payload_of_a_bag_becomes_an_item(root: StorageRoot, bag: Path) -> None:
    assert is_bag(bag)
    version = root.put_version(LABEL, read_bag(bag), agent=ANNA)
    assert set(version.files) == {"thesis.pdf", "copy.tif", "maps/Amazon? 1=1.tif"}
    assert judge(root) == 1


def test_an_item_becomes_a_bag_that_bagit_calls_valid(root: StorageRoot, source: Path, tmp_path: Path) -> None:
    (source / "100% näive").write_text("x")
    version = root.put_version(LABEL, list_directory(source), agent=ANNA, message="first\nline")
    write_bag(version, tmp_path / "bag")
    bag = bagit.Bag(str(tmp_path / "bag"))
    bag.validate()
    assert bag.info["External-Identifier"] == LABEL
    assert bag.info["Payload-Oxum"] == "400007.4"
    other = "sid.inpe.br/mtc-m18/2010/02.16.17.46"
    again = root.put_version(other, read_bag(tmp_path / "bag"), agent=ANNA)
    assert {path: file.sha512 for path, file in again.files.items()} == {
        path: file.sha512 for path, file in version.files.items()
    }


def test_a_name_that_looks_like_an_escape_survives_a_bag(root: StorageRoot, source: Path, tmp_path: Path) -> None:
    version = root.put_version(LABEL, [LocalFile("a%0Ab%25", source / "copy.tif")], agent=ANNA)
    write_bag(version, tmp_path / "bag")
    assert [file.path for file in read_bag(tmp_path / "bag")] == ["a%0Ab%25"]


def test_a_bag_is_not_written_over_something(root: StorageRoot, source: Path) -> None:
    version = root.put_version(LABEL, list_directory(source), agent=ANNA)
    with pytest.raises(InvalidInput):
        write_bag(version, source)


def test_no_bag_of_a_damaged_item_is_written(root: StorageRoot, source: Path, tmp_path: Path) -> None:
    version = root.put_version(LABEL, list_directory(source), agent=ANNA)
    (root.path / LABEL / "v1/content/copy.tif").unlink()
    with pytest.raises(ItemDamaged):
        write_bag(version, tmp_path / "bag")
    (root.path / LABEL / "v1/content/copy.tif").write_text("no map")
    with pytest.raises(ItemDamaged):
        write_bag(version, tmp_path / "bag")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "theses"]


def _add_line(bag: Path, line: str) -> None:
    for name in ("manifest-sha256.txt", "manifest-md5.txt"):
        with (bag / name).open("a") as manifest:
            manifest.write(line)
    for tags in bag.glob("tagmanifest-*"):
        tags.unlink()


@pytest.mark.parametrize(
    "path", ["data/../../passwd", "/etc/passwd", "data/missing", "bagit.txt", "data/copy.tif/x", "data/nul", "../x"]
)
def test_a_manifest_with_a_path_that_is_no_payload_is_refused(root: StorageRoot, bag: Path, path: str) -> None:
    _add_line(bag, f"{hashlib.sha256(b'').hexdigest()}  {path}\n")
    with pytest.raises(RefusedFile) as refused:
        root.put_version(LABEL, read_bag(bag), agent=ANNA)
    assert refused.value.path == path
    assert not root.has_item(LABEL)


def test_a_changed_payload_is_refused(root: StorageRoot, bag: Path) -> None:
    (bag / "data" / "copy.tif").write_bytes(b"moo")
    with pytest.raises(RefusedFile, match=r"md5|sha256"):
        root.put_version(LABEL, read_bag(bag), agent=ANNA)
    assert not root.has_item(LABEL)


def test_a_payload_that_no_manifest_lists_is_refused(bag: Path) -> None:
    (bag / "data" / "extra").write_bytes(b"")
    with pytest.raises(RefusedFile, match="extra"):
        read_bag(bag)


def test_a_bag_with_files_to_be_fetched_is_refused(bag: Path) -> None:
    (bag / "fetch.txt").write_text("http://169.254.169.254/latest - data/x\n")
    with pytest.raises(RefusedFile, match=r"fetch\.txt"):
        read_bag(bag)


@pytest.mark.parametrize("name", ["data/link", "data", "manifest-sha256.txt", "bag-info.txt"])
def test_symbolic_links_in_a_bag_are_refused(bag: Path, tmp_path: Path, name: str) -> None:
    if (bag / name).exists():
        (bag / name).rename(tmp_path / "elsewhere")
    (bag / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedFile):
        read_bag(bag)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("bag-info.txt", "400006.3", "400007.3"),
        ("bag-info.txt", "Anna", "Bruno"),
        ("bagit.txt", "0.97", "7.0"),
        ("bagit.txt", "UTF-8", "rot13"),
        ("bagit.txt", "BagIt", "Bag"),
        ("manifest-md5.txt", "  data", "data"),
        ("manifest-md5.txt", "data/copy.tif", "data/other.tif"),
    ],
)
def test_a_bag_that_contradicts_itself_is_refused(bag: Path, name: str, old: str, new: str) -> None:
    text = (bag / name).read_text()
    assert old in text
    (bag / name).write_text(text.replace(old, new))
    with pytest.raises(RefusedFile):
        read_bag(bag)


def test_a_manifest_without_line_breaks_is_refused(bag: Path) -> None:
    (bag / "manifest-md5.txt").write_text("0" * 1_000_000)
    with pytest.raises(RefusedFile, match="longer"):
        read_bag(bag)
