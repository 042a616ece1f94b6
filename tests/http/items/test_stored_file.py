"""A file is opened only if every step to it is a real directory of the collection."""

import os
from pathlib import Path

import pytest

from perdure.errors import StoreDamaged
from perdure.http.items.stored_file import open_stored_file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "collection"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("content")
    return root


def test_a_file_is_read(root: Path) -> None:
    with open_stored_file(root, root / "a" / "b" / "file") as file:
        assert (file.size, file.read(3, 100)) == (7, b"tent")


def test_a_link_instead_of_the_file_is_refused(root: Path) -> None:
    (root / "a" / "link").symlink_to(root.parent / "secret")
    with pytest.raises(StoreDamaged):
        open_stored_file(root, root / "a" / "link")


def test_a_link_instead_of_a_directory_is_refused(root: Path) -> None:
    (root / "c").symlink_to(root / "a")
    with pytest.raises(StoreDamaged):
        open_stored_file(root, root / "c" / "b" / "file")


def test_a_path_out_of_the_collection_is_refused(root: Path) -> None:
    with pytest.raises(StoreDamaged):
        open_stored_file(root, root / "a" / ".." / ".." / "secret")


def test_a_pipe_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "a" / "pipe")
    with pytest.raises(StoreDamaged):
        open_stored_file(root, root / "a" / "pipe")


def test_a_collection_may_be_reached_through_a_link(root: Path) -> None:
    (root.parent / "other").symlink_to(root)
    other = root.parent / "other"
    with open_stored_file(other, other / "a" / "b" / "file") as file:
        assert file.size == 7
