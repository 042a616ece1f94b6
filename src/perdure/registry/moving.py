"""Move a registry to another store: stream, verify, and only then let the new one take over.

The old store is sealed first, so that what is copied cannot change; it stays readable throughout. How far the copy
has come is kept in the new store, in the same transactions as the copy itself: after a crash it goes on from there.
The new store has no identity until everything in it was compared with the old one, and cannot be opened before.
"""

from collections.abc import Callable
from itertools import zip_longest
from typing import Final, Literal, NamedTuple

import msgspec

from perdure.errors import InvalidInput, StoreDamaged, StoreSealed
from perdure.minting.clock import Clock, iso_now
from perdure.registry.agents import THE_MACHINE
from perdure.registry.copying import (
    Content,
    Surroundings,
    content_of,
    histories_of,
    put_histories,
    put_surroundings,
    surroundings,
)
from perdure.registry.entities import Event, History
from perdure.registry.founding import REGISTRY
from perdure.registry.protocol import Reader, Store, Transaction

_MOVE: Final = "move"

Stage = Literal["copying", "comparing"]
Watch = Callable[[Stage, int, int], None]  # names done, of how many


class _Position(msgspec.Struct, frozen=True):
    """How far a move has come. `seal` tells one move from another; `digest` is known when it is finished."""

    seal: str
    key: str = ""
    names: int = 0
    digest: str | None = None


class Moved(NamedTuple):
    """What was moved, and the digest that is the same on both sides."""

    names: int
    digest: str


async def check_movable(source: Store, to: str) -> None:
    """Refuse, before anything is made there, what is being moved to another place or has been."""
    sealed = await source.sealed()
    if sealed is not None and f" moved to {to}" not in sealed:
        raise StoreSealed(sealed)


async def move(source: Store, target: Store, clock: Clock, *, origin: str, to: str, watch: Watch) -> Moved:
    """Everything in one store into another, which must be empty or hold the beginning of this very move."""
    identity = await source.read(lambda reader: reader.fact(REGISTRY))
    if identity is None:
        raise InvalidInput("move", "from", "there is no registry in the store that is to be moved")
    begun, sealed = await _begun(target, identity), await source.sealed()
    moved = f"this registry has moved to {to}: nothing can be written here any more"
    if begun is not None and sealed not in (begun.seal, moved):
        what = "a registry, or the unfinished copy of one" if begun.digest is None else "a registry"
        reason = f"there is {what}, from another move: name a place that is empty, or give that move up (--give-up)"
        raise InvalidInput("move", "to", reason)
    if begun is None or begun.digest is None:
        begun = await _filled(source, target, begun, clock, identity, origin, to, watch)
    await source.seal(moved)
    return Moved(begun.names, begun.digest or "")


async def check_unfinished(source: Store, target: Store | None, to: str) -> None:
    """Whether this move can be given up: it has sealed the old store, and the new one has not taken over."""
    sealed = await source.sealed()
    if sealed is not None and f" has moved to {to}:" in sealed:
        raise InvalidInput("move", "to", "the move is finished: the registry lives there now. Run it again to end it")
    if sealed is None or f" being moved to {to} " not in sealed:
        raise InvalidInput("move", "to", f"the registry is not being moved to {to}: there is nothing to give up")
    if target is None:
        return
    there, kept = await target.read(lambda reader: (reader.fact(REGISTRY), reader.fact(_MOVE)))
    if there is not None:
        raise InvalidInput("move", "to", "the move is finished: the registry lives there now. Run it again to end it")
    if kept is not None and msgspec.json.decode(kept, type=_Position).seal != sealed:
        raise InvalidInput("move", "to", "the unfinished copy there is of another move, and is left alone")


async def _filled(
    source: Store,
    target: Store,
    begun: _Position | None,
    clock: Clock,
    identity: str,
    origin: str,
    to: str,
    watch: Watch,
) -> _Position:
    """Seal, copy, compare; the identity goes over last."""
    seal = await _sealed(source, clock, to)
    of = (await source.read(lambda reader: reader.counts()))["identifiers"]
    around = await source.read(lambda reader: _without_identity(surroundings(reader)))
    position = begun or _Position(seal)
    if begun is None:
        await target.write(lambda tx: _begin(tx, around, position))
    await _copy(source, target, position, of, watch)
    content = await _compare(source, target, around, of, watch)
    finished = _Position(seal, names=content.names, digest=content.hexdigest())
    event = Event(iso_now(clock), THE_MACHINE, "move", identity, f"{content.names} names, from {origin}")
    await target.write(lambda tx: _finish(tx, identity, finished, event))
    return finished


async def _begun(target: Store, identity: str) -> _Position | None:
    """How far this move came before; anything else that is there is left alone."""

    def work(reader: Reader) -> tuple[str | None, str | None, int]:
        return reader.fact(REGISTRY), reader.fact(_MOVE), len(reader.after("", 1))

    there, kept, names = await target.read(work)
    if there == identity and await target.sealed() is not None:
        reason = "there is an old copy of this registry, which has moved on since: remove it, or name another place"
        raise InvalidInput("move", "to", reason)
    if there is not None and (there != identity or kept is None):
        raise InvalidInput("move", "to", f"there is a registry already ({there[:8]}): name a place that is empty")
    if kept is None and names:
        raise InvalidInput("move", "to", "there is something already: name a place that is empty")
    return None if kept is None else msgspec.json.decode(kept, type=_Position)


async def _sealed(source: Store, clock: Clock, to: str) -> str:
    """The seal of this move, set now or by an earlier run of it."""
    reason = await source.sealed()
    if reason is not None:
        if f" being moved to {to} " not in reason:
            raise StoreSealed(reason)
        return reason
    seal = (
        f"this registry is being moved to {to} (since {iso_now(clock)}): it can be read, not written. "
        "Run the same perdure move again to finish it, or give it up with --give-up"
    )
    await source.seal(seal)
    return seal


def _begin(tx: Transaction, around: Surroundings, position: _Position) -> None:
    put_surroundings(tx, around)
    _remember(tx, position)


async def _copy(source: Store, target: Store, position: _Position, of: int, watch: Watch) -> None:
    async for chunk in histories_of(source, position.key):
        position = _Position(position.seal, chunk[-1].identifier.key, position.names + len(chunk))

        def work(tx: Transaction, chunk: list[History] = chunk, position: _Position = position) -> None:
            put_histories(tx, chunk)
            _remember(tx, position)

        await target.write(work)
        watch("copying", position.names, of)


async def _compare(source: Store, target: Store, around: Surroundings, of: int, watch: Watch) -> Content:
    """Name by name, all of it: what differs is named, and the new store does not take over."""
    content = Content()
    others = histories_of(target)
    async for chunk in histories_of(source):
        ours, theirs = content_of(chunk), content_of(await anext(others, []))
        if ours != theirs:
            different = next(n for n, (one, other) in enumerate(zip_longest(ours, theirs)) if one != other)
            name = chunk[min(different, len(chunk) - 1)].identifier.name
            raise StoreDamaged(f"the copy of {name} differs from what it was copied from: the move is not finished")
        content.add(ours)
        watch("comparing", content.names, of)
    if await anext(others, None):
        raise StoreDamaged("the copy has names that the registry has not: the move is not finished")
    there = await target.read(lambda reader: _without_identity(surroundings(reader)))
    for part, one, other in zip(Surroundings._fields, around, there, strict=True):
        if one != other:
            raise StoreDamaged(f"the copied {part} differ from what they were copied from: the move is not finished")
    return content


def _finish(tx: Transaction, identity: str, finished: _Position, event: Event) -> None:
    _remember(tx, finished)
    tx.put_fact(REGISTRY, identity)
    tx.put_event(event)


def _remember(tx: Transaction, position: _Position) -> None:
    tx.put_fact(_MOVE, msgspec.json.encode(position).decode())


def _without_identity(given: Surroundings) -> Surroundings:
    """The identity goes over last; how far a move has come is no part of what is moved."""
    facts = {name: value for name, value in given.facts.items() if name not in (REGISTRY, _MOVE)}
    return given._replace(facts=facts)
