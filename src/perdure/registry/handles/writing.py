"""Write a handle: the whole of its values, or some of them, as Handle clients do."""

from collections.abc import Sequence

import msgspec

from perdure.errors import InvalidInput, NameTaken, ValueExists, Withdrawn
from perdure.records.authority import to_seconds
from perdure.records.record import Record
from perdure.records.value import Value
from perdure.registry.administrators import ADD_HANDLE
from perdure.registry.authority import authenticated, require, require_new, stated_for_prefix
from perdure.registry.entities import Agent
from perdure.registry.handles.expecting import Expected
from perdure.registry.handles.incoming import Incoming, received
from perdure.registry.handles.place import Place
from perdure.registry.handles.rewriting import HandleWritten, Rewriting
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry


async def put_handle(
    registry: Registry,
    by: Agent | None,
    text: str,
    values: Sequence[Value],
    *,
    overwrite: bool = True,
    expected: Sequence[Expected] = (),
) -> HandleWritten:
    """Let a handle exist and say just this. A withdrawn one is reinstated by that, a reserved one is bound.

    Here and below: a Conflict, and nothing written, if what is there is not what was `expected`.
    """
    actor = authenticated(by, "mint", text)
    incoming = received(values, text, registry.settings.limits)

    def work(tx: Transaction) -> HandleWritten:
        return put(Rewriting(registry, tx, actor, text, expected), incoming, overwrite)

    return await registry.store.write(work)


async def put_values(
    registry: Registry,
    by: Agent | None,
    text: str,
    values: Sequence[Value],
    *,
    overwrite: bool = True,
    expected: Sequence[Expected] = (),
) -> HandleWritten:
    """Put these values in their places; the others stay. Without `overwrite`, ValueExists where one is taken."""
    actor = authenticated(by, "edit", text)
    incoming = received(values, text, registry.settings.limits)

    def work(tx: Transaction) -> HandleWritten:
        writing = Rewriting(registry, tx, actor, text, expected)
        record = writing.standing()
        old = {value.index: value for value in record.values}
        put = writing.meant(incoming, record)
        new = [value for value in put if value.index not in old]
        after = sorted({**old, **{value.index: value for value in put}}.values(), key=lambda value: value.index)
        if not overwrite and len(new) < len(put):
            writing.require_changes(record, after, incoming.secrets)
            raise ValueExists(writing.place.name, next(value.index for value in put if value.index in old))
        return writing.change(record, after, incoming.secrets, "set", created=bool(new))

    return await registry.store.write(work)


def put(writing: Rewriting, incoming: Incoming, overwrite: bool) -> HandleWritten:
    """The same, inside of a transaction."""
    place, record = writing.place, writing.place.record
    if place.of_prefix is not None:
        if not overwrite:
            raise NameTaken(place.name)
        standing = writing.standing()
        return writing.change(standing, writing.meant(incoming, standing), incoming.secrets, "set")
    if place.scheme != "handle":
        reason = f"{place.name} is no name that a client chooses; the values of one that is there can be changed"
        raise InvalidInput("handle", "name", reason)
    if record is None:
        return _create(writing, incoming)
    if record.tombstone is not None:
        return _reinstate(writing, record, incoming)
    if record.state == "reserved":
        return _bind(writing, record, incoming)
    if not overwrite:
        raise NameTaken(place.name)
    return writing.change(record, writing.meant(incoming, record), incoming.secrets, "set")


def require_creating(writing: Rewriting, incoming: Incoming) -> None:
    """Refuse who may not create here, or not with these values."""
    tx, by, place = writing.tx, writing.by, writing.place
    require(tx, by, "mint", place.scope, writing.now, None, place.key)
    require_new(tx, by, incoming.values, place.scope, writing.now, place.key)


def new_record(writing: Rewriting) -> Record:
    return Record(state="active", creator=writing.by.identifier, created=to_seconds(writing.at))


def _create(writing: Rewriting, incoming: Incoming) -> HandleWritten:
    require_creating(writing, incoming)
    _refuse_chosen(writing.place)
    values = writing.meant(incoming, None)
    return writing.keep(new_record(writing), values, incoming.secrets, "create", created=True)


def _refuse_chosen(place: Place) -> None:
    """All suffixes of a prefix with the PILIN minter are its own, and tell a date on which they were made."""
    if place.prefix is not None and place.prefix.minter == "pilin":
        name = place.prefix.name
        reason = f"names under {name} are made by its minter, and not chosen: create {name}/ with mintNewSuffix=true"
        raise InvalidInput("handle", "name", reason)


def _reinstate(writing: Rewriting, record: Record, incoming: Incoming) -> HandleWritten:
    """To a Handle client a withdrawn handle is not there, and creating it takes the right to create.

    Who may mint by a grant needs the others too that this takes anywhere else: to reinstate, and to edit.
    """
    tx, by, place = writing.tx, writing.by, writing.place
    if record.state != "withdrawn":
        gone = record.tombstone
        raise Withdrawn(place.name, gone.reason if gone else record.state, gone.replaced_by if gone else None)
    require(tx, by, "mint", place.scope, writing.now, None, place.key)
    values = writing.meant(incoming, record, was_seen=False)
    if stated_for_prefix(tx, by, place.scope) & ADD_HANDLE:
        require_new(tx, by, values, place.scope, writing.now, place.key)
    else:
        require(tx, by, "withdraw", place.scope, writing.now, record, place.key)
        writing.require_changes(record, values, incoming.secrets)
    created = record.created or to_seconds(writing.at)
    revived = msgspec.structs.replace(record, state="active", created=created, tombstone=None)
    return writing.keep(revived, values, incoming.secrets, "reinstate", created=True)


def _bind(writing: Rewriting, record: Record, incoming: Incoming) -> HandleWritten:
    tx, by, place = writing.tx, writing.by, writing.place
    require(tx, by, "edit", place.scope, writing.now, record, place.key)
    values = writing.meant(incoming, record)
    writing.require_changes(record, values, incoming.secrets)
    bound = msgspec.structs.replace(record, state="active", created=to_seconds(writing.at))
    return writing.keep(bound, values, incoming.secrets, "bind", created=True)
