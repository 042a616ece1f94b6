"""Redaction of values: they are removed from every version, permanently. The reason and the date stay."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from perdure.errors import InvalidInput, NoSuchValue
from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.person import Redaction
from perdure.records.record import Record
from perdure.records.validation import check_one_line
from perdure.records.value import Value
from perdure.registry import revisions
from perdure.registry.entities import Agent
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.permissions.permissions import require_key_permission, require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import UNSCRUBBED, Transaction


async def redact_values(
    registry: Registry,
    by: Agent,
    name: str,
    indexes: Sequence[int],
    reason: str,
    *,
    expected_version: int | None = None,
) -> int:
    """Remove the values with these indexes from all versions. Return the number of the new version.

    A value that was removed before can be redacted too. Copies that were made before, as backups, still hold
    everything.
    """
    check_one_line(reason, "reason", registry.settings.limits.text_characters)
    unwanted = tuple(sorted(set(indexes)))
    if not unwanted:
        raise InvalidInput("record", "index", "the indexes of the values to redact are required")

    def work(tx: Transaction) -> int:
        now = registry.current_time()
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "admin", prefix.key, now, record, identifier.key)
        # Removing a current key needs the same permission as elsewhere; `admin` on own identifiers is not enough.
        require_key_permission(tx, by, _select_values(record, unwanted), prefix.key, now, identifier.key)
        past = {one.version: one.record for one in tx.revisions(identifier.subject)}
        held = {version: _select_values(records.decode(written), unwanted) for version, written in past.items()}
        known = {value.index for values in held.values() for value in values}
        if missing := tuple(index for index in unwanted if index not in known):
            raise NoSuchValue(identifier.name, missing)
        act = Redaction(reason, to_seconds(now), "", indexes=unwanted)
        redacted = {version: _without_values(past[version], act) for version, values in held.items() if values}
        tx.redact(
            identifier.subject, {version: records.encode(record_left) for version, record_left in redacted.items()}
        )
        return revisions.append_revision(
            tx, identifier, _without_values(identifier.record, act), by, "redact", now, reason
        )

    return await registry.store.write(work)


async def has_traces(registry: Registry) -> bool:
    """Return whether bytes of redacted content may still be in unused parts of the store's file."""
    return await registry.store.read(lambda reader: reader.fact(UNSCRUBBED)) is not None


def redaction_for_version(written: bytes, record: Record, act: Redaction) -> Redaction:
    """Return this redaction for one version: with the digest of its record until now, and the redactions before it."""
    earlier = () if record.redaction is None else record.redaction.acts
    return msgspec.structs.replace(act, sha256=sha256(written).hexdigest(), earlier=earlier)


def _without_values(written: bytes, act: Redaction) -> Record:
    record = records.decode(written)
    values = tuple(value for value in record.values if value.index not in act.indexes)
    return msgspec.structs.replace(record, values=values, redaction=redaction_for_version(written, record, act))


def _select_values(record: Record, indexes: Sequence[int]) -> list[Value]:
    return [value for value in record.values if value.index in indexes]
