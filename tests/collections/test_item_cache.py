"""The cache of items: one inventory is parsed once, and again as soon as it has changed."""

from io import BytesIO
from pathlib import Path

import pytest
from tests.collections.samples import ANNA, LABEL

from perdure.collections import item_cache
from perdure.collections.item_cache import ItemCache
from perdure.collections.source_files import StreamedFile
from perdure.collections.storage_root import StorageRoot
from perdure.errors import NoSuchItem

OTHER = "sid.inpe.br/mtc-m18/2009/02.16.17.47"


def put(root: StorageRoot, label: str, content: bytes) -> None:
    root.put_version(label, [StreamedFile("a.txt", BytesIO(content))], agent=ANNA)


@pytest.fixture
def parsed_labels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the labels of the items that were parsed."""
    labels: list[str] = []

    class CountingRoot(StorageRoot):
        def read_item(self, label: str):  # type: ignore[no-untyped-def]
            labels.append(label)
            return super().read_item(label)

    monkeypatch.setattr(item_cache, "StorageRoot", CountingRoot)
    return labels


def test_an_item_is_parsed_once(root: StorageRoot, parsed_labels: list[str]) -> None:
    put(root, LABEL, b"one")
    cache = ItemCache()
    items = [cache.read_item(root.path, LABEL) for _ in range(3)]
    assert parsed_labels == [LABEL]
    assert items[0].newest.files["a.txt"].size == 3


def test_a_new_version_is_seen_at_once(root: StorageRoot) -> None:
    cache = ItemCache()
    for number, content in enumerate([b"one", b"two", b"three"], 1):
        put(root, LABEL, content)
        newest = cache.read_item(root.path, LABEL).newest
        assert (newest.number, newest.files["a.txt"].size) == (number, len(content))


def test_a_removed_item_is_gone(root: StorageRoot) -> None:
    put(root, LABEL, b"one")
    cache = ItemCache()
    cache.read_item(root.path, LABEL)
    root.remove_item(LABEL)
    with pytest.raises(NoSuchItem):
        cache.read_item(root.path, LABEL)


def test_the_least_used_item_makes_room(root: StorageRoot, parsed_labels: list[str]) -> None:
    put(root, LABEL, b"one")
    put(root, OTHER, b"two")
    size = Path(root.path, LABEL, "inventory.json").stat().st_size
    cache = ItemCache(most_bytes=size + size // 2)
    for label in (LABEL, OTHER, OTHER, LABEL):
        cache.read_item(root.path, label)
    assert parsed_labels == [LABEL, OTHER, LABEL]
