"""Splits of one reconstruction into several persons, and their undoing."""

from collections.abc import Sequence

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.names import ppid
from perdure.records.person import Reconstruction
from perdure.records.person_validation import check_reconstruction
from perdure.records.record import Tombstone
from perdure.records.validation import check_one_line
from perdure.registry.entities import Agent
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.identity import Person, append_version
from perdure.registry.persons.reconstructing import (
    Curation,
    combine_reconstructions,
    put_first_version,
    put_next_version,
    require_active_reconstruction,
)
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

_FEWEST, _MOST = 2, 100
_CURATION_REQUIRED = (
    "the parts were revised since the split, and {} takes that over: the curator and the time are required"
)


async def split(
    registry: Registry,
    by: Agent,
    name: str,
    parts: Sequence[Sequence[str]],
    curation: Curation,
    reason: str,
    *,
    expected_version: int | None = None,
) -> list[Person]:
    """Create a PRID for each of these sets of observations, in place of one. Each observation goes to one of them."""
    check_one_line(reason, "reason", registry.settings.limits.text_characters)
    if not _FEWEST <= len(parts) <= _MOST:
        raise InvalidInput("person", "parts", f"a split has {_FEWEST} to {_MOST} parts, not {len(parts)}")
    sets = [ppid.canonical_observations(part) for part in parts]

    def work(tx: Transaction) -> list[Person]:
        now = registry.current_time()
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "withdraw", prefix.key, now, record)
        require_permission(tx, by, "mint", require_prefix(tx, "PRID").key, now)
        before = require_active_reconstruction(identifier, record)
        _check_parts(before, sets)
        persons = []
        for part in sets:
            reconstruction = Reconstruction(
                tuple(part),
                curation.curator_id,
                curation.timestamp,
                claims=tuple(one for one in before.claims if one.observation_id in part),
                replaces=(identifier.name,),
            )
            reconstruction = check_reconstruction(curation.apply_to(reconstruction), registry.settings.limits)
            accepted = before.observation_ids
            person = put_first_version(
                registry, tx, by, reconstruction, now, "split", accepted=accepted, restriction=record.restriction
            )
            if not person.created:
                raise WrongState(person.name, "already registered", "new: give another timestamp")
            persons.append(person)
        tombstone = Tombstone(reason, successors=tuple(person.name for person in persons))
        withdrawn = msgspec.structs.replace(record, state="withdrawn", tombstone=tombstone)
        append_version(registry, tx, by, identifier, withdrawn, "split", reason)
        return persons

    return await registry.store.write(work)


async def undo_split(
    registry: Registry,
    by: Agent,
    name: str,
    reason: str,
    curation: Curation | None = None,
    *,
    expected_version: int | None = None,
) -> int:
    """Undo a split: the PRID is active again, and its parts lead to it.

    It takes over what the parts gained since. That is a new conclusion, which needs a curator.
    """
    check_one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.current_time()
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "withdraw", prefix.key, now, record)
        tombstone, before = record.tombstone, record.reconstruction
        if tombstone is None or not tombstone.successors or before is None:
            raise WrongState(identifier.name, record.state, "split")
        parts = [require_identifier(tx, one) for one in tombstone.successors]
        part_reconstructions = []
        for part, part_record, part_prefix in parts:
            require_permission(tx, by, "withdraw", part_prefix.key, now, part_record)
            part_reconstructions.append(require_active_reconstruction(part, part_record))
            if part_record.restriction is not None and record.restriction is None:
                raise WrongState(identifier.name, "public", f"restricted, like {part.name}")
        active_record = msgspec.structs.replace(record, state="active", tombstone=None)
        combined = _rejoin_parts(before, part_reconstructions, {identifier.name, *tombstone.successors})
        if combined == before:
            version = append_version(registry, tx, by, identifier, active_record, "undo split", reason)
        else:
            if curation is None:
                raise InvalidInput("person", "curator_id", _CURATION_REQUIRED.format(identifier.name))
            require_permission(tx, by, "edit", prefix.key, now, record)
            reconstruction = check_reconstruction(curation.apply_to(combined), registry.settings.limits)
            accepted = reconstruction.observation_ids
            version = put_next_version(
                registry, tx, by, identifier, active_record, reconstruction, "undo split", reason, accepted=accepted
            )
        for part, part_record, _ in parts:
            withdrawn = msgspec.structs.replace(
                part_record, state="merged", tombstone=Tombstone(reason, identifier.name)
            )
            append_version(registry, tx, by, part, withdrawn, "undo split", reason)
        return version

    return await registry.store.write(work)


def _rejoin_parts(before: Reconstruction, parts: Sequence[Reconstruction], family: set[str]) -> Reconstruction:
    """Combine a reconstruction with its parts, without the statements that the parts are different persons."""
    part_reconstructions = combine_reconstructions(before, *parts)
    for field in ("different_from", "replaces"):
        part_reconstructions[field] = tuple(one for one in part_reconstructions[field] if one not in family)
    return msgspec.structs.replace(before, **part_reconstructions)


def _check_parts(before: Reconstruction, sets: Sequence[Sequence[str]]) -> None:
    """Check that each observation is in exactly one part, and that none comes from elsewhere."""
    given = [one for part in sets for one in part]
    for one in given:
        if one not in before.observation_ids:
            raise InvalidInput("person", "parts", f"{one} is not one of the observations of this reconstruction")
        if given.count(one) > 1:
            raise InvalidInput("person", "parts", f"{one} is in two parts")
    for one in before.observation_ids:
        if one not in given:
            raise InvalidInput("person", "parts", f"{one} is in no part: each observation must be in one part")
