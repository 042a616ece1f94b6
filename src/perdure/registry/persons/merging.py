"""Merges of two reconstructions of the same person, and their undoing."""

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.person import Reconstruction
from perdure.records.person_validation import check_reconstruction
from perdure.records.record import Tombstone
from perdure.records.validation import check_one_line
from perdure.registry.entities import Agent, Identifier
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.identity import append_version
from perdure.registry.persons.reconstructing import (
    COMBINED_FIELDS,
    Curation,
    combine_reconstructions,
    put_next_version,
    require_active_reconstruction,
)
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

_CIRCULAR = "No circular references"


async def merge(
    registry: Registry,
    by: Agent,
    name: str,
    into: str,
    curation: Curation,
    reason: str,
    *,
    expected_version: int | None = None,
) -> int:
    """Merge one PRID into another, to which it leads from now on. Return the new version of the surviving one."""
    check_one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.current_time()
        merged, merged_record, merged_prefix = require_identifier(tx, name, expected_version)
        survivor, survivor_record, survivor_prefix = require_identifier(tx, into)
        require_permission(tx, by, "withdraw", merged_prefix.key, now, merged_record)
        require_permission(tx, by, "edit", survivor_prefix.key, now, survivor_record)
        if merged.key == survivor.key:
            raise InvalidInput("person", "into", f"{survivor.name} cannot be merged into itself", _CIRCULAR)
        theirs, ours = (
            require_active_reconstruction(merged, merged_record),
            require_active_reconstruction(survivor, survivor_record),
        )
        _refuse_different_persons(merged.name, theirs, survivor.name, ours)
        if merged_record.restriction is not None and survivor_record.restriction is None:
            raise WrongState(survivor.name, "public", f"restricted, like {merged.name}")
        both = curation.apply_to(msgspec.structs.replace(ours, **combine_reconstructions(ours, theirs)))
        both = msgspec.structs.replace(both, replaces=(*both.replaces, merged.name))
        combined = check_reconstruction(both, registry.settings.limits)
        note = f"merged {merged.name}: {reason}"
        accepted = combined.observation_ids
        version = put_next_version(
            registry, tx, by, survivor, survivor_record, combined, "merge", note, accepted=accepted
        )
        tombstone = Tombstone(reason, survivor.name, merged_at=version)
        closed_record = msgspec.structs.replace(merged_record, state="merged", tombstone=tombstone)
        append_version(registry, tx, by, merged, closed_record, "merge", reason)
        return version

    return await registry.store.write(work)


async def undo_merge(
    registry: Registry, by: Agent, name: str, curation: Curation, reason: str, *, expected_version: int | None = None
) -> tuple[int, int]:
    """Undo a merge: the merged PRID is active again, and what it brought is removed from the surviving one.

    Return the new versions of both: of the reactivated PRID, and of the surviving one.
    """
    check_one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> tuple[int, int]:
        now = registry.current_time()
        merged, merged_record, merged_prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "withdraw", merged_prefix.key, now, merged_record)
        tombstone, merged_reconstruction = merged_record.tombstone, merged_record.reconstruction
        if merged_record.state != "merged" or tombstone is None or merged_reconstruction is None:
            raise WrongState(merged.name, merged_record.state, "merged")
        if tombstone.replaced_by is None or tombstone.merged_at is None:
            raise WrongState(
                merged.name, "merged, but the version of the merge is not recorded", "merged with a recorded version"
            )
        survivor, survivor_record, survivor_prefix = require_identifier(tx, tombstone.replaced_by)
        require_permission(tx, by, "edit", survivor_prefix.key, now, survivor_record)
        current = require_active_reconstruction(survivor, survivor_record)
        reconstruction = _without_merged(
            current, *_versions_around_merge(tx, survivor, tombstone.merged_at), merged.name
        )
        if not reconstruction.observation_ids:
            reason_against = f"{survivor.name} would have no observations left: withdraw it, or revise it first"
            raise InvalidInput("person", "observation_ids", reason_against, "PRID must have observations")
        reconstruction = check_reconstruction(curation.apply_to(reconstruction), registry.settings.limits)
        active_record = msgspec.structs.replace(merged_record, state="active", tombstone=None)
        merged_version = append_version(registry, tx, by, merged, active_record, "undo merge", reason)
        note = f"undid the merge of {merged.name}: {reason}"
        return merged_version, put_next_version(
            registry, tx, by, survivor, survivor_record, reconstruction, "undo merge", note
        )

    return await registry.store.write(work)


def _refuse_different_persons(merged: str, theirs: Reconstruction, survivor: str, ours: Reconstruction) -> None:
    """Refuse to merge persons that are recorded as different, including the persons that either of them replaced."""
    if {survivor, *ours.replaces} & set(theirs.different_from) or {merged, *theirs.replaces} & set(ours.different_from):
        reason = f"{merged} and {survivor} are recorded as different persons: revise that first"
        raise InvalidInput("person", "into", reason)


def _versions_around_merge(
    tx: Transaction, survivor: Identifier, merged_at: int
) -> tuple[Reconstruction, Reconstruction]:
    """Return the reconstruction of the surviving person before the merge, and after."""
    versions = []
    for version in (merged_at - 1, merged_at):
        revision = tx.revision(survivor.subject, version)
        reconstruction = None if revision is None else records.decode(revision.record).reconstruction
        if reconstruction is None:
            raise WrongState(
                survivor.name,
                f"redacted in version {version}",
                "not redacted in the versions before and after the merge",
            )
        versions.append(reconstruction)
    return versions[0], versions[1]


def _without_merged(now: Reconstruction, before: Reconstruction, after: Reconstruction, merged: str) -> Reconstruction:
    """Return the current reconstruction without what came by the merge, and with what the merge displaced."""

    def remaining_items(field: str) -> tuple[object, ...]:
        current, old, new = (getattr(one, field) for one in (now, before, after))
        brought, lost = set(new) - set(old), set(old) - set(new)
        return (*(one for one in current if one not in brought), *(one for one in old if one in lost - set(current)))

    result = msgspec.structs.replace(now, **{field: remaining_items(field) for field in COMBINED_FIELDS})
    return msgspec.structs.replace(
        result,
        replaces=tuple(one for one in result.replaces if one != merged),
        claims=tuple(one for one in result.claims if one.observation_id in result.observation_ids),
    )
