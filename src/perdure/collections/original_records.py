"""The move of an original between two registries, as each of them records it.

The registry that has the identifier decides where the original is: its one record of it is on a collection of its own,
or on another server. So there is exactly one original at every moment, also if a server stops between two steps:

1. To another server: the registry of the identifier makes its original a copy, records the other server as that of the
   original, and lets the identifier point there, in one transaction. Then the other server calls its copy the original.
2. Back: the other server calls its original a copy. Then the registry of the identifier makes its own copy the original
   and lets the identifier point to it, in one transaction.
"""

from typing import NamedTuple

import msgspec

from perdure.collections.addresses import item_target
from perdure.collections.held_items import HeldItem, find_foreign_item, find_item, is_registered, require_collection
from perdure.collections.item_records import refuse_withdrawn
from perdure.errors import Conflict, InvalidInput
from perdure.registry.editing import point_to
from perdure.registry.entities import Agent, Event
from perdure.registry.holdings import ELSEWHERE, Collection, Holding
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction


class OtherServer(NamedTuple):
    """Another server: the identity of its registry, and its URL."""

    server: str
    url: str

    @property
    def collection(self) -> str:
        """Return the name of the collection that stands for the server."""
        return f"{ELSEWHERE}{self.server}"


class ComparedVersion(NamedTuple):
    """The newest version of an item, as it was compared on both servers."""

    version: int
    digest: str

    def __str__(self) -> str:
        return f"version {self.version} ({self.digest[:16]}…)"


def find_any_item(reader: Reader, name: str) -> HeldItem:
    """Return an item, whether its identifier is registered here or not."""
    return find_item(reader, name) if is_registered(reader, name) else find_foreign_item(reader, name)


def find_movable_item(reader: Reader, registry: Registry, by: Agent, name: str) -> HeldItem:
    """Return an item whose original the agent may move, whether its identifier is registered here or not."""
    item = find_any_item(reader, name)
    item.require_permission(reader, by, "edit", registry.current_time())
    refuse_withdrawn(item)
    return item


def check_release(
    reader: Reader,
    registry: Registry,
    by: Agent,
    name: str,
    collection: str,
    to: OtherServer,
    compared: ComparedVersion,
) -> Holding | None:
    """Return the original that may be handed over to another server; None if that was done before."""
    item = find_movable_item(reader, registry, by, name)
    require_collection(reader, collection)
    original = item.original
    if original is not None and original.collection == to.collection:
        return None
    holding = item.require_holding(collection)
    if original is None and item.identifier is None:
        return None  # it was handed back to the registry of the identifier
    if original is None or original is not holding:
        found = "no original" if original is None else f"its original in {original.collection}"
        raise Conflict(item.name, f"the original in {collection}", found)
    if (holding.version, holding.digest) != compared:
        raise Conflict(item.name, str(compared), str(ComparedVersion(holding.version, holding.digest)))
    return holding


def record_release(
    tx: Transaction,
    registry: Registry,
    by: Agent,
    name: str,
    collection: str,
    to: OtherServer,
    compared: ComparedVersion,
) -> Holding:
    """Make the original a copy, and let its identifier point to another server. Return the holding, as it was before.

    A call that is repeated changes nothing. Raise Conflict if the original has another version by now.
    """
    holding = check_release(tx, registry, by, name, collection, to, compared)
    item = find_movable_item(tx, registry, by, name)
    if holding is None:
        return item.original or item.require_holding(collection)
    at = registry.current_time()
    tx.put_holding(msgspec.structs.replace(holding, role="copy", role_since=at))
    if item.identifier is not None:
        elsewhere = _require_server(tx, to, at)
        moved = msgspec.structs.replace(
            holding, collection=to.collection, role="original", role_since=at, source=f"collection {collection}"
        )
        tx.put_holding(msgspec.structs.replace(moved, verified_at=None, outcome=None))
        _point_to(tx, registry, by, item, moved, elsewhere)
    _log(tx, registry, by, "collection hand-over", holding, f"to {to.url}")
    return holding


def record_arrival(
    tx: Transaction,
    registry: Registry,
    by: Agent,
    name: str,
    collection: str,
    origin: OtherServer,
    compared: ComparedVersion,
    main_file: str | None,
) -> Holding | None:
    """Make a copy the original, after another server has handed it over.

    Return None, and change nothing, if the copy has another version by now than the one that was compared.
    """
    item = find_movable_item(tx, registry, by, name)
    there = item.require_holding(collection)
    if there.role == "original":
        return there
    if (there.version, there.digest) != compared:
        return None
    check_origin(item, origin)
    at = registry.current_time()
    if item.identifier is not None:
        tx.remove_holding(item.subject, origin.collection)
    moved = msgspec.structs.replace(there, role="original", role_since=at, main_file=main_file)
    tx.put_holding(moved)
    if item.identifier is not None:
        _point_to(tx, registry, by, item, moved, require_collection(tx, collection))
    _log(tx, registry, by, "collection take over", moved, f"from {origin.url}")
    return moved


def check_origin(item: HeldItem, origin: OtherServer) -> None:
    """Refuse to take over an original that is not on that server."""
    original = item.original
    if original is None:
        if item.identifier is not None:
            reason = f"{item.name} is registered here, and has no original anywhere: put it into a collection"
            raise InvalidInput("collection", "label", reason)
    elif item.identifier is None or original.collection != origin.collection:
        raise Conflict(item.name, f"the original on {origin.url}", f"its original in {original.collection}")


def _require_server(tx: Transaction, to: OtherServer, at: str) -> Collection:
    """Return the other server as a collection. The first item that moves there creates it."""
    known = tx.collection(to.collection)
    if known is None:
        known = Collection(to.collection, to.collection, to.url, at)
        tx.put_collection(known)
    if known.url != to.url:
        change = f"perdure collection change {to.collection} --url {to.url}"
        raise InvalidInput("collection", "url", f"that server had the address {known.url} before: run {change} first")
    return known


def _point_to(
    tx: Transaction, registry: Registry, by: Agent, item: HeldItem, holding: Holding, collection: Collection
) -> None:
    target = item_target(collection, holding.label, holding.main_file)
    where = f"on {collection.url}" if collection.is_elsewhere else f"in the collection {collection.name}"
    point_to(tx, registry, by, item.name, target, where)


def _log(tx: Transaction, registry: Registry, by: Agent, act: str, holding: Holding, where: str) -> None:
    detail = f"original of {holding.label}, version {holding.version}, {holding.digest}, {where}"
    tx.put_event(Event(registry.current_time(), by.id, act, holding.collection, detail))
