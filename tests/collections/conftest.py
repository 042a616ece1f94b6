"""A new collection, and a directory to be stored in it."""

from pathlib import Path

import pytest

from perdure.collections.storage_root import StorageRoot


@pytest.fixture
def root(tmp_path: Path) -> StorageRoot:
    return StorageRoot.create(tmp_path / "theses")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    directory = tmp_path / "source"
    (directory / "maps").mkdir(parents=True)
    (directory / "thesis.pdf").write_bytes(b"%PDF" * 100_000)
    (directory / "maps" / "Amazon? 1=1.tif").write_bytes(b"map")
    (directory / "copy.tif").write_bytes(b"map")
    return directory
