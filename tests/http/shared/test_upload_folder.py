"""An upload counts only what is on disk, belongs to one agent, and is open in one request of all workers."""

import os
import time
from pathlib import Path

import pytest

from perdure.http.shared import upload_folder
from perdure.http.shared.http_errors import NoSuchUpload, TooManyUploads, UploadInUse
from perdure.http.shared.upload_folder import OpenUpload, UploadedItem, UploadFolder

ITEM = UploadedItem("8JMKD3MGP8W/34PGRBS", 1, "https://example.org/items/a/8JMKD3MGP8W/34PGRBS/")


@pytest.fixture
def uploads(tmp_path: Path) -> UploadFolder:
    return UploadFolder(tmp_path / "uploads", 60)


def write(opened: OpenUpload, content: bytes, *, synced: bool = True) -> None:
    opened.write(content)
    if synced:
        opened.sync()


def test_bytes_that_were_put_on_disk_count_in_another_process(uploads: UploadFolder, tmp_path: Path) -> None:
    upload = uploads.create("maria", 6, "", most=1).id
    with uploads.open(upload, "maria") as opened:
        write(opened, b"abc")
    with UploadFolder(tmp_path / "uploads", 60).open(upload, "maria") as opened:
        assert (opened.offset, opened.is_complete) == (3, False)
        write(opened, b"def")
        assert opened.is_complete
        assert opened.content.read_bytes() == b"abcdef"


def test_bytes_that_were_not_put_on_disk_do_not_count(uploads: UploadFolder) -> None:
    upload = uploads.create("maria", 6, "", most=1).id
    with uploads.open(upload, "maria") as opened:
        write(opened, b"abcdef", synced=False)
    assert uploads.read(upload, "maria")[1] == 0
    with uploads.open(upload, "maria") as opened:
        write(opened, b"ABCDEF")
        assert opened.content.read_bytes() == b"ABCDEF"


def test_discarded_bytes_are_overwritten(uploads: UploadFolder) -> None:
    upload = uploads.create("maria", 4, "", most=1).id
    with uploads.open(upload, "maria") as opened:
        write(opened, b"ab")
        write(opened, b"xx", synced=False)
        opened.discard()
        write(opened, b"cd")
        assert opened.content.read_bytes() == b"abcd"


def test_another_agent_does_not_find_an_upload(uploads: UploadFolder) -> None:
    upload = uploads.create("maria", 6, "", most=1).id
    with pytest.raises(NoSuchUpload):
        uploads.read(upload, "ana")
    with pytest.raises(NoSuchUpload), uploads.open(upload, "ana"):
        pass


@pytest.mark.parametrize("name", ["", "..", "lock", "../" * 3 + "x", "0" * 32, "A" * 32, "0" * 33])
def test_no_other_path_is_an_upload(uploads: UploadFolder, name: str) -> None:
    uploads.create("maria", 6, "", most=1)
    with pytest.raises(NoSuchUpload):
        uploads.read(name, "maria")


def test_an_upload_is_open_once(uploads: UploadFolder, tmp_path: Path) -> None:
    upload = uploads.create("maria", 6, "", most=1).id
    again = UploadFolder(tmp_path / "uploads", 60).open(upload, "maria")
    with uploads.open(upload, "maria"), pytest.raises(UploadInUse), again:
        pass


def test_the_unfinished_uploads_of_an_agent_are_bounded(uploads: UploadFolder) -> None:
    first = uploads.create("maria", 6, "", most=2).id
    uploads.create("maria", 7, "", most=2)
    uploads.create("ana", 8, "", most=2)
    assert uploads.reserved_bytes("maria") == 13
    with pytest.raises(TooManyUploads):
        uploads.create("maria", 6, "", most=2)
    with uploads.open(first, "maria") as opened:
        opened.remove()
    uploads.create("maria", 6, "", most=2)


def test_a_finished_upload_states_its_item_and_needs_no_room(uploads: UploadFolder) -> None:
    upload = uploads.create("maria", 1, "", most=1).id
    with uploads.open(upload, "maria") as opened:
        write(opened, b"a")
        opened.finish(ITEM)
        assert not opened.content.exists()
    assert uploads.read(upload, "maria")[1:] == (1, ITEM)
    assert uploads.reserved_bytes("maria") == 0
    uploads.create("maria", 1, "", most=1)


def test_an_upload_that_does_not_go_on_is_removed(uploads: UploadFolder, tmp_path: Path) -> None:
    old, new = (uploads.create("maria", 6, "", most=2).id for _ in range(2))
    long_ago = time.time() - 61
    os.utime(tmp_path / "uploads" / old / "offset", (long_ago, long_ago))
    uploads.remove_expired()
    assert {one.name for one in (tmp_path / "uploads").iterdir()} == {"lock", "unfinished", new}
    assert [one.name for one in (tmp_path / "uploads" / "unfinished").iterdir()] == [new]


def test_an_upload_in_use_is_not_removed(uploads: UploadFolder, tmp_path: Path) -> None:
    upload = uploads.create("maria", 6, "", most=2).id
    long_ago = time.time() - 61
    os.utime(tmp_path / "uploads" / upload / "offset", (long_ago, long_ago))
    with uploads.open(upload, "maria"):
        uploads.remove_expired()
    assert (tmp_path / "uploads" / upload).exists()


def test_what_a_crash_left_of_a_creation_is_removed(uploads: UploadFolder, tmp_path: Path) -> None:
    uploads.create("maria", 6, "", most=2)
    (tmp_path / "uploads" / ("0" * 32 + ".new")).mkdir()
    uploads.remove_expired()
    assert not (tmp_path / "uploads" / ("0" * 32 + ".new")).exists()


def test_what_a_crash_left_of_a_removal_is_removed(uploads: UploadFolder, tmp_path: Path) -> None:
    upload = uploads.create("maria", 6, "", most=2).id
    (tmp_path / "uploads" / upload / "upload.json").unlink()
    (tmp_path / "uploads" / "unfinished" / ("0" * 32)).touch()
    uploads.remove_expired()
    assert {one.name for one in (tmp_path / "uploads").rglob("*")} == {"lock", "unfinished"}


def test_finished_uploads_cost_no_time_when_another_one_begins(
    uploads: UploadFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        with uploads.open(uploads.create("maria", 0, "", most=1).id, "maria") as opened:
            opened.finish(ITEM)
    read: list[Path] = []
    monkeypatch.setattr(upload_folder, "_read_upload", read.append)
    uploads.create("maria", 6, "", most=1)
    assert (uploads.reserved_bytes("ana"), len(read)) == (0, 1)


def test_only_the_owner_of_the_folder_can_read_uploads(uploads: UploadFolder, tmp_path: Path) -> None:
    upload = uploads.create("maria", 6, "", most=1).id
    modes = [one.stat().st_mode & 0o077 for one in (tmp_path / "uploads", tmp_path / "uploads" / upload / "content")]
    assert modes == [0, 0]
