"""The move of an original from another server into a collection here.

The item is installed with all versions, read again from the disk, and then requested from the other server, which first
compares what this server states that it has. The identifier points to one of the two servers at every moment. After an
interruption, the same call continues.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from perdure.collections.collection_address import CollectionAddress
from perdure.collections.copies import Migration
from perdure.collections.held_items import require_collection
from perdure.collections.installation import install_item
from perdure.collections.original_client import HandedOver, ListedItem, OriginalClient
from perdure.collections.original_records import (
    ComparedVersion,
    OtherServer,
    check_origin,
    find_any_item,
    find_movable_item,
    record_arrival,
)
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Report
from perdure.errors import Conflict, InvalidInput, ItemDamaged, NoSuchItem, PerdureError, StoreUnavailable
from perdure.registry.entities import Agent
from perdure.registry.holdings import Holding
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_ATTEMPTS: Final = 10  # to move an item that is changed at the same time


async def take_original(
    registry: Registry,
    by: Agent,
    name: str,
    origin: CollectionAddress,
    collection: str,
    key: str,
    report: Report | None = None,
) -> Holding:
    """Move the original of an item here, from a collection of another server. `key` is one of an agent there."""

    def check(reader: Reader) -> Holding | None:
        require_collection(reader, collection)
        item = find_movable_item(reader, registry, by, name)
        here = item.holding_in(collection)
        return here if here is not None and here.role == "original" else None

    done = await registry.store.read(check)
    if done is not None:
        return done
    with OriginalClient(origin, key) as client:
        server = await asyncio.to_thread(client.identify)
        if server.server == registry.id:
            reason = f"{origin.url} is a collection of this registry: write its name, {origin.collection}"
            raise InvalidInput("collection", "from", reason)
        await registry.store.read(lambda reader: check_origin(find_movable_item(reader, registry, by, name), server))
        return await _move(registry, by, name, origin, server, collection, client, report)


async def take_all_originals(
    registry: Registry,
    by: Agent,
    origin: CollectionAddress,
    collection: str,
    key: str,
    report: Report | None = None,
) -> AsyncIterator[Migration]:
    """Move every original of a collection of another server here, and yield each item.

    One that cannot be moved does not stop the others.
    """
    with OriginalClient(origin, key) as client:
        server = await asyncio.to_thread(client.identify)
        after: str | None = ""
        while after is not None:
            page = await asyncio.to_thread(client.list_items, after)
            after = page.next
            for one in page.items:
                if not await _is_to_be_moved(registry, one, server):
                    continue
                try:
                    moved = await take_original(registry, by, one.label, origin, collection, key, report)
                    yield Migration(one.label, moved)
                except PerdureError as problem:
                    if isinstance(problem, StoreUnavailable) and problem.safe_to_retry:
                        raise
                    yield Migration(one.label, None, problem)


async def _is_to_be_moved(registry: Registry, listed: ListedItem, server: OtherServer) -> bool:
    """Return whether the original is there, or was handed over to this server and has not arrived."""

    def look_up(reader: Reader) -> Holding | None:
        return find_any_item(reader, listed.label).original

    original = await registry.store.read(look_up)
    if listed.original == registry.id:
        return original is None
    return listed.role == "original" or (original is not None and original.collection == server.collection)


async def _move(
    registry: Registry,
    by: Agent,
    name: str,
    origin: CollectionAddress,
    server: OtherServer,
    collection: str,
    client: OriginalClient,
    report: Report | None,
) -> Holding:
    problem: Conflict | None = None
    before: ComparedVersion | None = None
    for _ in range(_MOST_ATTEMPTS):
        copy = await _install(registry, by, name, origin, collection, report)
        compared = ComparedVersion(copy.version, copy.digest)
        if problem is not None and compared == before:
            raise problem
        before = compared
        await _check_copy(registry, copy, report)
        try:
            handed = await asyncio.to_thread(client.request_original, copy.label, registry.id, compared)
        except Conflict as conflict:
            problem = conflict
            continue
        moved = await _record(registry, by, copy, server, compared, handed)
        if moved is not None:
            return moved
    raise problem or Conflict(name, "an item at rest", "new versions all the time: try again later")


async def _install(
    registry: Registry, by: Agent, name: str, origin: CollectionAddress, collection: str, report: Report | None
) -> Holding:
    """Install what is missing here. What the other server has handed over and removed already is complete."""
    try:
        return await install_item(registry, by, name, collection, origin.url, report)
    except NoSuchItem:

        def look_up(reader: Reader) -> Holding | None:
            return find_movable_item(reader, registry, by, name).holding_in(collection)

        copy = await registry.store.read(look_up)
        if copy is None:
            raise
        return copy


async def _check_copy(registry: Registry, copy: Holding, report: Report | None) -> None:
    """Read the copy from the disk, and compare it with its digests."""
    path = await registry.store.read(lambda reader: Path(require_collection(reader, copy.collection).path))
    check = await run_stoppable(lambda report: StorageRoot.open(path).verify_item(copy.label, report=report), report)
    if not check.is_sound:
        problem = check.problems[0]
        raise ItemDamaged(copy.label, f"in {path}, {problem.path} is {problem.kind}")


async def _record(
    registry: Registry,
    by: Agent,
    copy: Holding,
    server: OtherServer,
    compared: ComparedVersion,
    handed: HandedOver,
) -> Holding | None:
    return await registry.store.write(
        lambda tx: record_arrival(tx, registry, by, copy.label, copy.collection, server, compared, handed.main_file)
    )
