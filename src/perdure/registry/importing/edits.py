"""Changes of existing names, as batch files request them."""

from typing import Final

import msgspec

from perdure.errors import Immutable, InvalidInput, Withdrawn, WrongState
from perdure.formats.import_entries import ImportEdit
from perdure.records.record import Record, Tombstone
from perdure.records.validation import check_values
from perdure.records.value import equals_ignoring_timestamp
from perdure.registry import revisions
from perdure.registry.entities import Agent
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.importing.import_options import ImportOptions, Outcome
from perdure.registry.new_record import with_timestamps
from perdure.registry.permissions.permissions import require_change_permission, require_permission
from perdure.registry.prefixes.na_names import refuse_withdrawal
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

_REASON: Final = "deleted"


def apply_edit(
    registry: Registry, tx: Transaction, by: Agent, entry: ImportEdit, options: ImportOptions, at: str, note: str
) -> Outcome:
    """Apply one operation, as a version with a note. Return whether it changed anything; raise if it is refused."""
    identifier, record, prefix = require_identifier(tx, entry.name)
    require_permission(tx, by, "withdraw" if entry.act == "delete" else "edit", prefix.key, at, record, identifier.key)
    if record.observation is not None and entry.act != "delete":
        raise Immutable(identifier.name, "an observation never changes; a new extraction is a new observation")
    if entry.act == "delete":
        refuse_withdrawal(tx, identifier.key, identifier.name)
    revised = _edit_record(registry, record, entry, identifier.name, options, at)
    if revised == record:
        return "unchanged"
    require_change_permission(tx, by, record, revised.values, prefix.key, at, identifier.key)
    act = "withdraw" if entry.act == "delete" else "import"
    revisions.append_revision(tx, identifier, revised, by, act, at, note, registry.settings.limits.record_bytes)
    return "changed"


def _edit_record(
    registry: Registry, record: Record, entry: ImportEdit, name: str, options: ImportOptions, at: str
) -> Record:
    if entry.act == "delete":
        if record.state in ("withdrawn", "merged"):
            return record
        return msgspec.structs.replace(record, state="withdrawn", tombstone=Tombstone(f"{_REASON} by {options.source}"))
    if record.tombstone is not None:
        raise Withdrawn(name, record.tombstone.reason, record.tombstone.replaced_by)
    if record.state != "active":
        raise WrongState(name, record.state, "active")
    if entry.act == "remove":
        unwanted = set(entry.indexes)
        remaining = tuple(value for value in record.values if value.index not in unwanted)
        return msgspec.structs.replace(record, values=remaining)
    values = {value.index: value for value in record.values}
    for value in with_timestamps(entry.values, at):
        before = values.get(value.index)
        if before is not None and equals_ignoring_timestamp(before, value):
            continue
        if entry.act == "add" and before is not None:
            raise InvalidInput("record", "index", f"index {value.index} of {name} has another value already")
        if entry.act == "modify" and before is None:
            raise InvalidInput("record", "index", f"{name} has no value with index {value.index}")
        values[value.index] = value
    return msgspec.structs.replace(record, values=check_values(list(values.values()), registry.settings.limits))
