"""Creation of collections, and changes of their addresses."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from perdure.collections.address_change import CollectionSource, pending_address, put_pending_address
from perdure.collections.addresses import check_address
from perdure.collections.held_items import require_collection, require_known_collection
from perdure.collections.storage_root import StorageRoot
from perdure.errors import Conflict, InvalidInput, NotACollection, quote_text
from perdure.registry.bulk_changes import BulkRequest, BulkStep, run_bulk_change
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event
from perdure.registry.holdings import Collection, CollectionTotals
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


class CollectionOverview(NamedTuple):
    """A collection, and what it holds."""

    collection: Collection
    totals: CollectionTotals


async def create_collection(registry: Registry, by: Agent, name: str, path: Path, url: str) -> Collection:
    """Create a collection in a new or empty directory, or take over a directory that is one already."""
    if _NAME.fullmatch(name) is None:
        reason = f"a name has lower-case letters, digits and hyphens, at most 63, not {quote_text(name)}"
        raise InvalidInput("collection", "name", reason)
    directory = path.absolute().resolve()
    collection = Collection(name, str(directory), check_address(url), registry.current_time())
    await registry.store.read(lambda reader: _check_new(registry, reader, by, collection))
    await asyncio.to_thread(_create_root, directory)

    def work(tx: Transaction) -> None:
        _check_new(registry, tx, by, collection)
        tx.put_collection(collection)
        tx.put_event(
            Event(collection.created, by.id, "collection create", name, f"{collection.path}, {collection.url}")
        )

    await registry.store.write(work)
    return collection


def _create_root(directory: Path) -> None:
    try:
        StorageRoot.create(directory)
    except NotACollection:
        StorageRoot.open(directory)  # raises for a directory with anything else in it


def _check_new(registry: Registry, reader: Reader, by: Agent, collection: Collection) -> None:
    require_permission(reader, by, "admin", WHOLE_REGISTRY, registry.current_time())
    path = Path(collection.path)
    for other in reader.collections():
        if other.name == collection.name:
            raise Conflict(collection.name, "a new name", f"a collection in {other.path}")
        if _overlap(path, other):
            raise InvalidInput("collection", "path", f"{path} and {other.path}, of {other.name}, are not apart")
        _check_url(collection, other)


def _overlap(path: Path, other: Collection) -> bool:
    """Return whether a directory is inside that of another collection, or around it."""
    return not other.is_elsewhere and (path.is_relative_to(other.path) or Path(other.path).is_relative_to(path))


def _check_url(collection: Collection, other: Collection) -> None:
    if collection.url is not None and collection.url == other.url:
        raise InvalidInput("collection", "url", f"{collection.url} is the address of the collection {other.name}")


async def change_address(registry: Registry, by: Agent, name: str, url: str) -> AsyncIterator[BulkStep]:
    """Give a collection another address, and change all targets as one bulk change. Yield each step of that.

    New items get the new address at once. After an interruption, the same call continues.
    """
    new = check_address(url)

    def work(tx: Transaction) -> str | None:
        now = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, now)
        collection = require_known_collection(tx, name)
        old = pending_address(tx, name)
        if collection.url == new:
            return old
        if old is not None:
            reason = f"the items are still being moved from {old} to {collection.url}: finish that first"
            raise InvalidInput("collection", "url", reason)
        changed = msgspec.structs.replace(collection, url=new)
        for other in tx.collections():
            if other.name != name:
                _check_url(changed, other)
        tx.put_collection(changed)
        put_pending_address(tx, name, collection.url)
        tx.put_event(Event(now, by.id, "collection change", name, f"{collection.url} to {new}"))
        return collection.url

    old = await registry.store.write(work)
    if old is None:
        return
    request = BulkRequest(kind="retarget", names=f"collection {name}", old=f"{old}/", new=f"{new}/")
    refused = 0
    async for step in run_bulk_change(registry, by, request, CollectionSource(name)):
        refused = step.change.refused
        yield step
    if not refused:
        await registry.store.write(lambda tx: put_pending_address(tx, name, None))


async def change_path(registry: Registry, by: Agent, name: str, path: Path) -> Collection:
    """Record that the directory of a collection was moved, for example to another disk."""
    directory = path.absolute().resolve()
    await asyncio.to_thread(StorageRoot.open, directory)

    def work(tx: Transaction) -> Collection:
        now = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, now)
        collection = require_collection(tx, name)
        for other in tx.collections():
            if other.name != name and _overlap(directory, other):
                raise InvalidInput(
                    "collection", "path", f"{directory} and {other.path}, of {other.name}, are not apart"
                )
        changed = msgspec.structs.replace(collection, path=str(directory))
        if changed != collection:
            tx.put_collection(changed)
            tx.put_event(Event(now, by.id, "collection change", name, f"{collection.path} to {changed.path}"))
        return changed

    return await registry.store.write(work)


async def list_collections(registry: Registry) -> list[CollectionOverview]:
    """List all collections, with what each of them holds."""

    def work(reader: Reader) -> list[CollectionOverview]:
        return [CollectionOverview(one, reader.collection_totals(one.name)) for one in reader.collections()]

    return await registry.store.scan(work)


async def find_collection(registry: Registry, name: str) -> CollectionOverview:
    """Return a collection, and what it holds."""

    def work(reader: Reader) -> CollectionOverview:
        collection = require_known_collection(reader, name)
        return CollectionOverview(collection, reader.collection_totals(name))

    return await registry.store.scan(work)
