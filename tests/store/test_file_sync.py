"""Files in the folder of a registry belong to the owner of the folder, also if root has written them."""

import os
from pathlib import Path

import pytest

from perdure.errors import StoreUnavailable
from perdure.store.file_sync import open_as_folder_owner, write_atomically
from perdure.store.high_water import HighWater

OWNER = 65534  # any user that is not root

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@needs_root
def test_a_file_of_root_is_given_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    os.chown(tmp_path, OWNER, OWNER)
    write_atomically(tmp_path / "replaced", "text", 0o600)
    os.close(open_as_folder_owner(tmp_path / "lock", os.O_RDWR | os.O_CREAT, 0o600))
    for name in ("replaced", "lock"):
        status = (tmp_path / name).stat()
        assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (OWNER, OWNER, 0o600)


@needs_root
def test_a_file_of_another_user_keeps_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    file.touch()
    os.chown(file, OWNER, OWNER)
    os.close(open_as_folder_owner(file, os.O_RDWR | os.O_CREAT, 0o600))
    assert file.stat().st_uid == OWNER


def test_an_unreadable_high_water_mark_names_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)  # root can read every file
    with pytest.raises(StoreUnavailable, match=r"permission denied.*owns the folder.*chown"):
        HighWater(tmp_path / "high-water.json")
