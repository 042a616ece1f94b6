"""What the registry records of stored items, each in one transaction that also changes the identifier.

The files are on disk before: a transaction that fails leaves files that no identifier points to, never the contrary.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from perdure.collections.addresses import ITEMS_PATH, item_target
from perdure.collections.held_items import HeldItem, find_item, require_collection, require_known_collection
from perdure.collections.item_content import ItemContent
from perdure.errors import Conflict, InvalidInput, NoSuchItem, Withdrawn
from perdure.registry.editing import point_to
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event
from perdure.registry.held_labels import held_label_key
from perdure.registry.holdings import Collection, Holding, Outcome
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

PUT: Final = "put"
MOST_NAMES: Final = 64  # labels of one item of another server


class NewContent(NamedTuple):
    """A version that was stored: in which collection, where from, its main file, and other labels of the item."""

    collection: str
    content: ItemContent
    main_file: str | None
    source: str
    names: Sequence[str] = ()


def refuse_withdrawn(item: HeldItem) -> None:
    if item.record is not None and (tombstone := item.record.tombstone) is not None:
        raise Withdrawn(item.name, tombstone.reason, tombstone.replaced_by)


def check_put(reader: Reader, registry: Registry, by: Agent, name: str, collection: str) -> HeldItem:
    """Return the item of which a new version may be put into the collection, or the first one.

    Versions go to the original. An item that is in no collection yet gets its original here.
    """
    require_collection(reader, collection)
    item = find_item(reader, name)
    item.require_permission(reader, by, "edit", registry.current_time())
    refuse_withdrawn(item)
    original = item.original
    if item.identifier is None and original is None:
        reason = f"{item.name} belongs to another server: a new version can be put there only"
        raise InvalidInput("collection", "label", reason)
    if original is not None and original.collection != collection:
        elsewhere = require_known_collection(reader, original.collection)
        if elsewhere.is_elsewhere:
            here = f"{elsewhere.url}/{ITEMS_PATH}/COLLECTION {collection}"
            reason = (
                f"the original of {item.name} is on {elsewhere.url}: put the version there, or move the original here "
                f"first (perdure collection migrate {item.name} {here})"
            )
            raise InvalidInput("collection", "collection", reason)
        reason = (
            f"the original of {item.name} is in {original.collection}: put the version there and copy it, or move the "
            "original first (perdure collection migrate)"
        )
        raise InvalidInput("collection", "collection", reason)
    return item


def record_version(tx: Transaction, registry: Registry, by: Agent, name: str, new: NewContent) -> Holding:
    """Record a version that was put, and let the identifier point to it. An older one than the recorded is ignored."""
    item = check_put(tx, registry, by, name, new.collection)
    before = item.holding_in(new.collection)
    if before is not None and before.version > new.content.version:
        return before
    at = registry.current_time()
    is_same = before is not None and (before.version, before.digest) == (new.content.version, new.content.digest)
    if is_same and before is not None and before.main_file == new.main_file:
        holding = before
    else:
        holding = Holding(
            item.subject,
            new.collection,
            item.label,
            "original",
            before.role_since if before is not None and before.role == "original" else at,
            *_content_fields(new),
            before.put_at if is_same and before is not None else at,
            new.source,
        )
        tx.put_holding(holding)
    _point_to_original(tx, registry, by, item, holding)
    return holding


def record_copy(tx: Transaction, registry: Registry, by: Agent, item_found: HeldItem, new: NewContent) -> Holding:
    """Record a copy. What was the original stays it."""
    item = _find_again(tx, item_found)
    require_collection(tx, new.collection)
    item.require_permission(tx, by, "edit", registry.current_time())
    before = item.holding_in(new.collection)
    at = registry.current_time()
    if before is not None and before.role == "original":
        raise Conflict(item.name, f"a copy in {new.collection}", "its original")
    names = _unregistered_names(item, new.names)
    if before is not None and (before.version, before.digest) == (new.content.version, new.content.digest):
        renewed = msgspec.structs.replace(before, names=names)
        if before.outcome == "missing":  # it is there again
            renewed = msgspec.structs.replace(renewed, verified_at=None, outcome=None)
        if renewed != before:
            tx.put_holding(renewed)
        return renewed
    if before is not None and before.version > new.content.version:
        return before
    since = at if before is None else before.role_since
    content = *_content_fields(new), at, new.source
    holding = Holding(item.subject, new.collection, item.label, "copy", since, *content, names=names)
    tx.put_holding(holding)
    return holding


def record_migration(
    tx: Transaction, registry: Registry, by: Agent, name: str, origin: str, to: str, content: ItemContent
) -> Holding | None:
    """Make the copy in `to` the original, the original in `origin` a copy, and let the identifier point to `to`.

    Return None, and change nothing, if either has another version by now than the one that was compared.
    """
    item = find_item(tx, name)
    at = registry.current_time()
    item.require_permission(tx, by, "edit", at)
    refuse_withdrawn(item)
    there = item.require_holding(to)
    if there.role == "original":
        return there
    original = item.require_holding(origin)
    if original.role != "original":
        raise Conflict(item.name, f"the original in {origin}", "a copy")
    compared = (content.version, content.digest)
    if (original.version, original.digest) != compared or (there.version, there.digest) != compared:
        return None
    tx.put_holding(msgspec.structs.replace(original, role="copy", role_since=at))
    moved = msgspec.structs.replace(there, role="original", role_since=at, main_file=original.main_file)
    tx.put_holding(moved)
    _point_to_original(tx, registry, by, item, moved)
    return moved


def record_removal(
    tx: Transaction, registry: Registry, by: Agent, name: str, collection: str, last: bool, reason: str | None
) -> Holding | None:
    """Record that a collection no longer holds an item. Return what it held; None if there was no record.

    The only holding of an item that is not withdrawn is removed with `last` and a reason only.
    """
    item = find_item(tx, name)
    require_collection(tx, collection)
    at = registry.current_time()
    item.require_permission(tx, by, "withdraw", at)
    holding = item.holding_in(collection)
    is_gone = item.record is not None and item.record.state in ("withdrawn", "merged")
    if not is_gone and (item.identifier is not None or item.original is not None):  # else the original is elsewhere
        others = [one for one in item.holdings if one.collection != collection and one.outcome in (None, "valid")]
        _check_removable(tx, by, item, collection, others, last, reason, at)
    if holding is not None:
        tx.remove_holding(item.subject, collection)
        detail = f"{holding.role} of {item.name}, version {holding.version}, {holding.files} files, {holding.digest}"
        tx.put_event(Event(at, by.id, "collection remove", collection, f"{detail}: {reason}" if reason else detail))
    return holding


def _check_removable(
    tx: Transaction,
    by: Agent,
    item: HeldItem,
    collection: str,
    others: list[Holding],
    last: bool,
    reason: str | None,
    at: str,
) -> None:
    """Refuse to remove the original while there are copies, and the only intact copy without `last` and a reason."""
    if others:
        original = item.original
        if original is not None and original.collection == collection:
            move = f"perdure collection migrate {item.name} {collection} {others[0].collection} --remove-source"
            raise InvalidInput("collection", "collection", f"{collection} has the original of {item.name}: {move}")
        return
    if not last:
        problem = f"{collection} has the only intact copy of {item.name}"
        raise InvalidInput("collection", "last", f"{problem}: withdraw it first, or confirm with --last and a reason")
    if not reason:
        raise InvalidInput("collection", "reason", "give the reason for which the last copy is removed")
    item.require_permission(tx, by, "admin", at)


def record_check(
    tx: Transaction, registry: Registry, by: Agent, checked: Holding, outcome: Outcome, problem: str | None
) -> bool:
    """Record the outcome of a check, if the collection still holds the version that was checked.

    A problem, and its end, are events as well.
    """
    at = registry.current_time()
    require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
    current = next((one for one in tx.holdings(checked.subject) if one.collection == checked.collection), None)
    if current is None or (current.version, current.digest) != (checked.version, checked.digest):
        return False
    tx.put_holding(msgspec.structs.replace(current, verified_at=at, outcome=outcome))
    if outcome != "valid" or current.outcome not in (None, "valid"):
        detail = f"{current.label}, version {current.version}: {outcome}"
        tx.put_event(
            Event(at, by.id, "collection verify", current.collection, f"{detail}, {problem}" if problem else detail)
        )
    return True


def require_known_item(item: HeldItem) -> HeldItem:
    """Return the item. Raise NoSuchItem if no collection holds it."""
    if not item.holdings:
        raise NoSuchItem(item.name)
    return item


def _find_again(reader: Reader, item: HeldItem) -> HeldItem:
    """Return the present state of an item. An item of another server need not be held yet."""
    if item.identifier is None:
        return item._replace(holdings=reader.holdings(item.subject))
    return find_item(reader, item.identifier.name)


def _point_to_original(tx: Transaction, registry: Registry, by: Agent, item: HeldItem, holding: Holding) -> None:
    if item.identifier is None:
        return  # it points to this server, and not to a collection of it
    collection: Collection = require_collection(tx, holding.collection)
    target = item_target(collection, holding.label, holding.main_file)
    point_to(tx, registry, by, item.name, target, f"in the collection {collection.name}")


def _unregistered_names(item: HeldItem, others: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of the labels of an item of another server; nothing for one that is registered here."""
    if item.identifier is not None:
        return ()
    known = [name for holding in item.holdings for name in holding.names]
    keys = dict.fromkeys([item.subject, *known, *map(held_label_key, others)])
    return tuple(keys)[:MOST_NAMES]


def _content_fields(new: NewContent) -> tuple[int, int, int, str, str | None]:
    return new.content.version, new.content.files, new.content.size, new.content.digest, new.main_file
