"""Relocation of a registry to another store: copy, compare, and only then let the new store take over.

The old store is sealed first, so that what is copied cannot change; it stays readable throughout. The position of the
copy is stored in the new store, in the same transactions as the copy itself: after a crash it continues from there. The
new store has no identity until all its content was compared with the old one, and cannot be opened before.
"""

from collections.abc import Callable
from itertools import zip_longest
from typing import Final, Literal, NamedTuple

import msgspec

from perdure.errors import InvalidInput, StoreDamaged, StoreSealed
from perdure.registry.bootstrap import REGISTRY
from perdure.registry.entities import Event, History, ResolutionCount
from perdure.registry.holdings import Holding
from perdure.registry.permissions.keys import MACHINE_AGENT
from perdure.registry.store_copy import (
    FIRST_HOLDING,
    FIRST_RESOLUTION,
    ContentDigest,
    HoldingKey,
    RegistryState,
    ResolutionKey,
    encode_histories,
    holding_key,
    iterate_histories,
    iterate_holdings,
    iterate_resolutions,
    put_histories,
    put_holdings,
    put_registry_state,
    read_registry_state,
    resolution_key,
)
from perdure.registry.store_interface import Reader, Store, Transaction
from perdure.timelines.clock import Clock, iso_now

_MOVE: Final = "move"

Stage = Literal["copying", "comparing"]
MoveProgress = Callable[[Stage, int, int], None]  # names done, of how many


class _Position(msgspec.Struct, frozen=True):
    """The progress of a move. `seal` identifies the move; `digest` is set when it is finished."""

    seal: str
    key: str = ""
    names: int = 0
    digest: str | None = None
    resolution: ResolutionKey = FIRST_RESOLUTION  # the last count of resolutions that was copied
    holding: HoldingKey = FIRST_HOLDING  # the last item in a collection that was copied


class MoveResult(NamedTuple):
    """The number of names moved, and the digest that is equal on both sides."""

    names: int
    digest: str


async def check_movable(source: Store, to: str) -> None:
    """Refuse a source that is being moved, or was moved, to another location. Nothing has been created there yet."""
    sealed = await source.seal_reason()
    if sealed is not None and f" moved to {to}" not in sealed:
        raise StoreSealed(sealed)


async def move(source: Store, target: Store, clock: Clock, *, origin: str, to: str, watch: MoveProgress) -> MoveResult:
    """Move everything from one store to another, which must be empty or hold the beginning of this same move."""
    identity = await source.read(lambda reader: reader.fact(REGISTRY))
    if identity is None:
        raise InvalidInput("move", "from", "the source holds no registry")
    position, sealed = await _read_position(target, identity), await source.seal_reason()
    moved = f"this registry has moved to {to}: nothing can be written here any more"
    if position is not None and sealed not in (position.seal, moved):
        what = "a registry, or the unfinished copy of one" if position.digest is None else "a registry"
        reason = (
            f"the target holds {what}, from another move: choose an empty location, or cancel that move (--give-up)"
        )
        raise InvalidInput("move", "to", reason)
    if position is None or position.digest is None:
        position = await _fill_target(source, target, position, clock, identity, origin, to, watch)
    await source.seal(moved)
    return MoveResult(position.names, position.digest or "")


async def check_unfinished(source: Store, target: Store | None, to: str) -> None:
    """Check that this move can be given up: it has sealed the old store, and the new store has not taken over."""
    sealed = await source.seal_reason()
    if sealed is not None and f" has moved to {to}:" in sealed:
        raise InvalidInput("move", "to", "the move is finished, the registry is there now: run it again to clean up")
    if sealed is None or f" being moved to {to} " not in sealed:
        raise InvalidInput("move", "to", f"the registry is not being moved to {to}: there is no move to cancel")
    if target is None:
        return
    identity, stored = await target.read(lambda reader: (reader.fact(REGISTRY), reader.fact(_MOVE)))
    if identity is not None:
        raise InvalidInput("move", "to", "the move is finished, the registry is there now: run it again to clean up")
    if stored is not None and msgspec.json.decode(stored, type=_Position).seal != sealed:
        raise InvalidInput("move", "to", "the unfinished copy there belongs to another move, and is left unchanged")


async def _fill_target(
    source: Store,
    target: Store,
    begun: _Position | None,
    clock: Clock,
    identity: str,
    origin: str,
    to: str,
    watch: MoveProgress,
) -> _Position:
    """Seal the source, copy and compare. The identity is written last."""
    seal = await _seal_source(source, clock, to)
    total = (await source.read(lambda reader: reader.counts()))["identifiers"]
    state = await source.read(lambda reader: _without_identity(read_registry_state(reader)))
    position = begun or _Position(seal)
    if begun is None:
        await target.write(lambda tx: _begin(tx, state, position))
    await _copy(source, target, position, total, watch)
    content = await _compare(source, target, state, total, watch)
    finished = _Position(seal, names=content.names, digest=content.hexdigest())
    event = Event(iso_now(clock), MACHINE_AGENT, "move", identity, f"{content.names} names, from {origin}")
    await target.write(lambda tx: _finish(tx, identity, finished, event))
    return finished


async def _read_position(target: Store, identity: str) -> _Position | None:
    """Return how far this move came in an earlier run. Refuse a target that holds anything else."""

    def work(reader: Reader) -> tuple[str | None, str | None, int]:
        return reader.fact(REGISTRY), reader.fact(_MOVE), len(reader.identifiers_after("", 1))

    found_id, stored, names = await target.read(work)
    if found_id == identity and await target.seal_reason() is not None:
        reason = "the target holds an old copy of this registry, moved since: remove it, or choose another location"
        raise InvalidInput("move", "to", reason)
    if found_id is not None and (found_id != identity or stored is None):
        raise InvalidInput(
            "move", "to", f"the target holds a registry already ({found_id[:8]}): choose an empty location"
        )
    if stored is None and names:
        raise InvalidInput("move", "to", "the target is not empty: choose an empty location")
    return None if stored is None else msgspec.json.decode(stored, type=_Position)


async def _seal_source(source: Store, clock: Clock, to: str) -> str:
    """Return the seal of this move, set now or by an earlier run of it."""
    reason = await source.seal_reason()
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


def _begin(tx: Transaction, state: RegistryState, position: _Position) -> None:
    put_registry_state(tx, state)
    _save_position(tx, position)


async def _copy(source: Store, target: Store, position: _Position, total: int, watch: MoveProgress) -> None:
    async for chunk in iterate_histories(source, position.key):
        names = position.names + len(chunk)
        position = msgspec.structs.replace(position, key=chunk[-1].identifier.key, names=names)

        def work(tx: Transaction, chunk: list[History] = chunk, position: _Position = position) -> None:
            put_histories(tx, chunk)
            _save_position(tx, position)

        await target.write(work)
        watch("copying", position.names, total)
    async for counts in iterate_resolutions(source, position.resolution):
        position = msgspec.structs.replace(position, resolution=resolution_key(counts[-1]))

        def add(tx: Transaction, counts: list[ResolutionCount] = counts, position: _Position = position) -> None:
            tx.add_resolutions(counts)
            _save_position(tx, position)

        await target.write(add)
    async for holdings in iterate_holdings(source, position.holding):
        position = msgspec.structs.replace(position, holding=holding_key(holdings[-1]))

        def put(tx: Transaction, holdings: list[Holding] = holdings, position: _Position = position) -> None:
            put_holdings(tx, holdings)
            _save_position(tx, position)

        await target.write(put)


async def _compare(
    source: Store, target: Store, state: RegistryState, total: int, watch: MoveProgress
) -> ContentDigest:
    """Compare both stores name by name.

    A difference is reported with its name, and the new store does not take over.
    """
    content = ContentDigest()
    others = iterate_histories(target)
    async for chunk in iterate_histories(source):
        ours, theirs = encode_histories(chunk), encode_histories(await anext(others, []))
        if ours != theirs:
            different = next(n for n, (one, other) in enumerate(zip_longest(ours, theirs)) if one != other)
            name = chunk[min(different, len(chunk) - 1)].identifier.name
            raise StoreDamaged(f"the copy of {name} differs from what it was copied from: the move is not finished")
        content.add(ours)
        watch("comparing", content.names, total)
    if await anext(others, None):
        raise StoreDamaged("the copy has names that the registry does not have: the move is not finished")
    await _compare_resolutions(source, target)
    await _compare_holdings(source, target)
    target_state = await target.read(lambda reader: _without_identity(read_registry_state(reader)))
    for part, one, other in zip(RegistryState._fields, state, target_state, strict=True):
        if one != other:
            raise StoreDamaged(f"the copied {part} differ from what they were copied from: the move is not finished")
    return content


async def _compare_resolutions(source: Store, target: Store) -> None:
    others = iterate_resolutions(target)
    async for chunk in iterate_resolutions(source):
        if chunk != await anext(others, []):
            raise StoreDamaged("the copied statistics differ from what they were copied from: the move is not finished")
    if await anext(others, None):
        raise StoreDamaged("the copy has statistics that the registry does not have: the move is not finished")


async def _compare_holdings(source: Store, target: Store) -> None:
    others = iterate_holdings(target)
    async for chunk in iterate_holdings(source):
        if chunk != await anext(others, []):
            raise StoreDamaged("the copied holdings differ from what they were copied from: the move is not finished")
    if await anext(others, None):
        raise StoreDamaged("the copy has items that no collection holds here: the move is not finished")


def _finish(tx: Transaction, identity: str, finished: _Position, event: Event) -> None:
    _save_position(tx, finished)
    tx.put_fact(REGISTRY, identity)
    tx.put_event(event)


def _save_position(tx: Transaction, position: _Position) -> None:
    tx.put_fact(_MOVE, msgspec.json.encode(position).decode())


def _without_identity(given: RegistryState) -> RegistryState:
    """Return the state without the identity, which is written last, and without the progress of the move."""
    facts = {name: value for name, value in given.facts.items() if name not in (REGISTRY, _MOVE)}
    return given._replace(facts=facts)
