"""Transfer: a prefix, or identifiers by the thousand, to another agent, and every step of it recorded."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from perdure.registry import change
from perdure.registry.authority import grant_end, is_granted, known_agent, require
from perdure.registry.entities import ACTIONS, EVERYWHERE, Action, Agent, Event, Grant, Prefix
from perdure.registry.existing import existing
from perdure.registry.naming import keys_under, known_prefix
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry

_CHUNK: Final = 500
_OWNERS_ACTIONS: Final[tuple[Action, ...]] = ("edit", "withdraw", "transfer")


async def transfer_prefix(registry: Registry, by: Agent, prefix: str, to: str, *, giver: str | None = None) -> Prefix:
    """Hand the authority over a prefix from one agent (`giver`; whoever does it, unless said) to another."""

    def work(tx: Transaction) -> Prefix:
        at = registry.now()
        kept = known_prefix(tx, prefix)
        require(tx, by, "transfer", kept.key, at)
        require(tx, by, "admin", kept.key, at)
        until = grant_end(tx, by, "admin", kept.key, at)
        receiver, source = known_agent(tx, to), known_agent(tx, giver or by.id)
        if receiver.id != source.id:
            for grant in tx.grants(source.id):
                if grant.scope == kept.key:
                    tx.remove_grant(source.id, kept.key, grant.action)
        for action in ACTIONS:
            tx.put_grant(Grant(receiver.id, kept.key, action, until=until, given_by=by.id, given_at=at))
        tx.put_event(Event(at, by.id, "prefix transfer", kept.name, f"from {source.id} to {receiver.id}"))
        return kept

    return await registry.store.write(work)


async def transfer_identifiers(registry: Registry, by: Agent, names: Sequence[str], to: str) -> int:
    """Let another agent answer for these identifiers; how many changed hands. All of a chunk move, or none."""
    moved = 0
    for start in range(0, len(names), _CHUNK):
        chunk = names[start : start + _CHUNK]

        def work(tx: Transaction, chunk: Sequence[str] = chunk) -> int:
            return _transfer(registry, tx, by, chunk, to)

        moved += await registry.store.write(work)
    return moved


async def names_under(registry: Registry, prefix: str) -> AsyncIterator[list[str]]:
    """The names of all identifiers under a prefix, in chunks."""
    kept = await registry.store.read(lambda reader: known_prefix(reader, prefix))
    under = keys_under(kept)
    key = ""
    while True:

        def work(reader: Reader, key: str = key) -> list[tuple[str, str]]:
            return [(row.key, row.name) for row in reader.after(key, _CHUNK, under)]

        rows = await registry.store.read(work)
        if not rows:
            return
        key = rows[-1][0]
        yield [name for _, name in rows]


def _transfer(registry: Registry, tx: Transaction, by: Agent, names: Sequence[str], to: str) -> int:
    at = registry.now()
    receiver = known_agent(tx, to)
    moved = 0
    for name in names:
        found, record, prefix = existing(tx, name)
        require(tx, by, "transfer", prefix.key, at, record, found.key)
        owners = () if receiver.identifier == record.creator else (receiver.identifier,)
        if owners == record.owners:
            continue
        if is_granted(tx, by, "transfer", prefix.key, at, record, found.key):  # an HS_ADMIN speaks of its record only
            _let_own(tx, by, receiver, prefix, at, grant_end(tx, by, "transfer", prefix.key, at, record))
        revised = msgspec.structs.replace(record, owners=owners)
        change.revise(tx, found, revised, by, "transfer", at, f"to {receiver.id}")
        moved += 1
    if moved:
        tx.put_event(Event(at, by.id, "transfer", receiver.id, f"{moved} identifiers, {names[0]} the first"))
    return moved


def _let_own(tx: Transaction, by: Agent, receiver: Agent, prefix: Prefix, at: str, until: str | None) -> None:
    """A grant for what is one's own under the prefix, unless one reaches as far already and ends no earlier."""
    held = {
        one.action
        for one in tx.grants(receiver.id)
        if one.scope in (EVERYWHERE, prefix.key) and (one.until is None or (until is not None and one.until >= until))
    }
    for action in _OWNERS_ACTIONS:
        if action not in held:
            tx.put_grant(Grant(receiver.id, prefix.key, action, own=True, until=until, given_by=by.id, given_at=at))
