"""Reconstruct: a person, as somebody puts them together from observations; and think again."""

from collections.abc import Collection, Sequence

import msgspec

from perdure.errors import Immutable, InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.person import ChosenClaim, Claim, Reconstruction, Restriction
from perdure.records.person_checks import checked_reconstruction, refuse_itself
from perdure.records.record import Record
from perdure.registry.authority import require
from perdure.registry.entities import Agent, Identifier
from perdure.registry.existing import existing
from perdure.registry.naming import known_prefix
from perdure.registry.persons.identity import Person, concluded_inputs, create
from perdure.registry.persons.putting import put
from perdure.registry.persons.restricting import may_know
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry

_NEEDED = "PRID must have observations"
_Claims = dict[str, tuple[Claim, ...] | None]  # by observation; None where they were redacted


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
        shown = record.restriction is None
        _require_sight(tx, by, now, made, before)
        said_now = msgspec.structs.replace(made, replaces=before.replaces)
        new = grounded(tx, said_now, stood=before.observation_ids, shown=shown)
        if before == new:
            return found.version
        return next_version(registry, tx, by, found, record, new, "revise", note)

    return await registry.store.write(work)


def _require_sight(reader: Reader, by: Agent, now: str, made: Reconstruction, before: Reconstruction) -> None:
    """A claim that is not shown to everybody is chosen by who may see it: the choice tells what it says."""
    had = {(one.observation_id, one.claim) for one in before.claims}
    new = sorted({one.observation_id for one in made.claims if (one.observation_id, one.claim) not in had})
    for name, row in reader.find_many(new).items():
        record = records.decode(row.record)
        if record.restriction is not None:
            require(reader, by, "edit", known_prefix(reader, name[:4]).key, now, record)


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
    registry: Registry,
    tx: Transaction,
    by: Agent,
    made: Reconstruction,
    at: str,
    act: str = "mint",
    *,
    stood: Collection[str] = (),
    restriction: Restriction | None = None,
) -> Person:
    """The PRID of these inputs, new or known."""
    inputs = concluded_inputs(registry, made)
    known = tx.person(inputs.text)
    if known is None:
        new = grounded(tx, made, stood=stood, shown=restriction is None)
        return create(registry, tx, by, inputs, at, reconstruction=new, restriction=restriction, act=act)
    if made != Reconstruction(made.observation_ids, made.curator_id, made.timestamp):
        _refuse_other_words(tx, by, at, known, made)
    return Person(known, inputs.uuid, created=False)


def _refuse_other_words(tx: Transaction, by: Agent, now: str, known: str, made: Reconstruction) -> None:
    """Whoever says more than the inputs must say what was said; who may not see it could guess otherwise."""
    first = tx.revision(known, 1)
    before = None if first is None else records.decode(first.record).reconstruction
    is_other = before is not None and _said(before) != _said(made)
    if is_other or not may_know(tx, by, now, tx.find(known)):
        raise Immutable(known, "its first version says something else: revise it instead")


def _said(made: Reconstruction) -> Reconstruction:
    """What somebody said to make it: what the chosen claims say, and in whose place it came, the registry added."""
    chosen = tuple(ChosenClaim(one.observation_id, one.claim) for one in made.claims)
    return msgspec.structs.replace(made, claims=chosen, replaces=())


def next_version(
    registry: Registry,
    tx: Transaction,
    by: Agent,
    found: Identifier,
    record: Record,
    made: Reconstruction,
    act: str,
    note: str | None = None,
    *,
    stood: Collection[str] | None = None,
) -> int:
    """Write down what is concluded now. `stood` are the observations that need not be new; unless said, its own."""
    refuse_itself(found.name, made)
    if stood is None:
        stood = () if record.reconstruction is None else record.reconstruction.observation_ids
    new = grounded(tx, made, stood=stood, shown=record.restriction is None)
    return put(registry, tx, by, found, msgspec.structs.replace(record, reconstruction=new), act, note)


def standing(found: Identifier, record: Record) -> Reconstruction:
    """What is concluded at present, if the identifier is a reconstruction that stands."""
    if record.reconstruction is None and record.redaction is not None:
        raise WrongState(found.name, "redacted", "whole")
    if record.reconstruction is None:
        raise InvalidInput("ppid", "name", f"{found.name} is no reconstruction (PRID)")
    if record.state != "active":
        raise WrongState(found.name, record.state, "active")
    return record.reconstruction


def grounded(
    reader: Reader, made: Reconstruction, *, stood: Collection[str] = (), shown: bool = True
) -> Reconstruction:
    """With what the chosen claims say. What it stands upon must be there: observations, claims, and namesakes."""
    said = with_claims(reader, made, stood=stood, shown=shown)
    others = reader.find_many(made.different_from) if made.different_from else {}
    for name in made.different_from:
        if name not in others:
            raise InvalidInput("person", "different_from", f"{name} is not registered here")
    return said


def with_claims(reader: Reader, made: Reconstruction, *, stood: Collection[str], shown: bool) -> Reconstruction:
    """With what the chosen claims say, of observations that are there.

    An observation that was withdrawn or redacted carries nothing new; `stood` are those that it stood upon already.
    What is `shown` to everybody cannot choose the claims of an observation that is not.
    """
    public = {one.observation_id for one in made.claims} if shown else ()
    claims = _claims(reader, made.observation_ids, stood, public)
    for number, chosen in enumerate(made.claims, 1):
        there = claims[chosen.observation_id]
        if there is not None and chosen.claim > len(there):
            reason = f"{chosen.observation_id} makes {len(there)} claims, and there is no number {chosen.claim}"
            raise InvalidInput("person", f"claims[{number}].claim", reason)
    _refuse_inferred_instead(made, claims)
    if not made.claims:
        return made
    copied = tuple(ChosenClaim(one.observation_id, one.claim, _claim(claims, one)) for one in made.claims)
    return msgspec.structs.replace(made, claims=copied)


def _claim(claims: _Claims, chosen: ChosenClaim) -> Claim | None:
    there = claims[chosen.observation_id]
    return None if there is None else there[chosen.claim - 1]


def _claims(reader: Reader, observations: Sequence[str], stood: Collection[str], public: Collection[str]) -> _Claims:
    found = reader.find_many(observations)
    claims: _Claims = {}
    for name in observations:
        record = records.decode(found[name].record) if name in found else None
        if record is not None and record.redaction is not None and name in stood:
            claims[name] = None
            continue
        if record is not None and record.redaction is not None:
            raise WrongState(name, "redacted", "whole")
        if record is None or record.observation is None:
            raise InvalidInput("ppid", "observation_ids", f"{name} is not registered here: observe it first", _NEEDED)
        if record.state != "active" and name not in stood:
            raise WrongState(name, record.state, "active")
        if record.restriction is not None and name in public:
            raise WrongState(name, "restricted", "shown to everybody, or a reconstruction that is restricted too")
        claims[name] = record.observation.claims
    return claims


def _refuse_inferred_instead(made: Reconstruction, claims: _Claims) -> None:
    """What was inferred may stand beside what was verified, and never in its place."""
    chosen = [_claim(claims, one) for one in made.claims]
    verified = {claim.type for claim in chosen if claim is not None and claim.status == "verified"}
    known = {claim.type for there in claims.values() for claim in there or () if claim.status == "verified"}
    for number, claim in enumerate(chosen, 1):
        if claim is not None and claim.status == "inferred" and claim.type in known - verified:
            inferred = f"{made.claims[number - 1].observation_id}:{made.claims[number - 1].claim}"
            reason = (
                f"{inferred}, the {claim.type}, was inferred, and would take the place of what was verified: "
                f"choose {' or '.join(_verified(claims, claim.type))} as well, before a merge or a split by a revision"
            )
            raise InvalidInput("person", f"claims[{number}]", reason)


def _verified(claims: _Claims, kind: str) -> list[str]:
    return [
        f"{name}:{number}"
        for name, there in claims.items()
        for number, claim in enumerate(there or (), 1)
        if claim.type == kind and claim.status == "verified"
    ]
