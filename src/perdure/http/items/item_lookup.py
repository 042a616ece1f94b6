"""The look-up of an item: its identifier, its holding, and its files on disk."""

from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections.storage_root import StorageRoot, StoredItem
from perdure.errors import InvalidName, NoSuchItem, NoSuchName, Withdrawn
from perdure.http.app_context import AppContext
from perdure.http.items.item_address import ItemAddress, ItemReading
from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.threads import run_in_thread
from perdure.records import record as records
from perdure.registry.holdings import Collection, Holding
from perdure.registry.identifier_lookup import find_located
from perdure.registry.name_keys import locate
from perdure.registry.store_interface import Reader

_GONE: Final = ("withdrawn", "merged")


class FoundItem(NamedTuple):
    """An item in one collection, and the other holdings of its identifier."""

    collection: Collection
    holding: Holding
    others: tuple[Holding, ...]
    name: str  # of the identifier
    reading: ItemReading

    @property
    def label(self) -> str:
        """Return the label under which the item lies in the collection."""
        return self.holding.label


async def find_item(app: AppContext, address: ItemAddress) -> FoundItem:
    """Return the item at an address. Raise NoSuchItem, or Withdrawn if its identifier was withdrawn."""
    return await app.registry.store.read(lambda reader: _find(reader, address))


def _find(reader: Reader, address: ItemAddress) -> FoundItem:
    collection = reader.collection(address.collection)
    if collection is None:
        raise NotFound()
    for reading in address.readings:
        try:
            identifier = find_located(reader, locate(reader, reading.label))
        except (InvalidName, NoSuchName):
            continue
        if identifier is None:
            continue
        holdings = reader.holdings(identifier.subject)
        holding = next((one for one in holdings if one.collection == collection.name), None)
        if holding is None:
            continue
        _check_state(identifier.name, records.decode(identifier.record))
        others = tuple(one for one in holdings if one is not holding)
        return FoundItem(collection, holding, others, identifier.name, reading)
    raise NoSuchItem(address.readings[0].label)


def _check_state(name: str, record: records.Record) -> None:
    stone = record.tombstone
    if record.state in _GONE and stone is not None:
        raise Withdrawn(name, stone.reason, stone.replaced_by)


async def read_stored_item(found: FoundItem) -> StoredItem:
    """Return the versions of an item and their files, as they are on disk."""
    return await run_in_thread(_read_stored_item, Path(found.collection.path), found.label)


def _read_stored_item(root: Path, label: str) -> StoredItem:
    return StorageRoot.open(root).read_item(label)
