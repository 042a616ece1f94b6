"""Reconstruct: a person, as somebody puts them together from observations; and think again."""

from collections.abc import Sequence

import msgspec

from perdure.errors import Immutable, InvalidInput, WrongState
from perdure.names import ppid
from perdure.records import record as records
from perdure.records.person import ChosenClaim, Claim, Reconstruction
from perdure.records.person_checks import checked_reconstruction, refuse_itself
from perdure.records.record import Record
from perdure.registry.authority import require
from perdure.registry.entities import Agent, Identifier
from perdure.registry.existing import existing
from perdure.registry.naming import known_prefix
from perdure.registry.persons.identity import Person, create
from perdure.registry.persons.putting import put
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry

_NEEDED = "PRID must have observations"


async def reconstruct(
    registry: Registry,
    by: Agent,
    observation_ids: Sequence[str],
    curator_id: str,
    timestamp: str,
    said: Reconstruction | None = None,
) -> Person:
    """The PRID of a reconstruction. Every observation that it names must exist. `said` holds what there is to add."""
    made = _made(registry, observation_ids, curator_id, timestamp, said)

    def work(tx: Transaction) -> Person:
        at = registry.now()
        require(tx, by, "mint", known_prefix(tx, "PRID").key, at)
        return first_version(registry, tx, by, made, at)

    return await registry.store.write(work)


async def revise_reconstruction(
    registry: Registry,
    by: Agent,
    name: str,
    observation_ids: Sequence[str],
    curator_id: str,
    timestamp: str,
    said: Reconstruction | None = None,
    *,
    expected_version: int | None = None,
    note: str | None = None,
) -> int:
    """A new version of a PRID: same name, next number, the old version stays."""
    made = _made(registry, observation_ids, curator_id, timestamp, said)

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "edit", prefix.key, now, record)
        before = standing(found, record)
        new = grounded(tx, msgspec.structs.replace(made, replaces=before.replaces))
        if before == new:
            return found.version
        return next_version(registry, tx, by, found, record, new, "revise", note)

    return await registry.store.write(work)


def _made(
    registry: Registry, observation_ids: Sequence[str], curator_id: str, timestamp: str, said: Reconstruction | None
) -> Reconstruction:
    if isinstance(observation_ids, str):
        raise InvalidInput("ppid", "observation_ids", "the observations must be a list of POIDs", _NEEDED)
    inputs = Reconstruction(tuple(observation_ids), curator_id, timestamp)
    if said is not None:
        more = {field: getattr(said, field) for field in said.__struct_fields__[3:]}
        inputs = msgspec.structs.replace(inputs, **{**more, "replaces": ()})
    return checked_reconstruction(inputs, registry.settings.limits)


def first_version(
    registry: Registry, tx: Transaction, by: Agent, made: Reconstruction, at: str, act: str = "mint"
) -> Person:
    """The PRID of these inputs, new or known."""
    raw = ppid.prid_uuid(made.observation_ids, made.curator_id, made.timestamp, namespace=registry.ppid_namespace)
    known = tx.person(str(raw))
    if known is None:
        return create(registry, tx, by, "PRID", raw, at, reconstruction=grounded(tx, made), act=act)
    if made != Reconstruction(made.observation_ids, made.curator_id, made.timestamp):
        first = tx.revision(known, 1)
        if first is not None and records.decode(first.record).reconstruction != grounded(tx, made):
            raise Immutable(known, "its first version says something else: revise it instead")
    return Person(known, raw, created=False)


def next_version(
    registry: Registry,
    tx: Transaction,
    by: Agent,
    found: Identifier,
    record: Record,
    made: Reconstruction,
    act: str,
    note: str | None = None,
) -> int:
    """Write down what is concluded now."""
    refuse_itself(found.name, made)
    revised = msgspec.structs.replace(record, reconstruction=grounded(tx, made))
    return put(registry, tx, by, found, revised, act, note)


def standing(found: Identifier, record: Record) -> Reconstruction:
    """What is concluded at present, if the identifier is a reconstruction that stands."""
    if record.reconstruction is None:
        raise InvalidInput("ppid", "name", f"{found.name} is no reconstruction (PRID)")
    if record.state != "active":
        raise WrongState(found.name, record.state, "active")
    return record.reconstruction


def grounded(reader: Reader, made: Reconstruction) -> Reconstruction:
    """With what the chosen claims say. What it stands upon must be there: observations, claims, and namesakes."""
    claims = _claims(reader, made.observation_ids)
    for number, chosen in enumerate(made.claims, 1):
        if chosen.claim > len(claims[chosen.observation_id]):
            there = len(claims[chosen.observation_id])
            reason = f"{chosen.observation_id} makes {there} claims, and there is no number {chosen.claim}"
            raise InvalidInput("person", f"claims[{number}].claim", reason)
    _refuse_inferred_instead(made, claims)
    others = reader.find_many(made.different_from)
    for name in made.different_from:
        if name not in others:
            raise InvalidInput("person", "different_from", f"{name} is not registered here")
    if not made.claims:
        return made
    copied = tuple(
        ChosenClaim(one.observation_id, one.claim, claims[one.observation_id][one.claim - 1]) for one in made.claims
    )
    return msgspec.structs.replace(made, claims=copied)


def _claims(reader: Reader, observations: Sequence[str]) -> dict[str, tuple[Claim, ...]]:
    found = reader.find_many(observations)
    claims = {}
    for name in observations:
        row = found.get(name)
        seen = None if row is None else records.decode(row.record).observation
        if row is None or seen is None:
            raise InvalidInput("ppid", "observation_ids", f"{name} is not registered here: observe it first", _NEEDED)
        if row.state != "active":
            raise WrongState(name, row.state, "active")
        claims[name] = seen.claims
    return claims


def _refuse_inferred_instead(made: Reconstruction, claims: dict[str, tuple[Claim, ...]]) -> None:
    """What was inferred may stand beside what was verified, and never in its place."""
    chosen = [claims[one.observation_id][one.claim - 1] for one in made.claims]
    verified = {claim.type for claim in chosen if claim.status == "verified"}
    known = {claim.type for made_there in claims.values() for claim in made_there if claim.status == "verified"}
    for number, claim in enumerate(chosen, 1):
        if claim.status == "inferred" and claim.type in known - verified:
            reason = (
                f"this {claim.type} was inferred, and would take the place of one that was verified: "
                "choose the verified one as well"
            )
            raise InvalidInput("person", f"claims[{number}]", reason)
