"""A cache of what is known of items, so that not every download parses the whole inventory of its item again.

An item is read again as soon as one of the files that describe it has changed.
"""

import os
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections.collection_paths import CollectionPaths
from perdure.collections.inventory import INVENTORY, SIDECAR
from perdure.collections.item import StoredItem
from perdure.collections.storage_root import StorageRoot

MOST_BYTES: Final = 32 << 20  # of inventories, as they are on disk

_State = tuple[tuple[int, int, int, int], ...]  # of each file: its number, its size, and when it was changed


class _Entry(NamedTuple):
    item: StoredItem
    state: _State
    size: int


class ItemCache:
    """The items that were read last, in any thread. The size is bounded, and the least used item is removed first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._entries: OrderedDict[tuple[Path, str], _Entry] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read_item(self, root: Path, label: str) -> StoredItem:
        """Return an item of a collection, as it is on disk now. Raise NoSuchItem if the collection does not hold it."""
        key = (root, label)
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
        if entry is not None and _read_state(entry.item.directory) == entry.state:
            return entry.item
        state = _read_state(CollectionPaths(root).item(label))  # before the item: what changes meanwhile is read again
        item = StorageRoot(root).read_item(label)
        self._store(key, None if state is None else _Entry(item, state, state[0][1]))
        return item

    def _store(self, key: tuple[Path, str], entry: _Entry | None) -> None:
        with self._lock:
            before = self._entries.pop(key, None)
            self._size -= 0 if before is None else before.size
            if entry is None or entry.size > self._most_bytes:
                return
            self._entries[key] = entry
            self._size += entry.size
            while self._size > self._most_bytes:
                self._size -= self._entries.popitem(last=False)[1].size


def _read_state(directory: Path) -> _State | None:
    """Return the state of the files that describe an item; None if one of them cannot be found."""
    try:
        found = [os.stat(os.path.join(directory, name)) for name in (INVENTORY, SIDECAR)]
    except OSError:
        return None
    return tuple((one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for one in found)
