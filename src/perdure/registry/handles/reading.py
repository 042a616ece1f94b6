"""Reading of a handle: the record as Handle clients see it, whatever the scheme of its name."""

from typing import Final

import msgspec

from perdure.records.derived_values import handle_values
from perdure.records.record import Record, Tombstone
from perdure.records.value import ADMIN_READ, Value
from perdure.registry.entities import Act, Agent
from perdure.registry.handles.handle_slot import (
    HandleSlot,
    find_slot,
    refuse_inactive,
    require_record,
    stated_prefix_record,
)
from perdure.registry.identifier_view import HIDDEN_REASON
from perdure.registry.permissions.hs_admin import READ_VALUE
from perdure.registry.permissions.permissions import is_granted, rights
from perdure.registry.prefixes.na_records import prefix_record
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader
from perdure.registry.withdrawal import find_withdrawal

_FIRST_CHANGE: Final = 2  # the version


class HandleView(msgspec.Struct, frozen=True):
    """A record for one reader.

    `withheld` counts the values that are hidden; version 0 means that it was never written.
    """

    name: str
    values: tuple[Value, ...]
    state: str
    version: int
    key: str
    withheld: int = 0


class HandleTombstone(msgspec.Struct, frozen=True):
    """What every reader may know about a withdrawn handle: its tombstone, and its authority metadata as values."""

    name: str
    tombstone: Tombstone
    withdrawal: tuple[Act, Agent | None] | None
    values: tuple[Value, ...]


async def read_handle(registry: Registry, text: str, *, by: Agent | None = None, wants_all: bool = False) -> HandleView:
    """Return the values in the order of their indexes, with the authority metadata among them.

    With `wants_all`, also values that are not public, if `by` has the right and their permissions allow administrators.
    """
    return await registry.store.read(lambda reader: _read(registry, reader, text, by if wants_all else None))


def _read(registry: Registry, reader: Reader, text: str, by: Agent | None) -> HandleView:
    slot = find_slot(reader, text)
    now = registry.current_time()
    if slot.of_prefix is None:
        record = require_record(reader, slot, text)
        refuse_inactive(slot, record)
        if record.restriction is not None and not (
            by is not None and is_granted(reader, by, "edit", slot.scope, now, record, slot.key)
        ):
            record = msgspec.structs.replace(record, values=(), about=None)
        values = handle_values(record, registry.settings.type_prefix, _revision_time(reader, slot, record))
    else:
        record = stated_prefix_record(slot, "", now)
        values = prefix_record(reader, slot.of_prefix, now, registry.settings.type_prefix)
    visible = tuple(value for value in values if value.is_public)
    is_partial = len(visible) < len(values)
    if is_partial and by is not None and rights(reader, by, record, slot.scope, now, slot.key) & READ_VALUE:
        visible = tuple(value for value in values if value.is_public or value.permissions[ADMIN_READ] == "1")
    return HandleView(slot.name, visible, "active", _version(slot), slot.key, len(values) - len(visible))


async def read_tombstone(registry: Registry, text: str) -> HandleTombstone | None:
    """Return the tombstone of a handle, or None if it was not withdrawn."""
    return await registry.store.read(lambda reader: _read_tombstone(registry, reader, text))


def _read_tombstone(registry: Registry, reader: Reader, text: str) -> HandleTombstone | None:
    slot = find_slot(reader, text)
    record = slot.record
    if record is None or record.tombstone is None:
        return None
    newest = reader.newest_revision(slot.subject)
    bare = msgspec.structs.replace(record, values=(), changed=None)
    values = handle_values(bare, registry.settings.type_prefix, None if newest is None else newest.at)
    tombstone = record.tombstone
    if record.restriction is not None:
        tombstone = msgspec.structs.replace(tombstone, reason=HIDDEN_REASON)
    return HandleTombstone(slot.name, tombstone, find_withdrawal(reader, slot.subject), values)


def _revision_time(reader: Reader, slot: HandleSlot, record: Record) -> str | None:
    """Return the time of the newest revision, for a record that does not state when it was changed.

    It is needed after a change by an earlier release, or if the newest timestamp is one that not every client sees.
    """
    is_new = _version(slot) < _FIRST_CHANGE and all(value.is_public for value in record.values)
    if is_new or record.changed is not None:
        return None
    newest = reader.newest_revision(slot.subject)
    return None if newest is None else newest.at


def _version(slot: HandleSlot) -> int:
    return 0 if slot.row is None else slot.row.version
