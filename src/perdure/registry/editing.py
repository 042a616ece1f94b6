"""Changes of an identifier. Each one is checked, creates a new version, and leaves the old version readable."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from perdure.errors import Immutable, InvalidInput, PerdureError, Withdrawn, WrongState
from perdure.records.authority_metadata import to_seconds
from perdure.records.record import About, Record, State, Tombstone
from perdure.records.validation import (
    Limits,
    check_about,
    check_one_line,
    check_target,
    check_values,
    find_free_index,
)
from perdure.records.value import (
    Text,
    UnstatedTtl,
    Value,
    equals_ignoring_timestamp,
    with_stated_ttl,
    with_verbatim_marks,
)
from perdure.registry import revisions
from perdure.registry.entities import Action, Agent, Prefix
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.new_record import (
    TARGET_INDEX,
    Statement,
    build_values,
    refuse_future_timestamps,
    refuse_metadata,
    with_timestamps,
)
from perdure.registry.permissions.permissions import require_change_permission, require_permission
from perdure.registry.prefixes.na_names import refuse_withdrawal
from perdure.registry.registry import Registry
from perdure.registry.responsible_parties import check_resolvable_party, distinct_owners
from perdure.registry.store_interface import Reader, Transaction

ANY_INDEX: Final = 0  # means the lowest free index


async def bind(
    registry: Registry, by: Agent, name: str, statement: Statement, *, expected_version: int | None = None
) -> int:
    """Bind a reserved name to its object for the first time. This sets the creation date."""
    if not statement.binds:
        raise InvalidInput("record", "target", "a target or a value is required to bind the name")
    if statement.creator is not None:
        raise InvalidInput("record", "creator", "the creator cannot be changed: it is the agent that minted the name")
    limits = registry.settings.limits

    return await _edit_record(
        registry, by, name, "edit", "bind", _build_binding(name, statement, limits), expected_version
    )


def point_to(tx: Transaction, registry: Registry, by: Agent, name: str, target: str, note: str) -> int:
    """Bind a reserved name to a target, or give an active one another target, in a transaction of the caller."""
    limits = registry.settings.limits
    if require_identifier(tx, name)[1].state == "reserved":
        binding = _build_binding(name, Statement(target), limits)
        return _write_edit(tx, registry, by, name, "edit", "bind", binding, None, note)
    check_target(target, limits)

    def edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        return _with_values(record, [_target_value(record, Statement(target))], limits, at, prefix.ttl)

    return _write_edit(tx, registry, by, name, "edit", "set", _require_active(name, edit), None, note)


async def update(
    registry: Registry, by: Agent, name: str, statement: Statement, *, expected_version: int | None = None
) -> int:
    """Change the target, values, description or owners in one version. Everything else stays.

    The target replaces the first URL value, a value replaces the one with its index, and each field of the description
    replaces the same field. The creator is the agent that created the identifier, and never changes.
    """
    limits = registry.settings.limits
    if statement == Statement() and isinstance(statement.ttl, UnstatedTtl):
        raise InvalidInput("record", "target", "nothing to change: give a target, a value, a description or the owners")
    if statement.creator is not None:
        raise InvalidInput(
            "record", "creator", "the creator cannot be changed: set an owner, or transfer the identifier"
        )
    if statement.target is not None:
        check_target(statement.target, limits)

    def edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        ttl = prefix.ttl
        revised = _with_values(record, statement.values, limits, at, ttl) if statement.values else record
        if statement.target is not None or not isinstance(statement.ttl, UnstatedTtl):
            revised = _with_values(revised, [_target_value(revised, statement)], limits, at, ttl)
        if statement.about is not None:
            revised = msgspec.structs.replace(
                revised, about=check_about(_merge_about(record.about, statement.about), limits)
            )
        if statement.owners:
            owners = distinct_owners(reader, statement.owners, record.creator, limits)
            revised = msgspec.structs.replace(revised, owners=owners)
        return revised

    return await _edit_record(registry, by, name, "edit", "set", _require_active(name, edit), expected_version)


async def add_values(
    registry: Registry, by: Agent, name: str, values: Sequence[Value], *, expected_version: int | None = None
) -> int:
    """Add values. An index in use is an error; `ANY_INDEX` takes the lowest free one."""
    limits = registry.settings.limits

    def edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        taken = {value.index for value in record.values}
        added = []
        for value in values:
            if value.index in taken:
                raise InvalidInput("record", "index", f"index {value.index} is in use: use set to change its value")
            index = find_free_index(taken) if value.index == ANY_INDEX else value.index
            taken.add(index)
            added.append(msgspec.structs.replace(value, index=index, timestamp=""))
        return _with_values(record, added, limits, at, prefix.ttl)

    return await _edit_record(registry, by, name, "edit", "add value", _require_active(name, edit), expected_version)


async def remove_values(
    registry: Registry, by: Agent, name: str, indexes: Sequence[int], *, expected_version: int | None = None
) -> int:
    """Remove values. They stay in the history."""

    def edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        unwanted = set(indexes)
        missing = unwanted - {value.index for value in record.values}
        if missing:
            raise InvalidInput("record", "index", f"there is no value with index {min(missing)}")
        remaining = tuple(value for value in record.values if value.index not in unwanted)
        return msgspec.structs.replace(record, values=remaining)

    return await _edit_record(registry, by, name, "edit", "remove value", _require_active(name, edit), expected_version)


async def withdraw(
    registry: Registry,
    by: Agent,
    name: str,
    reason: str,
    *,
    replaced_by: str | None = None,
    expected_version: int | None = None,
) -> int:
    """Withdraw an identifier: record a tombstone with the agent, the time, the reason and the replacement."""
    limits = registry.settings.limits
    check_one_line(reason, "reason", limits.text_characters)

    def edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        if record.state in ("withdrawn", "merged"):
            raise WrongState(name, record.state, "active or reserved")
        replacement = (
            None if replaced_by is None else check_resolvable_party(reader, replaced_by, "replaced_by", limits)
        )
        if replacement is not None and _is_same_subject(reader, replacement, name):
            raise InvalidInput("record", "replaced_by", f"{replacement} cannot replace itself")
        return msgspec.structs.replace(record, state="withdrawn", tombstone=Tombstone(reason, replacement))

    return await _edit_record(registry, by, name, "withdraw", "withdraw", edit, expected_version, reason)


async def reinstate(registry: Registry, by: Agent, name: str, *, expected_version: int | None = None) -> int:
    """Remove the tombstone in a new version. The withdrawal stays in the history."""

    def edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        return without_tombstone(name, record)

    return await _edit_record(registry, by, name, "withdraw", "reinstate", edit, expected_version)


def without_tombstone(name: str, record: Record) -> Record:
    """Return the record as it was before it was withdrawn."""
    if record.state != "withdrawn":
        raise WrongState(name, record.state, "withdrawn")
    if record.tombstone is not None and record.tombstone.successors:
        raise WrongState(name, "split", "withdrawn: undo the split instead")
    state: State = "reserved" if record.created is None else "active"
    return msgspec.structs.replace(record, state=state, tombstone=None)


def _build_binding(name: str, statement: Statement, limits: Limits) -> "_Edit":
    """Return the edit that binds a reserved name."""

    def edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        if record.state != "reserved":
            raise WrongState(name, record.state, "reserved")
        owners = (
            distinct_owners(reader, statement.owners, record.creator, limits) if statement.owners else record.owners
        )
        return msgspec.structs.replace(
            record,
            state="active",
            created=to_seconds(at),
            values=tuple(with_stated_ttl(build_values(statement, limits, at), prefix.ttl)),
            about=check_about(statement.about, limits) or record.about,
            owners=owners,
        )

    return edit


def _target_value(record: Record, statement: Statement) -> Value:
    """Return the value that carries the new target or its new TTL: the first public URL value, or a new one."""
    first = next((value for value in record.values if value.is_url and value.is_public), None)
    if first is not None:
        if statement.target is None:
            return msgspec.structs.replace(first, timestamp="", ttl=statement.ttl)
        return msgspec.structs.replace(
            first, data=Text(statement.target), timestamp="", ttl=statement.ttl, verbatim=False
        )
    if statement.target is None:
        raise InvalidInput("record", "ttl", "there is no target whose TTL could be changed: give a target too")
    taken = [value.index for value in record.values]
    index = TARGET_INDEX if TARGET_INDEX not in taken else find_free_index(taken)
    return Value(index, "URL", Text(statement.target), ttl=statement.ttl)


def _merge_about(old: About | None, new: About) -> About:
    new_fields = {field: getattr(new, field) for field in new.__struct_fields__ if getattr(new, field) is not None}
    return msgspec.structs.replace(old or About(), **new_fields)


def _is_same_subject(reader: Reader, one: str, other: str) -> bool:
    """Return whether two names identify the same object. A name that is not registered here identifies another one."""
    try:
        return require_identifier(reader, one)[0].subject == require_identifier(reader, other)[0].subject
    except PerdureError:
        return False


_Edit = Callable[[Reader, Record, Prefix, str], Record]


async def _edit_record(
    registry: Registry,
    by: Agent,
    name: str,
    permission: Action,
    act: str,
    edit: _Edit,
    expected_version: int | None,
    note: str | None = None,
) -> int:
    """Apply an edit in a transaction of its own."""
    return await registry.store.write(
        lambda tx: _write_edit(tx, registry, by, name, permission, act, edit, expected_version, note)
    )


def _write_edit(
    tx: Transaction,
    registry: Registry,
    by: Agent,
    name: str,
    permission: Action,
    act: str,
    edit: _Edit,
    expected_version: int | None,
    note: str | None,
) -> int:
    """Check permission, apply the edit and write the new version. An edit without effect writes nothing."""
    now = registry.current_time()
    identifier, record, prefix = require_identifier(tx, name, expected_version)
    require_permission(tx, by, permission, prefix.key, now, record, identifier.key)
    newest = tx.newest_revision(identifier.subject)
    at = max(now, newest.at) if newest else now  # history must not run backwards when the clock does
    if record.observation is not None and permission == "edit":
        raise Immutable(identifier.name, "an observation never changes; a new extraction is a new observation")
    if act == "withdraw":
        refuse_withdrawal(tx, identifier.key, identifier.name)
    revised = edit(tx, record, prefix, at)
    if revised == record:
        return identifier.version
    refuse_metadata(revised.values, registry.settings.type_prefix, record.values)
    if revised.owners != record.owners:  # a change of owners needs more than edit
        require_permission(tx, by, "transfer", prefix.key, now, record, identifier.key)
    require_change_permission(tx, by, record, revised.values, prefix.key, now, identifier.key)
    return revisions.append_revision(tx, identifier, revised, by, act, at, note, registry.settings.limits.record_bytes)


def _require_active(name: str, edit: _Edit) -> _Edit:
    def check_and_edit(reader: Reader, record: Record, prefix: Prefix, at: str) -> Record:
        if record.tombstone is not None:
            raise Withdrawn(name, record.tombstone.reason, record.tombstone.replaced_by)
        if record.state != "active":
            raise WrongState(name, record.state, "active (bind it first)")
        return edit(reader, record, prefix, at)

    return check_and_edit


def _with_values(
    record: Record, new_values: Sequence[Value], limits: Limits, at: str, default_ttl: int | None
) -> Record:
    """Return the record with these values. A value that is equal to the old one keeps its timestamp.

    A value without a TTL takes that of the value which it replaces, or the default of the prefix.
    """
    old = {value.index: value for value in record.values}
    new_values = with_verbatim_marks(new_values, record.values)
    check_values(new_values, limits)
    refuse_future_timestamps(new_values, at)
    for value in with_timestamps(new_values, at):
        before = old.get(value.index)
        if isinstance(value.ttl, UnstatedTtl):
            [value] = (
                [msgspec.structs.replace(value, ttl=before.ttl)] if before else with_stated_ttl([value], default_ttl)
            )
        if before is None or not equals_ignoring_timestamp(before, value):
            old[value.index] = value
    return msgspec.structs.replace(record, values=check_values(list(old.values()), limits))
