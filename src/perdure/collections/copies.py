"""Copies of items in other collections of the registry, and the move of an original."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final, NamedTuple

from perdure.collections import item_records
from perdure.collections.held_items import HeldItem, find_item, require_collection
from perdure.collections.item import StoredItem
from perdure.collections.item_content import ItemContent, summarize_content
from perdure.collections.item_records import NewContent
from perdure.collections.removal import remove_item
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Report
from perdure.errors import Conflict, InvalidInput, ItemDamaged, NoSuchItem, PerdureError, StoreUnavailable
from perdure.registry.entities import Agent
from perdure.registry.holdings import Holding
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_MOST_ATTEMPTS: Final = 10  # to move an item that is changed at the same time
_CHUNK: Final = 500


class Migration(NamedTuple):
    """One item of a move: the holding that has the original now, or why it could not be moved."""

    name: str
    holding: Holding | None
    problem: PerdureError | None = None


class _Transfer(NamedTuple):
    """An item, what the collection of origin holds of it, and the directories of both collections."""

    item: HeldItem
    holding: Holding
    origin: Path
    to: Path


async def copy_item(
    registry: Registry, by: Agent, name: str, origin: str, to: str, report: Report | None = None
) -> Holding:
    """Copy an item with all its versions. A copy that exists gets the versions that it lacks."""
    transfer = await registry.store.read(lambda reader: _prepare(registry, reader, by, name, origin, to))
    _refuse_damaged(transfer.item, to)
    content = await _copy(transfer, report)
    new = NewContent(to, content, transfer.holding.main_file, f"collection {origin}")
    return await registry.store.write(lambda tx: item_records.record_copy(tx, registry, by, transfer.item, new))


async def migrate_item(
    registry: Registry,
    by: Agent,
    name: str,
    origin: str,
    to: str,
    *,
    remove_source: bool = False,
    report: Report | None = None,
) -> Holding:
    """Move the original of an item to another collection. What was the original becomes a copy, or is removed.

    All digests are compared on both sides before the identifier points to the new collection. It points to one of them
    at every moment. After an interruption, the same call continues. A damaged original can move to an intact copy.
    """
    holding = await _find_migrated(registry, by, name, origin, to, remove_source)
    for _ in range(_MOST_ATTEMPTS):
        if holding is not None:
            break
        await _copy_if_readable(registry, by, name, origin, to, report)
        transfer = await registry.store.read(lambda reader: _prepare(registry, reader, by, name, origin, to))
        content = await run_stoppable(lambda report, one=transfer: _compare(one, report), report)  # type: ignore[misc]
        if content is not None:
            holding = await registry.store.write(
                lambda tx, content=content: item_records.record_migration(  # type: ignore[misc]
                    tx, registry, by, name, origin, to, content
                )
            )
    if holding is None:
        raise Conflict(name, "an item at rest", "new versions all the time: try again later")
    if remove_source:
        await remove_item(registry, by, name, origin, reason=f"moved to {to}")
    return holding


async def migrate_all(
    registry: Registry,
    by: Agent,
    origin: str,
    to: str,
    *,
    remove_source: bool = False,
    report: Report | None = None,
) -> AsyncIterator[Migration]:
    """Move every original of a collection, and yield each item. One that cannot be moved does not stop the others."""
    key = ""
    while holdings := await registry.store.read(
        lambda reader, key=key: reader.holdings_after(origin, key, _CHUNK)  # type: ignore[misc]
    ):
        for one in holdings:
            if one.role == "copy" and not (remove_source and await _was_moved(registry, one, to)):
                continue
            try:
                moved = await migrate_item(
                    registry, by, one.label, origin, to, remove_source=remove_source, report=report
                )
                yield Migration(one.label, moved)
            except PerdureError as problem:
                if isinstance(problem, StoreUnavailable) and problem.safe_to_retry:
                    raise
                yield Migration(one.label, None, problem)
        key = holdings[-1].subject


async def _was_moved(registry: Registry, holding: Holding, to: str) -> bool:
    """Return whether a copy was the original until that was moved to a collection: both roles began together."""
    others = await registry.store.read(lambda reader: reader.holdings(holding.subject))
    return any((one.collection, one.role, one.role_since) == (to, "original", holding.role_since) for one in others)


def _prepare(registry: Registry, reader: Reader, by: Agent, name: str, origin: str, to: str) -> _Transfer:
    if origin == to:
        raise InvalidInput("collection", "to", f"{origin} and {to} are the same collection: name another one")
    both = require_collection(reader, origin), require_collection(reader, to)
    item = find_item(reader, name)
    item.require_permission(reader, by, "edit", registry.current_time())
    item_records.refuse_withdrawn(item)
    return _Transfer(item, item.require_holding(origin), Path(both[0].path), Path(both[1].path))


async def _find_migrated(
    registry: Registry, by: Agent, name: str, origin: str, to: str, remove_source: bool
) -> Holding | None:
    """Return the holding of the original if an earlier call has moved it already. Refuse what may not be done."""

    def look_up(reader: Reader) -> Holding | None:
        require_collection(reader, origin)
        require_collection(reader, to)
        item = find_item(reader, name)
        for action in ("edit", "withdraw") if remove_source else ("edit",):
            item.require_permission(reader, by, action, registry.current_time())
        original = item.original
        if original is None or original.collection not in (origin, to):
            found = "no original" if original is None else f"its original in {original.collection}"
            raise Conflict(item.name, f"the original in {origin}", found)
        return original if original.collection == to else None

    return await registry.store.read(look_up)


async def _copy_if_readable(
    registry: Registry, by: Agent, name: str, origin: str, to: str, report: Report | None
) -> None:
    """Copy an item, unless it cannot be read and there is a copy of its newest version already."""
    try:
        await copy_item(registry, by, name, origin, to, report)
    except (ItemDamaged, NoSuchItem):
        transfer = await registry.store.read(lambda reader: _prepare(registry, reader, by, name, origin, to))
        there, here = transfer.item.holding_in(to), transfer.holding
        if there is None or (there.version, there.digest) != (here.version, here.digest):
            raise


def _refuse_damaged(item: HeldItem, to: str) -> None:
    """Refuse to copy onto a copy that a check has found damaged: its files are never replaced."""
    there = item.holding_in(to)
    if there is not None and there.role == "copy" and there.outcome == "damaged":
        remove = f"perdure collection remove {item.name} {to}"
        raise InvalidInput(
            "collection", "to", f"the copy of {item.name} in {to} is damaged: remove it first ({remove})"
        )


async def _copy(transfer: _Transfer, report: Report | None) -> ItemContent:
    """Copy all versions, also one that was stored and not published yet. Return the content of the recorded one."""

    def work(report: Report) -> ItemContent:
        origin, to = StorageRoot.open(transfer.origin), StorageRoot.open(transfer.to)
        copied = to.copy_item(transfer.item.label, origin, report=report)
        return _describe(copied, transfer.holding.version)

    return await run_stoppable(work, report)


def _compare(transfer: _Transfer, report: Report) -> ItemContent | None:
    """Read all files on both sides, and return the content if all digests are right and the versions are the same.

    Return None if a version was put after the copy was made. If the original is damaged, the copy must have what was
    recorded of the original.
    """
    label, newest = transfer.item.label, transfer.holding.version
    origin, to = StorageRoot.open(transfer.origin), StorageRoot.open(transfer.to)
    damage = _find_damage(origin, label, report)
    copy_damage = _find_damage(to, label, report)
    if copy_damage is not None:
        raise ItemDamaged(transfer.item.name, copy_damage)
    stored = to.read_item(label)
    if stored.inventory.newest < newest:
        return None
    content = _describe(stored, newest)
    if damage is not None:
        if content.digest != transfer.holding.digest:
            raise ItemDamaged(transfer.item.name, damage)
        return content
    original = origin.read_item(label).inventory
    if any(original.list_files(number) != stored.inventory.list_files(number) for number in range(1, newest + 1)):
        raise Conflict(transfer.item.name, f"the versions of {transfer.origin}", f"others in {transfer.to}")
    return content


def _find_damage(root: StorageRoot, label: str, report: Report) -> str | None:
    """Read all files of an item, and return what is wrong; None if nothing is."""
    try:
        check = root.verify_item(label, report=report)
    except NoSuchItem:
        return f"it is not in {root.path}"
    if check.is_sound:
        return None
    problem = check.problems[0]
    detail = f": {problem.detail}" if problem.detail else ""
    return f"in {root.path}, {problem.path} is {problem.kind}{detail}"


def _describe(item: StoredItem, version: int) -> ItemContent:
    return summarize_content(version, item.version(version).files.values())
