"""Fixtures for items in collections."""

from pathlib import Path

import pytest
from tests.collections.item_office import ItemOffice
from tests.registry_fixture import Office, locations, office, runner, store_factory

__all__ = ["locations", "office", "runner", "store_factory"]


@pytest.fixture
def items(office: Office, tmp_path: Path) -> ItemOffice:
    folder = tmp_path / "items"
    folder.mkdir()
    return ItemOffice(office, folder)
