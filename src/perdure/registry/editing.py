"""Change what is said of an identifier: each act is checked, makes a new version, and leaves the old one readable."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from perdure.errors import Immutable, InvalidInput, PerdureError, Withdrawn, WrongState
from perdure.records.authority import to_seconds
from perdure.records.checks import Limits, check_target, checked_about, checked_values, free_index, one_line
from perdure.records.record import About, Record, Tombstone
from perdure.records.value import Text, Value, same_statement
from perdure.registry import change
from perdure.registry.authority import require, require_changes
from perdure.registry.entities import Action, Agent
from perdure.registry.existing import existing
from perdure.registry.parties import actionable, distinct_owners
from perdure.registry.prefix_names import refuse_giving_up
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry
from perdure.registry.statement import (
    TARGET_INDEX,
    Statement,
    dated,
    refuse_metadata,
    refuse_the_future,
    stated_values,
)

ANY_INDEX: Final = 0  # asks for the lowest one that is free


async def bind(
    registry: Registry, by: Agent, name: str, said: Statement, *, expected_version: int | None = None
) -> int:
    """Associate a reserved name with its thing for the first time: from now on it has a creation date."""
    if not said.binds:
        raise InvalidInput("record", "target", "say what the name stands for: a target, or a value")
    if said.creator is not None:
        raise InvalidInput("record", "creator", "the creator never changes: it is who minted the name")
    limits = registry.settings.limits

    def edit(reader: Reader, record: Record, at: str) -> Record:
        if record.state != "reserved":
            raise WrongState(name, record.state, "reserved")
        owners = distinct_owners(reader, said.owners, record.creator, limits) if said.owners else record.owners
        return msgspec.structs.replace(
            record,
            state="active",
            created=to_seconds(at),
            values=stated_values(said, limits, at),
            about=checked_about(said.about, limits) or record.about,
            owners=owners,
        )

    return await _revise(registry, by, name, "edit", "bind", edit, expected_version)


async def update(
    registry: Registry, by: Agent, name: str, said: Statement, *, expected_version: int | None = None
) -> int:
    """Say something else from now on, in one version; what is not spoken of stays.

    The target takes the place of the first URL value, a value the place of the one with its index, and each part of
    the description its own. The creator is who first created the identifier, and never changes.
    """
    limits = registry.settings.limits
    if said == Statement():
        raise InvalidInput("record", "target", "say what to change: a target, a value, a description or the owners")
    if said.creator is not None:
        raise InvalidInput("record", "creator", "the creator never changes: name an owner, or transfer the identifier")
    if said.target is not None:
        check_target(said.target, limits)

    def edit(reader: Reader, record: Record, at: str) -> Record:
        revised = _with_values(record, said.values, limits, at) if said.values else record
        if said.target is not None:
            revised = _with_values(revised, [_moved(revised, said.target)], limits, at)
        if said.about is not None:
            revised = msgspec.structs.replace(revised, about=checked_about(_told(record.about, said.about), limits))
        if said.owners:
            owners = distinct_owners(reader, said.owners, record.creator, limits)
            revised = msgspec.structs.replace(revised, owners=owners)
        return revised

    return await _revise(registry, by, name, "edit", "set", _active(name, edit), expected_version)


async def add_values(
    registry: Registry, by: Agent, name: str, values: Sequence[Value], *, expected_version: int | None = None
) -> int:
    """Add values; an index that is taken is an error, `ANY_INDEX` takes the lowest that is free."""
    limits = registry.settings.limits

    def edit(reader: Reader, record: Record, at: str) -> Record:
        taken = {value.index for value in record.values}
        added = []
        for value in values:
            if value.index in taken:
                raise InvalidInput("record", "index", f"index {value.index} is taken: use set to change what it says")
            index = free_index(taken) if value.index == ANY_INDEX else value.index
            taken.add(index)
            added.append(msgspec.structs.replace(value, index=index, timestamp=""))
        return _with_values(record, added, limits, at)

    return await _revise(registry, by, name, "edit", "add value", _active(name, edit), expected_version)


async def remove_values(
    registry: Registry, by: Agent, name: str, indexes: Sequence[int], *, expected_version: int | None = None
) -> int:
    """Take values away; they stay in the history."""

    def edit(reader: Reader, record: Record, at: str) -> Record:
        unwanted = set(indexes)
        missing = unwanted - {value.index for value in record.values}
        if missing:
            raise InvalidInput("record", "index", f"there is no value with index {min(missing)}")
        kept = tuple(value for value in record.values if value.index not in unwanted)
        return msgspec.structs.replace(record, values=kept)

    return await _revise(registry, by, name, "edit", "remove value", _active(name, edit), expected_version)


async def withdraw(
    registry: Registry,
    by: Agent,
    name: str,
    reason: str,
    *,
    replaced_by: str | None = None,
    expected_version: int | None = None,
) -> int:
    """Put a tombstone in the identifier's place: who, when, why, and what stands for it now."""
    limits = registry.settings.limits
    one_line(reason, "reason", limits.text_characters)

    def edit(reader: Reader, record: Record, at: str) -> Record:
        if record.state in ("withdrawn", "merged"):
            raise WrongState(name, record.state, "active or reserved")
        instead = None if replaced_by is None else actionable(reader, replaced_by, "replaced_by", limits)
        if instead is not None and _are_the_same(reader, instead, name):
            raise InvalidInput("record", "replaced_by", f"{instead} cannot replace itself")
        return msgspec.structs.replace(record, state="withdrawn", tombstone=Tombstone(reason, instead))

    return await _revise(registry, by, name, "withdraw", "withdraw", edit, expected_version, reason)


async def reinstate(registry: Registry, by: Agent, name: str, *, expected_version: int | None = None) -> int:
    """Take the tombstone away again, as a new version: the withdrawal stays in the history."""

    def edit(reader: Reader, record: Record, at: str) -> Record:
        if record.state != "withdrawn":
            raise WrongState(name, record.state, "withdrawn")
        if record.tombstone is not None and record.tombstone.successors:
            raise WrongState(name, "split", "withdrawn: undo the split instead")
        state = "reserved" if record.created is None else "active"
        return msgspec.structs.replace(record, state=state, tombstone=None)

    return await _revise(registry, by, name, "withdraw", "reinstate", edit, expected_version)


def _moved(record: Record, target: str) -> Value:
    """The value that leads to the target: the first URL that there is, or a new one."""
    first = next((value for value in record.values if value.is_url and value.is_public), None)
    if first is not None:
        return msgspec.structs.replace(first, data=Text(target), timestamp="")
    taken = [value.index for value in record.values]
    return Value(TARGET_INDEX if TARGET_INDEX not in taken else free_index(taken), "URL", Text(target))


def _told(old: About | None, new: About) -> About:
    given = {field: getattr(new, field) for field in new.__struct_fields__ if getattr(new, field) is not None}
    return msgspec.structs.replace(old or About(), **given)


def _are_the_same(reader: Reader, one: str, other: str) -> bool:
    """Whether two names stand for one thing; a name that is not registered here stands for another."""
    try:
        return existing(reader, one)[0].subject == existing(reader, other)[0].subject
    except PerdureError:
        return False


_Edit = Callable[[Reader, Record, str], Record]


async def _revise(
    registry: Registry,
    by: Agent,
    name: str,
    needed: Action,
    act: str,
    edit: _Edit,
    expected_version: int | None,
    note: str | None = None,
) -> int:
    """Authority first, then the edit, then the new version, in one transaction. Saying the same again is no change."""

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, needed, prefix.key, now, record, found.key)
        newest = tx.newest_revision(found.subject)
        at = max(now, newest.at) if newest else now  # a clock that stepped back must not make history run backwards
        if record.observation is not None and needed == "edit":
            raise Immutable(found.name, "an observation never changes; a new extraction is a new observation")
        if act == "withdraw":
            refuse_giving_up(tx, found.key, found.name)
        revised = edit(tx, record, at)
        if revised == record:
            return found.version
        refuse_metadata(revised.values, registry.settings.type_prefix, record.values)
        if revised.owners != record.owners:  # who answers for it is more than what it says
            require(tx, by, "transfer", prefix.key, now, record, found.key)
        require_changes(tx, by, record, revised.values, prefix.key, now, found.key)
        return change.revise(tx, found, revised, by, act, at, note, registry.settings.limits.record_bytes)

    return await registry.store.write(work)


def _active(name: str, edit: _Edit) -> _Edit:
    def checked(reader: Reader, record: Record, at: str) -> Record:
        if record.tombstone is not None:
            raise Withdrawn(name, record.tombstone.reason, record.tombstone.replaced_by)
        if record.state != "active":
            raise WrongState(name, record.state, "active (bind it first)")
        return edit(reader, record, at)

    return checked


def _with_values(record: Record, put: Sequence[Value], limits: Limits, at: str) -> Record:
    """The record with these values in place; one that says what it said before keeps its timestamp."""
    old = {value.index: value for value in record.values}
    checked_values(put, limits)
    refuse_the_future(put, at)
    for value in dated(put, at):
        before = old.get(value.index)
        if before is None or not same_statement(before, value):
            old[value.index] = value
    return msgspec.structs.replace(record, values=checked_values(list(old.values()), limits))
