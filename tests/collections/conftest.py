"""Fixtures for items in collections."""

from pathlib import Path

import pytest
from tests.collections.item_office import ItemOffice
from tests.registry_fixture import Office, locations, office, runner, store_factory

from perdure.collections.storage_root import StorageRoot

__all__ = ["locations", "office", "runner", "store_factory"]


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


@pytest.fixture
def items(office: Office, tmp_path: Path) -> ItemOffice:
    folder = tmp_path / "items"
    folder.mkdir()
    return ItemOffice(office, folder)
