"""Redact: what the law wants gone is taken out of every version, for good. That it was, why and when, stays."""

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.authority import to_seconds
from perdure.records.checks import one_line
from perdure.records.person import ChosenClaim, Redaction
from perdure.records.record import Record
from perdure.registry.authority import require
from perdure.registry.entities import Agent, Revision
from perdure.registry.existing import existing
from perdure.registry.persons.putting import put
from perdure.registry.persons.restricting import heirs
from perdure.registry.protocol import Transaction
from perdure.registry.redaction import act_on
from perdure.registry.registry import Registry


async def redact(
    registry: Registry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> tuple[int, list[str]]:
    """Take out all that is said of a person. What reconstructions had copied of an observation goes with it.

    Returns the new version, and the reconstructions that were redacted too. The identifier stays, and its inputs go on
    leading to it. Copies that were made before, as backups, still hold everything.
    """
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> tuple[int, list[str]]:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "admin", prefix.key, now, record)
        if found.scheme != "ppid":
            reason_against = f"{found.name} is not a person: to redact values of another identifier, use perdure redact"
            raise InvalidInput("person", "name", reason_against)
        if record.is_redacted:
            raise WrongState(found.name, "redacted", "whole")
        if whole := [one for one, said in heirs(tx, record) if not said.is_redacted]:
            raise WrongState(found.name, f"taken up by {', '.join(whole)}", "redacted after these, or not taken up")
        at = to_seconds(now)
        version = _redact(registry, tx, by, found.name, reason, at, None)
        others = tx.derived_from(found.name) if record.observation is not None else []
        for other in others:
            _redact(registry, tx, by, other, reason, at, found.name)
        return version, others

    return await registry.store.write(work)


def _redact(registry: Registry, tx: Transaction, by: Agent, name: str, reason: str, at: str, of: str | None) -> int:
    found, record, _ = existing(tx, name)
    revisions = tx.revisions(found.subject)
    act = Redaction(reason, at, "", of)
    tx.redact(found.subject, {one.version: _without(one, act) for one in revisions})
    return put(registry, tx, by, found, _left(record, act_on(found.record, record, act)), "redact", reason)


def _without(revision: Revision, act: Redaction) -> bytes:
    """One version as it is kept from now on."""
    record = records.decode(revision.record)
    return records.encode(_left(record, act_on(revision.record, record, act)))


def _left(record: Record, said: Redaction) -> Record:
    """What stays of a record: who answers for it, since when, and what became of it; of others, what was not copied."""
    if record.is_redacted:
        return record  # nothing is left to be taken out
    if said.of is None or record.reconstruction is None:
        stone = record.tombstone
        return Record(
            state=record.state,
            creator=record.creator,
            owners=record.owners,
            created=record.created,
            tombstone=None if stone is None else msgspec.structs.replace(stone, reason="redacted"),
            redaction=said,
        )
    claims = tuple(
        ChosenClaim(one.observation_id, one.claim) if one.observation_id == said.of else one
        for one in record.reconstruction.claims
    )
    made = msgspec.structs.replace(record.reconstruction, claims=claims)
    return msgspec.structs.replace(record, reconstruction=made, redaction=said)
