"""The removal of an item from a collection: first the registry forgets it there, then its files go."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from perdure.collections import item_records
from perdure.collections.held_items import find_item, require_collection
from perdure.collections.storage_root import StorageRoot
from perdure.errors import NoSuchItem
from perdure.registry.entities import Agent
from perdure.registry.holdings import Holding
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction


class Removal(NamedTuple):
    """What was removed: the record, if there was one, and whether there were files."""

    holding: Holding | None
    had_files: bool


async def remove_item(
    registry: Registry, by: Agent, name: str, collection: str, *, last: bool = False, reason: str | None = None
) -> Removal:
    """Remove an item from a collection. The only intact copy stays, unless it was withdrawn, or `last` is given.

    After an interruption, the same call continues.
    """

    def work(tx: Transaction) -> tuple[Holding | None, str, Path]:
        item = find_item(tx, name)
        holding = item_records.record_removal(tx, registry, by, name, collection, last, reason)
        return holding, item.label, Path(require_collection(tx, collection).path)

    holding, label, path = await registry.store.write(work)
    had_files = await asyncio.to_thread(_remove_files, path, label)
    if holding is None and not had_files:
        raise NoSuchItem(name)
    return Removal(holding, had_files)


def _remove_files(path: Path, label: str) -> bool:
    try:
        StorageRoot.open(path).remove_item(label)
    except NoSuchItem:
        return False
    return True
