"""The slot that a handle names: an identifier that exists or not, or the record of a prefix, which always exists."""

from typing import Final

import msgspec

from perdure.errors import Immutable, Withdrawn, WrongState
from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.record import Record
from perdure.registry.entities import Identifier, Prefix, Scheme
from perdure.registry.identifier_lookup import find_located, missing_name_error
from perdure.registry.name_keys import locate
from perdure.registry.prefixes.na_names import (
    NA_KEY,
    na_key,
    na_name,
    prefix_of_key,
    prefix_of_record,
)
from perdure.registry.store_interface import Reader

_OBSERVATION_REASON: Final = "an observation never changes; a new extraction is a new observation"


class HandleSlot(msgspec.Struct, frozen=True):
    """A name under a prefix of this registry. `scope` is that prefix; `of_prefix` the one whose record this is."""

    key: str
    name: str
    scheme: Scheme
    scope: str
    row: Identifier | None = None
    record: Record | None = None
    prefix: Prefix | None = None
    of_prefix: Prefix | None = None

    @property
    def subject(self) -> str:
        """Return the key of its history and its secrets."""
        return self.key if self.row is None else self.row.subject


def find_slot(reader: Reader, text: str) -> HandleSlot:
    """Find the slot that a text in any of its forms names. Raise NoSuchPrefix if it is not in this registry."""
    of_prefix = prefix_of_record(reader, text)
    if of_prefix is None:
        located = locate(reader, text)
        if located.prefix.key == NA_KEY:
            of_prefix = prefix_of_key(reader, located.key)
        if of_prefix is None:
            row = find_located(reader, located)
            slot = HandleSlot(located.key, located.name, located.scheme, located.prefix.key, prefix=located.prefix)
            return slot if row is None else _with_row(slot, row)
    slot = HandleSlot(na_key(reader, of_prefix), na_name(of_prefix), "handle", NA_KEY, of_prefix=of_prefix)
    row = reader.find(slot.key)
    return slot if row is None else _with_row(slot, row)


def _with_row(slot: HandleSlot, row: Identifier) -> HandleSlot:
    return msgspec.structs.replace(slot, key=row.key, name=row.name, row=row, record=records.decode(row.record))


def require_record(reader: Reader, slot: HandleSlot, text: str) -> Record:
    """Return the record in its current state, whatever that is. Raise NoSuchName if there is none."""
    if slot.record is None:
        raise missing_name_error(reader, locate(reader, text))
    return slot.record


def refuse_inactive(slot: HandleSlot, record: Record) -> None:
    """Refuse a handle that is withdrawn, or a name that is only reserved."""
    if record.tombstone is not None:
        raise Withdrawn(slot.name, record.tombstone.reason, record.tombstone.replaced_by)
    if record.state != "active":
        raise WrongState(slot.name, record.state, "active (bind it first)")


def refuse_observation(slot: HandleSlot, record: Record) -> None:
    if record.observation is not None:
        raise Immutable(slot.name, _OBSERVATION_REASON)


def stated_prefix_record(slot: HandleSlot, creator: str, now: str) -> Record:
    """Return the stored record of a prefix; an empty one if it was never written or was withdrawn."""
    record = slot.record or Record(state="active", creator=creator, created=to_seconds(now))
    if record.state == "active":
        return record
    created = record.created or to_seconds(now)
    return msgspec.structs.replace(record, state="active", created=created, tombstone=None, values=())
