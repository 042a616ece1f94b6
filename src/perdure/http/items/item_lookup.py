"""The look-up of an item: its identifier, its holding, and its files on disk."""

from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections.held_items import HeldItem
from perdure.collections.held_items import find_item as find_held_item
from perdure.collections.item import ItemFile, ItemVersion, StoredItem
from perdure.errors import InvalidInput, InvalidName, NoSuchItem, NoSuchName, Withdrawn
from perdure.http.app_context import AppContext
from perdure.http.items.item_address import ItemAddress, ItemReading
from perdure.http.items.stored_file import FileContent, read_small_file
from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.threads import run_in_thread
from perdure.registry.holdings import Collection, Holding
from perdure.registry.identifier_view import View, view_identifier
from perdure.registry.store_interface import Reader

_SMALL: Final = 262_144  # bytes that are read at once
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


class LocatedFile(NamedTuple):
    """A file of an item, and where its content is. `content` has been read already, if it is small."""

    path: Path
    file: ItemFile
    content: FileContent | None


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


async def read_version(app: AppContext, found: FoundItem, number: int | None) -> tuple[StoredItem, ItemVersion]:
    """Return the item as it is on disk, and one of its versions; the newest one without a number."""

    def read() -> tuple[StoredItem, ItemVersion]:
        item = app.items.read_item(Path(found.collection.path), found.label)
        return item, item.version(number)

    return await run_in_thread(read)


async def read_file(app: AppContext, found: FoundItem, number: int | None) -> LocatedFile:
    """Return the file at the address, in a version of its item; with its content, if it is small."""

    def read() -> LocatedFile:
        root = Path(found.collection.path)
        version = app.items.read_item(root, found.label).version(number)
        path, file = version.find_file(found.reading.path or "")
        content = read_small_file(root, path, _SMALL) if file.size <= _SMALL else None
        return LocatedFile(path, file, content)

    return await run_in_thread(read)
