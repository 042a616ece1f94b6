"""Redact values of an identifier: take them out of every version, for good. The reason and the date stay."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from perdure.errors import InvalidInput, NoSuchValue
from perdure.records import record as records
from perdure.records.authority import to_seconds
from perdure.records.checks import one_line
from perdure.records.person import Redaction
from perdure.records.record import Record
from perdure.records.value import Value
from perdure.registry import change
from perdure.registry.authority import require, require_new
from perdure.registry.entities import Agent
from perdure.registry.existing import existing
from perdure.registry.protocol import UNSCRUBBED, Transaction
from perdure.registry.registry import Registry


async def redact_values(
    registry: Registry,
    by: Agent,
    name: str,
    indexes: Sequence[int],
    reason: str,
    *,
    expected_version: int | None = None,
) -> int:
    """Take the values with these indexes out of all versions; return the number of the new version.

    A value that was removed before can be redacted too. Copies that were made before, as backups, still hold all.
    """
    one_line(reason, "reason", registry.settings.limits.text_characters)
    unwanted = tuple(sorted(set(indexes)))
    if not unwanted:
        raise InvalidInput("record", "index", "say which values to redact, by their indexes")

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "admin", prefix.key, now, record, found.key)
        # To take away a key that holds today takes what it takes elsewhere; `admin` on one's own is not enough.
        require_new(tx, by, _chosen(record, unwanted), prefix.key, now, found.key)
        past = {one.version: one.record for one in tx.revisions(found.subject)}
        held = {version: _chosen(records.decode(written), unwanted) for version, written in past.items()}
        known = {value.index for values in held.values() for value in values}
        if missing := tuple(index for index in unwanted if index not in known):
            raise NoSuchValue(found.name, missing)
        act = Redaction(reason, to_seconds(now), "", indexes=unwanted)
        redacted = {version: _without(past[version], act) for version, values in held.items() if values}
        tx.redact(found.subject, {version: records.encode(left) for version, left in redacted.items()})
        return change.revise(tx, found, _without(found.record, act), by, "redact", now, reason)

    return await registry.store.write(work)


async def leaves_traces(registry: Registry) -> bool:
    """Return whether bytes of what was redacted may still lie in unused parts of the store's file."""
    return await registry.store.read(lambda reader: reader.fact(UNSCRUBBED)) is not None


def act_on(written: bytes, record: Record, act: Redaction) -> Redaction:
    """Return this act for one version: with the digest of its record until now, and the acts before it."""
    earlier = () if record.redaction is None else record.redaction.acts
    return msgspec.structs.replace(act, sha256=sha256(written).hexdigest(), earlier=earlier)


def _without(written: bytes, act: Redaction) -> Record:
    record = records.decode(written)
    values = tuple(value for value in record.values if value.index not in act.indexes)
    return msgspec.structs.replace(record, values=values, redaction=act_on(written, record, act))


def _chosen(record: Record, indexes: Sequence[int]) -> list[Value]:
    return [value for value in record.values if value.index in indexes]
