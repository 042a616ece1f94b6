"""Writes of Handle clients: all values of a handle, or some of them."""

from collections.abc import Collection, Sequence

import msgspec

from perdure.errors import InvalidInput, NameTaken, NotAuthorised, ValueExists, Withdrawn
from perdure.records.authority_metadata import to_seconds
from perdure.records.record import Record
from perdure.records.validation import check_values
from perdure.records.value import SECRET, Value, with_stated_ttl, with_verbatim_marks
from perdure.registry import revisions
from perdure.registry.entities import Agent
from perdure.registry.handles.handle_slot import (
    HandleSlot,
    find_slot,
    refuse_inactive,
    refuse_observation,
    require_record,
    stated_prefix_record,
)
from perdure.registry.handles.preconditions import Precondition, check_preconditions
from perdure.registry.handles.received_values import (
    ReceivedValues,
    derived_values,
    drop_derived_values,
    normalise_values,
    stamp_values,
)
from perdure.registry.permissions.hs_admin import ADD_HANDLE, ADMINS, VALUES, with_administrators
from perdure.registry.permissions.permissions import (
    CHANGE_KEYS,
    own_key,
    prefix_rights,
    require_authenticated,
    require_change_permission,
    require_key_permission,
    require_permission,
    rights,
)
from perdure.registry.prefixes.na_records import granted_administrators, write_prefix_record
from perdure.registry.registry import Registry
from perdure.registry.secret_box import store_secret
from perdure.registry.store_interface import Transaction


class HandleWriteResult(msgspec.Struct, frozen=True):
    """The result of a write. `created`: something exists now that Handle clients did not see before."""

    name: str
    created: bool
    version: int


class HandleWrite:
    """One write inside its transaction.

    `now` is for checking grants; `at` is for revisions, and never goes backwards.
    """

    def __init__(
        self, registry: Registry, tx: Transaction, by: Agent, text: str, expected: Sequence[Precondition] = ()
    ) -> None:
        self.tx = tx
        self.by = by
        self.now = registry.current_time()
        self.slot = find_slot(tx, text)
        self.limits = registry.settings.limits
        self.registry = registry
        self._text = text
        self._preconditions = expected
        newest = None if self.slot.row is None else tx.newest_revision(self.slot.row.subject)
        self.at = self.now if newest is None else max(self.now, newest.at)

    def check_preconditions(self) -> None:
        """Check the preconditions.

        This comes last, so that a caller without permission learns nothing about the version.
        """
        check_preconditions(self.slot, self._preconditions)

    def current_record(self) -> Record:
        """Return a record whose values can be changed one by one. That of a prefix always exists."""
        if self.slot.of_prefix is not None:
            return stated_prefix_record(self.slot, self.by.identifier, self.now)
        record = require_record(self.tx, self.slot, self._text)
        refuse_inactive(self.slot, record)
        refuse_observation(self.slot, record)
        return record

    def effective_values(
        self, received: ReceivedValues, record: Record | None, *, was_seen: bool = True
    ) -> list[Value]:
        """Return the received values with timestamps, without derived values that the client only sends back."""
        type_prefix = self.registry.settings.type_prefix
        derived: list[Value] = []
        before: tuple[Value, ...] = () if record is None else record.values
        if self.slot.of_prefix is not None:
            taken = [value.index for value in before]
            derived = granted_administrators(self.tx, self.slot.of_prefix, self.now, taken)
            derived += [] if record is None else derived_values(record, type_prefix)
        elif record is not None and was_seen:
            derived = derived_values(record, type_prefix)
        stated = with_stated_ttl(received.values, None if self.slot.prefix is None else self.slot.prefix.ttl)
        remaining = drop_derived_values(stated, record, type_prefix, derived)
        return stamp_values(with_verbatim_marks(remaining, before), before, received, self.at)

    def new_values(self, received: ReceivedValues) -> list[Value]:
        """Return the values of a new record, with an administrator if a Handle client creates it."""
        return with_administrators(self.by, self.effective_values(received, None), self.at)

    def replace_values(
        self, record: Record, values: Sequence[Value], secrets: dict[int, bytes], act: str, *, created: bool = False
    ) -> HandleWriteResult:
        """Replace the values of the record, if every change is allowed. Equal values are not a change."""
        slot = self.slot
        allowed = rights(self.tx, self.by, record, slot.scope, self.now, slot.key)
        if not allowed & (VALUES | ADMINS | CHANGE_KEYS) and own_key(self.tx, self.by, record, slot.key) is None:
            raise NotAuthorised(self.by.id, "edit", slot.scope)
        self.require_change_permission(record, values, secrets)
        if tuple(values) == record.values and not secrets:
            self.check_preconditions()
            return HandleWriteResult(slot.name, False, 0 if slot.row is None else slot.row.version)
        return self.save(record, values, secrets, act, created=created)

    def require_change_permission(self, record: Record, values: Sequence[Value], rewritten: Collection[int]) -> None:
        slot = self.slot
        require_change_permission(
            self.tx,
            self.by,
            record,
            values,
            slot.scope,
            self.now,
            slot.key,
            rewritten=rewritten,
            obey_values=True,
        )

    def save(
        self, record: Record, values: Sequence[Value], secrets: dict[int, bytes], act: str, *, created: bool
    ) -> HandleWriteResult:
        """Write the version, its history and the secrets. The caller has checked permission."""
        slot, largest = self.slot, self.limits.record_bytes
        record_to_save = msgspec.structs.replace(record, values=check_values(values, self.limits))
        self.check_preconditions()
        if slot.of_prefix is not None:
            version = write_prefix_record(
                self.tx, slot.row, slot.of_prefix, record_to_save, self.by, act, self.at, largest
            )
        elif slot.row is None:
            self.registry.check_clock()
            version, encoded = 1, revisions.encode_within_limit(record_to_save, largest)
            new = revisions.first_revision(
                slot.name, slot.key, slot.scheme, record_to_save, self.by, act, self.at, encoded=encoded
            )
            self.tx.insert([new])
        else:
            version = revisions.append_revision(
                self.tx, slot.row, record_to_save, self.by, act, self.at, largest=largest
            )
        self.save_secrets(slot.subject, record_to_save, secrets)
        return HandleWriteResult(slot.name, created, version)

    def save_secrets(self, subject: str, record: Record, secrets: dict[int, bytes]) -> None:
        for value in record.values:
            if value.kind == SECRET and value.index in secrets:
                store_secret(self.tx, self.registry.sealer, subject, value.index, secrets[value.index])


async def put_handle(
    registry: Registry,
    by: Agent | None,
    text: str,
    values: Sequence[Value],
    *,
    overwrite: bool = True,
    expected: Sequence[Precondition] = (),
) -> HandleWriteResult:
    """Create a handle, or replace all its values. A withdrawn one is reinstated by that, a reserved one is bound.

    Here and below: if the handle does not meet the preconditions in `expected`, raise Conflict and write nothing.
    """
    actor = require_authenticated(by, "mint", text)
    received = normalise_values(values, text, registry.settings.limits)

    def work(tx: Transaction) -> HandleWriteResult:
        return write_all_values(HandleWrite(registry, tx, actor, text, expected), received, overwrite)

    return await registry.store.write(work)


async def put_values(
    registry: Registry,
    by: Agent | None,
    text: str,
    values: Sequence[Value],
    *,
    overwrite: bool = True,
    expected: Sequence[Precondition] = (),
) -> HandleWriteResult:
    """Write these values; the others stay. Without `overwrite`, raise ValueExists if an index is in use."""
    actor = require_authenticated(by, "edit", text)
    received = normalise_values(values, text, registry.settings.limits)

    def work(tx: Transaction) -> HandleWriteResult:
        return write_some_values(HandleWrite(registry, tx, actor, text, expected), received, overwrite)

    return await registry.store.write(work)


def write_some_values(write: HandleWrite, received: ReceivedValues, overwrite: bool = True) -> HandleWriteResult:
    """Write these values of an existing handle, inside a transaction; the others stay."""
    record = write.current_record()
    old = {value.index: value for value in record.values}
    received_values = write.effective_values(received, record)
    new = [value for value in received_values if value.index not in old]
    after = sorted({**old, **{value.index: value for value in received_values}}.values(), key=lambda value: value.index)
    if not overwrite and len(new) < len(received_values):
        write.require_change_permission(record, after, received.secrets)
        raise ValueExists(write.slot.name, next(value.index for value in received_values if value.index in old))
    return write.replace_values(record, after, received.secrets, "set", created=bool(new))


def write_all_values(write: HandleWrite, received: ReceivedValues, overwrite: bool) -> HandleWriteResult:
    """Create a handle or replace all its values, inside a transaction."""
    slot, record = write.slot, write.slot.record
    if slot.of_prefix is not None:
        if not overwrite:
            raise NameTaken(slot.name)
        current = write.current_record()
        return write.replace_values(current, write.effective_values(received, current), received.secrets, "set")
    if slot.scheme != "handle":
        reason = f"{slot.name} cannot be created by a Handle client; only the values of an existing name can be changed"
        raise InvalidInput("handle", "name", reason)
    if record is None:
        return _create(write, received)
    if record.tombstone is not None:
        return _reinstate(write, record, received)
    if record.state == "reserved":
        return _bind(write, record, received)
    if not overwrite:
        raise NameTaken(slot.name)
    values = with_administrators(write.by, write.effective_values(received, record), write.at, record.values)
    return write.replace_values(record, values, received.secrets, "set")


def require_create_permission(write: HandleWrite, received: ReceivedValues) -> None:
    """Require permission to create a handle here, with these values."""
    tx, by, slot = write.tx, write.by, write.slot
    require_permission(tx, by, "mint", slot.scope, write.now, None, slot.key)
    require_key_permission(tx, by, received.values, slot.scope, write.now, slot.key)


def build_record(write: HandleWrite) -> Record:
    return Record(state="active", creator=write.by.identifier, created=to_seconds(write.at))


def _create(write: HandleWrite, received: ReceivedValues) -> HandleWriteResult:
    require_create_permission(write, received)
    _refuse_chosen_suffix(write.slot)
    values = write.new_values(received)
    return write.save(build_record(write), values, received.secrets, "create", created=True)


def _refuse_chosen_suffix(slot: HandleSlot) -> None:
    """Refuse a chosen suffix under a prefix with the PILIN minter: its suffixes encode the date of minting."""
    if slot.prefix is not None and slot.prefix.minter == "pilin":
        name = slot.prefix.name
        reason = f"names under {name} are generated by its minter, not chosen: create {name}/ with mintNewSuffix=true"
        raise InvalidInput("handle", "name", reason)


def _reinstate(write: HandleWrite, record: Record, received: ReceivedValues) -> HandleWriteResult:
    """Reinstate a withdrawn handle. For a Handle client it does not exist, so this needs permission to create.

    An agent with a grant to mint also needs the permissions to reinstate and to edit, as in any other API.
    """
    tx, by, slot = write.tx, write.by, write.slot
    if record.state != "withdrawn":
        tombstone = record.tombstone
        raise Withdrawn(
            slot.name, tombstone.reason if tombstone else record.state, tombstone.replaced_by if tombstone else None
        )
    require_permission(tx, by, "mint", slot.scope, write.now, None, slot.key)
    values = with_administrators(by, write.effective_values(received, record, was_seen=False), write.at)
    if prefix_rights(tx, by, slot.scope) & ADD_HANDLE:
        require_key_permission(tx, by, values, slot.scope, write.now, slot.key)
    else:
        require_permission(tx, by, "withdraw", slot.scope, write.now, record, slot.key)
        write.require_change_permission(record, values, received.secrets)
    created = record.created or to_seconds(write.at)
    revived = msgspec.structs.replace(record, state="active", created=created, tombstone=None)
    return write.save(revived, values, received.secrets, "reinstate", created=True)


def _bind(write: HandleWrite, record: Record, received: ReceivedValues) -> HandleWriteResult:
    tx, by, slot = write.tx, write.by, write.slot
    require_permission(tx, by, "edit", slot.scope, write.now, record, slot.key)
    values = write.effective_values(received, record)
    write.require_change_permission(record, values, received.secrets)
    bound_record = msgspec.structs.replace(record, state="active", created=to_seconds(write.at))
    return write.save(bound_record, values, received.secrets, "bind", created=True)
