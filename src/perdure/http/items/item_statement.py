"""What this server stores of an item, as it states it to another server that is about to hand over the original."""

from typing import Final

from perdure.collections.held_items import HeldItem, find_item
from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.federation.statements import ItemStatement, StoredCopy
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_STORED: Final = 100


def build_item_statement(registry: Registry, reader: Reader, name: str) -> ItemStatement:
    """Return which collections of this server have an item, without those where it is damaged."""
    item = _find(reader, name)
    stored = tuple(
        StoredCopy(collection=one.collection, state=one.role, version=one.version, digest=one.digest)
        for one in (() if item is None else item.holdings)
        if not one.is_elsewhere and one.outcome in (None, "valid")
    )
    is_owner = item is not None and item.identifier is not None
    return ItemStatement(
        server=registry.id, time=registry.current_time(), name=name, stored=stored[:_MOST_STORED], owner=is_owner
    )


def _find(reader: Reader, name: str) -> HeldItem | None:
    try:
        return find_item(reader, name)
    except (InvalidInput, InvalidName, NoSuchName):
        return None
