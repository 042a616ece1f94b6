"""Transfers of a prefix, or of many identifiers, to another agent. Every step is recorded."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from perdure.registry import revisions
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Action, Agent, Event, Grant, Identifier, Prefix
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.key_ranges import read_ranges
from perdure.registry.name_keys import key_beginnings, require_prefix
from perdure.registry.permissions.permissions import (
    grant_end,
    is_granted,
    require_active_agent,
    require_agent,
    require_permission,
)
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_CHUNK: Final = 500
_OWNERS_ACTIONS: Final[tuple[Action, ...]] = ("edit", "withdraw", "transfer")


async def transfer_prefix(registry: Registry, by: Agent, prefix: str, to: str, *, giver: str | None = None) -> Prefix:
    """Transfer the grants on a prefix from one agent (`giver`; by default the caller) to another."""

    def work(tx: Transaction) -> Prefix:
        at = registry.current_time()
        namespace = require_prefix(tx, prefix)
        require_permission(tx, by, "transfer", namespace.key, at)
        require_permission(tx, by, "admin", namespace.key, at)
        until = grant_end(tx, by, "admin", namespace.key, at)
        receiver, source = require_active_agent(tx, to), require_agent(tx, giver or by.id)
        if receiver.id != source.id:
            for grant in tx.grants(source.id):
                if grant.scope == namespace.key:
                    tx.remove_grant(source.id, namespace.key, grant.action)
        for action in ACTIONS:
            tx.put_grant(Grant(receiver.id, namespace.key, action, until=until, given_by=by.id, given_at=at))
        tx.put_event(Event(at, by.id, "prefix transfer", namespace.name, f"from {source.id} to {receiver.id}"))
        return namespace

    return await registry.store.write(work)


async def transfer_identifiers(registry: Registry, by: Agent, names: Sequence[str], to: str) -> int:
    """Make another agent responsible for these identifiers; return how many changed.

    A chunk is transferred as a whole.
    """
    moved = 0
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]

        def work(tx: Transaction, chunk: Sequence[str] = chunk) -> int:
            return _transfer(registry, tx, by, chunk, to)

        moved += await registry.store.write(work)
    return moved


async def names_under(registry: Registry, prefix: str) -> AsyncIterator[list[str]]:
    """Yield the names of all identifiers under a prefix, in chunks."""
    namespace = await registry.store.read(lambda reader: require_prefix(reader, prefix))
    under = key_beginnings(namespace, prefix)
    key = ""
    while True:

        def work(reader: Reader, key: str = key) -> list[Identifier]:
            return read_ranges(reader.identifiers_after, key, _CHUNK, under)

        rows = await registry.store.read(work)
        if not rows:
            return
        key = rows[-1].key
        yield [row.name for row in rows if len(under) == 1 or row.subject == row.key]


def _transfer(registry: Registry, tx: Transaction, by: Agent, names: Sequence[str], to: str) -> int:
    at = registry.current_time()
    receiver = require_active_agent(tx, to)
    moved = 0
    for name in names:
        identifier, record, prefix = require_identifier(tx, name)
        require_permission(tx, by, "transfer", prefix.key, at, record, identifier.key)
        owners = () if receiver.identifier == record.creator else (receiver.identifier,)
        if owners == record.owners:
            continue
        # Only for a grant: an HS_ADMIN applies to its record only.
        if is_granted(tx, by, "transfer", prefix.key, at, record, identifier.key):
            grant_own(tx, by, receiver, prefix, at, grant_end(tx, by, "transfer", prefix.key, at, record))
        revised = msgspec.structs.replace(record, owners=owners)
        revisions.append_revision(tx, identifier, revised, by, "transfer", at, f"to {receiver.id}")
        moved += 1
    if moved:
        tx.put_event(Event(at, by.id, "transfer", receiver.id, f"{moved} identifiers, {names[0]} the first"))
    return moved


def grant_own(tx: Transaction, by: Agent, receiver: Agent, prefix: Prefix, at: str, until: str | None) -> None:
    """Grant an owner's actions on own identifiers under the prefix, unless a grant covers and outlasts them."""
    held = {
        one.action
        for one in tx.grants(receiver.id)
        if one.scope in (WHOLE_REGISTRY, prefix.key)
        and (one.until is None or (until is not None and one.until >= until))
    }
    for action in _OWNERS_ACTIONS:
        if action not in held:
            tx.put_grant(Grant(receiver.id, prefix.key, action, own=True, until=until, given_by=by.id, given_at=at))
