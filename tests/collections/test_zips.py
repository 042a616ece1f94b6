"""Zip files: those that items are stored from, those that items are written to, and hostile ones."""

import stat
import struct
import tracemalloc
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from tests.collections.judge import judge
from tests.collections.samples import ANNA, LABEL

from perdure.collections.hashed_copy import ReadFailed
from perdure.collections.source_files import LocalFile, list_directory
from perdure.collections.storage_root import StorageRoot
from perdure.collections.zip_reader import ZipEntry, open_zip
from perdure.collections.zip_writer import stream_zip
from perdure.errors import ItemDamaged, RefusedFile


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "files.zip"


def _write(file: Path, *entries: tuple[str | zipfile.ZipInfo, bytes], compression: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, content in entries:
            archive.writestr(name, content)


def _refuse(root: StorageRoot, file: Path) -> RefusedFile:
    with pytest.raises(RefusedFile) as refused, open_zip(file) as entries:
        root.put_version(LABEL, entries, agent=ANNA)
    assert not root.has_item(LABEL)
    return refused.value


def test_the_files_of_a_zip_file_become_an_item(root: StorageRoot, file: Path) -> None:
    _write(file, ("maps/", b""), ("maps/ä.tif", b"map"), ("thesis.pdf", b"%PDF" * 200_000))
    with open_zip(file) as entries:
        version = root.put_version(LABEL, entries, agent=ANNA)
    assert {path: one.size for path, one in version.files.items()} == {"maps/ä.tif": 3, "thesis.pdf": 800_000}
    assert judge(root) == 1


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "nul",
        "a/CON.txt",
        "C:\\x",
        "C:/x",
        "a\\..\\x",
        "a\x00b",
        "a\nb",
        "a//b",
        "trailing.",
    ],
)
def test_a_name_that_is_not_safe_is_refused(root: StorageRoot, file: Path, name: str) -> None:
    info = zipfile.ZipInfo("placeholder")
    info.filename = name
    _write(file, ("good", b"good"), (info, b"bad"))
    assert _refuse(root, file).path == name


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_links_and_devices_are_refused(root: StorageRoot, file: Path, kind: int) -> None:
    info = zipfile.ZipInfo("link")
    info.external_attr = (kind | 0o777) << 16
    _write(file, (info, b"/etc/passwd"))
    assert _refuse(root, file).path == "link"


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_with_one_name_are_refused(root: StorageRoot, file: Path) -> None:
    _write(file, ("a", b"1"), ("a", b"2"))
    assert _refuse(root, file).path == "a"


def test_a_bomb_is_refused_before_it_is_unpacked(root: StorageRoot, file: Path) -> None:
    _write(file, ("zeros", bytes(100_000_000)))
    assert "unpacks" in _refuse(root, file).reason


def test_an_entry_that_is_larger_than_it_says_is_refused(root: StorageRoot, file: Path) -> None:
    _write(file, ("zeros", bytes(50_000_000)))
    content = bytearray(file.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        at = content.rfind(signature)
        content[at + offset : at + offset + 4] = struct.pack("<I", 1000)
    file.write_bytes(content)
    assert _refuse(root, file).path == "zeros"


def test_damage_encryption_and_other_compressions_are_refused(root: StorageRoot, file: Path) -> None:
    _write(file, ("a", b"good" * 1000), compression=zipfile.ZIP_STORED)
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"goodgood", b"goodbad!", 1))
    assert _refuse(root, file).path == "a"
    encrypted = bytearray(whole)
    encrypted[encrypted.rfind(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(encrypted)
    assert _refuse(root, file).path == "a"
    _write(file, ("a", b"good"), compression=zipfile.ZIP_LZMA)
    assert _refuse(root, file).path == "a"
    for content in (b"", b"PK", whole[:-5], b"GIF89a" * 100, whole[: len(whole) // 2]):
        file.write_bytes(content)
        assert _refuse(root, file).path == "files.zip"


def test_a_byte_that_is_wrong_is_never_an_unexpected_error(root: StorageRoot, file: Path) -> None:
    _write(file, ("a.txt", b"hello" * 50), ("d/ä.txt", b"x"))
    whole = file.read_bytes()
    outcomes = set()
    for at in range(len(whole)):
        for value in (0, 1, 255):
            file.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
            try:
                with open_zip(file) as entries:
                    for entry in entries:
                        _read_entry(entry)
                outcomes.add("read")
            except (RefusedFile, ReadFailed):
                outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def _read_entry(entry: ZipEntry) -> None:
    part = memoryview(bytearray(1000))
    with entry.open() as stream:
        while stream.readinto(part):
            pass


def test_a_million_tiny_files_are_refused_without_reading_them(root: StorageRoot, file: Path) -> None:
    entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * 1_000_000
    for count in (65_535, 1):
        end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, len(directory), 0, 0)
        file.write_bytes(directory + end)
        tracemalloc.start()
        assert "100000" in _refuse(root, file).reason
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
        tracemalloc.stop()


@pytest.mark.parametrize("is_stated", [True, False])
def test_a_second_small_directory_does_not_hide_a_large_one(root: StorageRoot, file: Path, is_stated: bool) -> None:
    entry = struct.pack("<4s6H3I5H2I", b"PK\x01\x02", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    directory = entry * 1_000_000
    small, large = (
        struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, count * len(entry), 0)
        for count in (1, 1_000_000)
    )
    records = small + large if is_stated else large + small
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(directory), 1)
    end = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFF_FFFF, 0xFFFF_FFFF, 0)
    file.write_bytes(directory + records + locator + end)
    tracemalloc.start()
    assert "100000" in _refuse(root, file).reason
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_a_large_zip_file_is_read(root: StorageRoot, file: Path) -> None:
    _write(file, *((f"{number}", b"") for number in range(70_000)), compression=zipfile.ZIP_STORED)
    with open_zip(file) as entries:
        assert len(entries) == 70_000


def test_a_version_is_streamed_as_a_zip_file(root: StorageRoot, source: Path) -> None:
    (source / "empty").touch()
    version = root.put_version(LABEL, list_directory(source), agent=ANNA)
    chunks = list(stream_zip(version))
    with zipfile.ZipFile(BytesIO(b"".join(chunks))) as archive:
        assert archive.testzip() is None
        assert {info.filename: info.file_size for info in archive.infolist()} == {
            path: file.size for path, file in version.files.items()
        }
        assert archive.read("maps/Amazon? 1=1.tif") == b"map"
    assert b"".join(stream_zip(version)) == b"".join(chunks)


def test_a_zip_file_is_not_held_in_memory(root: StorageRoot, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(bytes(30_000_000))
    version = root.put_version(LABEL, [LocalFile("large", tmp_path / "large")], agent=ANNA)
    tracemalloc.start()
    assert sum(map(len, stream_zip(version))) > 30_000_000
    assert tracemalloc.get_traced_memory()[1] < 3_000_000
    tracemalloc.stop()


def test_a_zip_file_of_a_damaged_item_is_not_finished(root: StorageRoot, source: Path) -> None:
    version = root.put_version(LABEL, list_directory(source), agent=ANNA)
    file = root.path / LABEL / "v1/content/thesis.pdf"
    file.chmod(0o644)
    file.write_bytes(b"other")
    with pytest.raises(ItemDamaged):
        list(stream_zip(version))
