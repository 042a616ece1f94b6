"""Changes of names that exist, as batch files ask for them."""

from typing import Final

import msgspec

from perdure.errors import Immutable, InvalidInput, Withdrawn, WrongState
from perdure.exchange.entry import Edit
from perdure.records.checks import checked_values
from perdure.records.record import Record, Tombstone
from perdure.records.value import same_statement
from perdure.registry import change
from perdure.registry.authority import require, require_changes
from perdure.registry.entities import Agent
from perdure.registry.existing import existing
from perdure.registry.importing.options import Options, Outcome
from perdure.registry.prefix_names import refuse_giving_up
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry
from perdure.registry.statement import dated

_REASON: Final = "deleted"


def apply_edit(registry: Registry, tx: Transaction, by: Agent, entry: Edit, options: Options, at: str) -> Outcome:
    """One operation, once: what it asks for is done, or is so already, or is refused."""
    found, record, prefix = existing(tx, entry.name)
    require(tx, by, "withdraw" if entry.act == "delete" else "edit", prefix.key, at, record, found.key)
    if record.observation is not None and entry.act != "delete":
        raise Immutable(found.name, "an observation never changes; a new extraction is a new observation")
    if entry.act == "delete":
        refuse_giving_up(tx, found.key, found.name)
    revised = _edited(registry, record, entry, found.name, options, at)
    if revised == record:
        return "unchanged"
    require_changes(tx, by, record, revised.values, prefix.key, at, found.key)
    act = "withdraw" if entry.act == "delete" else "import"
    change.revise(tx, found, revised, by, act, at, options.note, registry.settings.limits.record_bytes)
    return "changed"


def _edited(registry: Registry, record: Record, entry: Edit, name: str, options: Options, at: str) -> Record:
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
        kept = tuple(value for value in record.values if value.index not in unwanted)
        return msgspec.structs.replace(record, values=kept)
    values = {value.index: value for value in record.values}
    for value in dated(entry.values, at):
        before = values.get(value.index)
        if before is not None and same_statement(before, value):
            continue
        if entry.act == "add" and before is not None:
            raise InvalidInput("record", "index", f"index {value.index} of {name} says something else already")
        if entry.act == "modify" and before is None:
            raise InvalidInput("record", "index", f"{name} has no value with index {value.index}")
        values[value.index] = value
    return msgspec.structs.replace(record, values=checked_values(list(values.values()), registry.settings.limits))
