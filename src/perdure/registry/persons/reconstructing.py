"""Reconstructions: a person as a curator combines them from observations, and their revisions."""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from perdure.errors import Immutable, InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.person import ChosenClaim, Claim, Reconstruction, Restriction
from perdure.records.person_validation import check_reconstruction, refuse_self_reference
from perdure.records.record import Record
from perdure.registry.entities import Agent, Identifier
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.identity import (
    Person,
    append_version,
    create_person,
    known_person,
    reconstruction_inputs,
)
from perdure.registry.persons.restricting import can_view
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

COMBINED_FIELDS: Final = ("observation_ids", "claims", "links", "employment", "different_from", "replaces")
_OBSERVATIONS_REQUIRED = "PRID must have observations"
_Claims = dict[str, tuple[Claim, ...] | None]  # by observation; None where they were redacted


class Curation(NamedTuple):
    """The curator of a conclusion (by a resolvable identifier) or the algorithm (by name and version), and the time."""

    curator_id: str
    timestamp: str
    curator_name: str | None = None
    algorithm_version: str | None = None
    activity: str | None = None

    def apply_to(self, reconstruction: Reconstruction) -> Reconstruction:
        """Return the reconstruction with this curator in place of its own."""
        return msgspec.structs.replace(reconstruction, **self._asdict())


async def reconstruct(
    registry: Registry,
    by: Agent,
    observation_ids: Sequence[str],
    curator_id: str,
    timestamp: str,
    details: Reconstruction | None = None,
) -> Person:
    """Return the PRID of a reconstruction, new or known. Every observation must exist.

    `details` holds the optional fields.
    """
    reconstruction = _build_reconstruction(registry, observation_ids, curator_id, timestamp, details)

    def work(tx: Transaction) -> Person:
        at = registry.current_time()
        require_permission(tx, by, "mint", require_prefix(tx, "PRID").key, at)
        return put_first_version(registry, tx, by, reconstruction, at)

    return await registry.store.write(work)


async def revise_reconstruction(
    registry: Registry,
    by: Agent,
    name: str,
    observation_ids: Sequence[str],
    curator_id: str,
    timestamp: str,
    details: Reconstruction | None = None,
    *,
    expected_version: int | None = None,
    note: str | None = None,
) -> int:
    """Write a new version of a PRID. Return its number; the old version stays."""
    reconstruction = _build_reconstruction(registry, observation_ids, curator_id, timestamp, details)

    def work(tx: Transaction) -> int:
        now = registry.current_time()
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "edit", prefix.key, now, record)
        current = require_active_reconstruction(identifier, record)
        is_public = record.restriction is None
        _require_visible_claims(tx, by, now, reconstruction, current)
        revised = msgspec.structs.replace(reconstruction, replaces=current.replaces)
        new = with_evidence(tx, revised, accepted=current.observation_ids, is_public=is_public)
        if current == new:
            return identifier.version
        return put_next_version(registry, tx, by, identifier, record, new, "revise", note)

    return await registry.store.write(work)


def _require_visible_claims(
    reader: Reader, by: Agent, now: str, reconstruction: Reconstruction, before: Reconstruction
) -> None:
    """Require permission to see the claims that are newly chosen: choosing a restricted claim reveals its content."""
    chosen_before = {(one.observation_id, one.claim) for one in before.claims}
    new = sorted(
        {one.observation_id for one in reconstruction.claims if (one.observation_id, one.claim) not in chosen_before}
    )
    for name, row in reader.find_many(new).items():
        record = records.decode(row.record)
        if record.restriction is not None:
            require_permission(reader, by, "edit", require_prefix(reader, name[:4]).key, now, record)


def _build_reconstruction(
    registry: Registry, observation_ids: Sequence[str], curator_id: str, timestamp: str, details: Reconstruction | None
) -> Reconstruction:
    if isinstance(observation_ids, str):
        raise InvalidInput(
            "ppid", "observation_ids", "the observations must be a list of POIDs", _OBSERVATIONS_REQUIRED
        )
    inputs = Reconstruction(tuple(observation_ids), curator_id, timestamp)
    if details is not None:
        more = {field: getattr(details, field) for field in details.__struct_fields__[3:]}
        inputs = msgspec.structs.replace(inputs, **{**more, "replaces": ()})
    return check_reconstruction(inputs, registry.settings.limits)


def put_first_version(
    registry: Registry,
    tx: Transaction,
    by: Agent,
    reconstruction: Reconstruction,
    at: str,
    act: str = "mint",
    *,
    accepted: Collection[str] = (),
    restriction: Restriction | None = None,
) -> Person:
    """Return the PRID of these inputs, new or known."""
    inputs = reconstruction_inputs(registry, reconstruction)
    known = tx.person(inputs.text)
    if known is None:
        new = with_evidence(tx, reconstruction, accepted=accepted, is_public=restriction is None)
        return create_person(registry, tx, by, inputs, at, reconstruction=new, restriction=restriction, act=act)
    if reconstruction != Reconstruction(
        reconstruction.observation_ids, reconstruction.curator_id, reconstruction.timestamp
    ):
        _refuse_different_content(tx, by, at, known, reconstruction)
    row = tx.find(known)
    return known_person(known, inputs.uuid, row, sees=can_view(tx, by, at, row))


def _refuse_different_content(tx: Transaction, by: Agent, now: str, known: str, reconstruction: Reconstruction) -> None:
    """Refuse content that differs from the first version.

    If the agent may not see that, refuse any: it could be guessed.
    """
    first = tx.revision(known, 1)
    before = None if first is None else records.decode(first.record).reconstruction
    is_other = before is not None and _curator_input(before) != _curator_input(reconstruction)
    if is_other or not can_view(tx, by, now, tx.find(known)):
        raise Immutable(known, "its first version has other content: revise it instead")


def _curator_input(reconstruction: Reconstruction) -> Reconstruction:
    """Return the curator's own input: without the copied claims and the replaced persons, which the registry added."""
    chosen = tuple(ChosenClaim(one.observation_id, one.claim) for one in reconstruction.claims)
    return msgspec.structs.replace(reconstruction, claims=chosen, replaces=())


def put_next_version(
    registry: Registry,
    tx: Transaction,
    by: Agent,
    identifier: Identifier,
    record: Record,
    reconstruction: Reconstruction,
    act: str,
    note: str | None = None,
    *,
    accepted: Collection[str] | None = None,
) -> int:
    """Write the next version.

    `accepted` are observations that may be withdrawn or redacted; by default those of the record.
    """
    refuse_self_reference(identifier.name, reconstruction)
    if accepted is None:
        accepted = () if record.reconstruction is None else record.reconstruction.observation_ids
    new = with_evidence(tx, reconstruction, accepted=accepted, is_public=record.restriction is None)
    return append_version(registry, tx, by, identifier, msgspec.structs.replace(record, reconstruction=new), act, note)


def require_active_reconstruction(identifier: Identifier, record: Record) -> Reconstruction:
    """Return the reconstruction. Raise if the identifier is not one, or is not active."""
    if record.reconstruction is None and record.redaction is not None:
        raise WrongState(identifier.name, "redacted", "not redacted")
    if record.reconstruction is None:
        raise InvalidInput("ppid", "name", f"{identifier.name} is not a reconstruction (PRID)")
    if record.state != "active":
        raise WrongState(identifier.name, record.state, "active")
    return record.reconstruction


def with_evidence(
    reader: Reader, reconstruction: Reconstruction, *, accepted: Collection[str] = (), is_public: bool = True
) -> Reconstruction:
    """Return the reconstruction with the content of its chosen claims.

    The observations and other persons must exist.
    """
    result = with_claims(reader, reconstruction, accepted=accepted, is_public=is_public)
    others = reader.find_many(reconstruction.different_from) if reconstruction.different_from else {}
    for name in reconstruction.different_from:
        if name not in others:
            raise InvalidInput("person", "different_from", f"{name} is not registered here")
    return result


def with_claims(
    reader: Reader, reconstruction: Reconstruction, *, accepted: Collection[str], is_public: bool
) -> Reconstruction:
    """Return the reconstruction with the content of its chosen claims. Their observations must exist.

    A withdrawn or redacted observation cannot be added; `accepted` are those that the reconstruction was based on
    already. If the reconstruction is public (`is_public`), it cannot choose claims of a restricted observation.
    """
    public = {one.observation_id for one in reconstruction.claims} if is_public else ()
    claims = _find_claims(reader, reconstruction.observation_ids, accepted, public)
    for number, chosen in enumerate(reconstruction.claims, 1):
        available = claims[chosen.observation_id]
        if available is not None and chosen.claim > len(available):
            reason = f"{chosen.observation_id} has no claim {chosen.claim}: its claims are 1 to {len(available)}"
            raise InvalidInput("person", f"claims[{number}].claim", reason)
    _refuse_inferred_over_verified(reconstruction, claims)
    if not reconstruction.claims:
        return reconstruction
    copied = tuple(
        ChosenClaim(one.observation_id, one.claim, _find_claim(claims, one)) for one in reconstruction.claims
    )
    return msgspec.structs.replace(reconstruction, claims=copied)


def _find_claim(claims: _Claims, chosen: ChosenClaim) -> Claim | None:
    available = claims[chosen.observation_id]
    return None if available is None else available[chosen.claim - 1]


def _find_claims(
    reader: Reader, observations: Sequence[str], accepted: Collection[str], public: Collection[str]
) -> _Claims:
    rows = reader.find_many(observations)
    claims: _Claims = {}
    for name in observations:
        record = records.decode(rows[name].record) if name in rows else None
        if record is not None and record.redaction is not None and name in accepted:
            claims[name] = None
            continue
        if record is not None and record.redaction is not None:
            raise WrongState(name, "redacted", "not redacted")
        if record is None or record.observation is None:
            raise InvalidInput(
                "ppid", "observation_ids", f"{name} is not registered here: observe it first", _OBSERVATIONS_REQUIRED
            )
        if record.state != "active" and name not in accepted:
            raise WrongState(name, record.state, "active")
        if record.restriction is not None and name in public:
            raise WrongState(name, "restricted", "public, or used by a restricted reconstruction")
        claims[name] = record.observation.claims
    return claims


def _refuse_inferred_over_verified(reconstruction: Reconstruction, claims: _Claims) -> None:
    """Refuse an inferred claim in place of a verified one; it may only be chosen beside one."""
    chosen = [_find_claim(claims, one) for one in reconstruction.claims]
    verified = {claim.type for claim in chosen if claim is not None and claim.status == "verified"}
    known = {claim.type for available in claims.values() for claim in available or () if claim.status == "verified"}
    for number, claim in enumerate(chosen, 1):
        if claim is not None and claim.status == "inferred" and claim.type in known - verified:
            inferred = f"{reconstruction.claims[number - 1].observation_id}:{reconstruction.claims[number - 1].claim}"
            reason = (
                f"{inferred}, the {claim.type}, is inferred, and would replace a verified claim: "
                f"choose {' or '.join(_verified_claims(claims, claim.type))} as well; "
                "before a merge or a split, revise the person first"
            )
            raise InvalidInput("person", f"claims[{number}]", reason)


def _verified_claims(claims: _Claims, kind: str) -> list[str]:
    return [
        f"{name}:{number}"
        for name, available in claims.items()
        for number, claim in enumerate(available or (), 1)
        if claim.type == kind and claim.status == "verified"
    ]


def combine_reconstructions(*reconstructions: Reconstruction) -> dict[str, tuple[Any, ...]]:
    """Combine the fields of several reconstructions of one person. Each item is kept once, in order.

    A close link is dropped if another reconstruction has an exact link to the same person.
    """
    combined = {
        field: dict.fromkeys(one for reconstruction in reconstructions for one in getattr(reconstruction, field))
        for field in COMBINED_FIELDS
    }
    same = {(link.scheme, link.value) for link in combined["links"] if link.relation == "exact"}
    links = (link for link in combined["links"] if link.relation == "exact" or (link.scheme, link.value) not in same)
    return {
        **{field: tuple(items) for field, items in combined.items()},
        "observation_ids": tuple(sorted(combined["observation_ids"])),
        "links": tuple(links),
    }
