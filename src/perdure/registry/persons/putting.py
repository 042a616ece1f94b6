"""A new version of a person's record."""

from perdure.records.record import Record
from perdure.registry import change
from perdure.registry.entities import Agent, Identifier
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry


def put(
    registry: Registry, tx: Transaction, by: Agent, found: Identifier, record: Record, act: str, note: str | None
) -> int:
    """Its number; dated no earlier than the one before, whatever the clock says."""
    newest = tx.newest_revision(found.subject)
    now = registry.now()
    at = max(now, newest.at) if newest else now
    return change.revise(tx, found, record, by, act, at, note, registry.settings.limits.record_bytes)
