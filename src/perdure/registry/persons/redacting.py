"""Redaction of persons: content that the law requires to be deleted is removed from every version, permanently.

The reason and the date of the redaction stay.
"""

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.person import ChosenClaim, Redaction
from perdure.records.record import Record
from perdure.records.validation import check_one_line
from perdure.registry.entities import Agent, Revision
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.identity import append_version
from perdure.registry.persons.restricting import find_replacements
from perdure.registry.redaction import redaction_for_version
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction


async def redact(
    registry: Registry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> tuple[int, list[str]]:
    """Remove the whole content of a person. Copies of an observation's claims in reconstructions are removed too.

    Return the new version, and the reconstructions that were redacted too. The identifier stays, and its inputs keep
    leading to it. Copies that were made before, as backups, still hold everything.
    """
    check_one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> tuple[int, list[str]]:
        now = registry.current_time()
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "admin", prefix.key, now, record)
        if identifier.scheme != "ppid":
            reason_against = (
                f"{identifier.name} is not a person: to redact values of another identifier, use perdure redact"
            )
            raise InvalidInput("person", "name", reason_against)
        if record.is_redacted:
            raise WrongState(identifier.name, "redacted", "not redacted")
        if unredacted := [name for name, successor in find_replacements(tx, record) if not successor.is_redacted]:
            raise WrongState(
                identifier.name, f"merged or split into {', '.join(unredacted)}", "redacted last: redact these first"
            )
        at = to_seconds(now)
        version = _redact_person(registry, tx, by, identifier.name, reason, at, None)
        others = tx.derived_from(identifier.name) if record.observation is not None else []
        for other in others:
            _redact_person(registry, tx, by, other, reason, at, identifier.name)
        return version, others

    return await registry.store.write(work)


def _redact_person(
    registry: Registry, tx: Transaction, by: Agent, name: str, reason: str, at: str, of: str | None
) -> int:
    identifier, record, _ = require_identifier(tx, name)
    revisions = tx.revisions(identifier.subject)
    act = Redaction(reason, at, "", of)
    tx.redact(identifier.subject, {one.version: _redact_revision(one, act) for one in revisions})
    return append_version(
        registry,
        tx,
        by,
        identifier,
        _redact_record(record, redaction_for_version(identifier.record, record, act)),
        "redact",
        reason,
    )


def _redact_revision(revision: Revision, act: Redaction) -> bytes:
    """Return the redacted record of one version."""
    record = records.decode(revision.record)
    return records.encode(_redact_record(record, redaction_for_version(revision.record, record, act)))


def _redact_record(record: Record, redaction: Redaction) -> Record:
    """Return what stays: responsible parties, dates and state; in a derived reconstruction, all that was not copied."""
    if record.is_redacted:
        return record  # there is nothing left to redact
    if redaction.of is None or record.reconstruction is None:
        tombstone = record.tombstone
        return Record(
            state=record.state,
            creator=record.creator,
            owners=record.owners,
            created=record.created,
            tombstone=None if tombstone is None else msgspec.structs.replace(tombstone, reason="redacted"),
            redaction=redaction,
        )
    claims = tuple(
        ChosenClaim(one.observation_id, one.claim) if one.observation_id == redaction.of else one
        for one in record.reconstruction.claims
    )
    reconstruction = msgspec.structs.replace(record.reconstruction, claims=claims)
    return msgspec.structs.replace(record, reconstruction=reconstruction, redaction=redaction)
