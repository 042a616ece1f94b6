"""The look-up of an item: its identifier, its holding, and its files on disk."""

from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections.held_items import HeldItem
from perdure.collections.held_items import find_item as find_held_item
from perdure.collections.item import StoredItem
from perdure.collections.storage_root import StorageRoot
from perdure.errors import InvalidInput, InvalidName, NoSuchItem, NoSuchName, Withdrawn
from perdure.http.app_context import AppContext
from perdure.http.items.item_address import ItemAddress, ItemReading
from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.threads import run_in_thread
from perdure.registry.holdings import Collection, Holding
from perdure.registry.identifier_view import View, view_identifier
from perdure.registry.store_interface import Reader

_GONE: Final = ("withdrawn", "merged")


class FoundItem(NamedTuple):
    """An item in one collection, and the other holdings of its identifier."""

    collection: Collection
    holding: Holding
    others: tuple[Holding, ...]
    name: str  # of the identifier
    is_registered: bool  # otherwise it is a copy of an item of another server
    reading: ItemReading

    @property
    def label(self) -> str:
        """Return the label under which the item lies in the collection."""
        return self.holding.label


async def find_item(app: AppContext, address: ItemAddress) -> FoundItem:
    """Return the item at an address. Raise NoSuchItem, or Withdrawn if its identifier was withdrawn."""
    return await app.registry.store.read(lambda reader: _find(reader, address))


async def find_view(app: AppContext, found: FoundItem) -> View | None:
    """Return what everyone may see of the identifier; None if it is registered at another server."""
    if not found.is_registered:
        return None
    return await app.registry.store.read(lambda reader: view_identifier(app.registry, reader, found.name, None, None))


def _find(reader: Reader, address: ItemAddress) -> FoundItem:
    collection = reader.collection(address.collection)
    if collection is None or collection.is_elsewhere:
        raise NotFound()
    for reading in address.readings:
        try:
            held = find_held_item(reader, reading.label)
        except (InvalidInput, InvalidName, NoSuchName):
            continue
        holding = held.holding_in(collection.name)
        if holding is not None:
            _check_state(held)
            others = tuple(one for one in held.holdings if one is not holding)
            return FoundItem(collection, holding, others, held.name, held.identifier is not None, reading)
    raise NoSuchItem(address.readings[0].label)


def _check_state(held: HeldItem) -> None:
    record = held.record
    if record is not None and record.state in _GONE and record.tombstone is not None:
        raise Withdrawn(held.name, record.tombstone.reason, record.tombstone.replaced_by)


async def read_stored_item(found: FoundItem) -> StoredItem:
    """Return the versions of an item and their files, as they are on disk."""
    return await run_in_thread(StorageRoot(Path(found.collection.path)).read_item, found.label)
