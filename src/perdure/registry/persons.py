"""Person identifiers: made from what they stand for, so the same inputs always lead to the same one.

When different inputs lead to one name, the newcomer takes the successor's, and its own inputs go on leading to it:
`person_inputs` keeps the UUID of the inputs (`uuid_raw`) beside the name that they got.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.names import ppid
from perdure.names.ppid_inputs import checked_curator, checked_hash, checked_timestamp, checked_url
from perdure.records import record as records
from perdure.records.authority import to_seconds
from perdure.records.record import Observation, Reconstruction, Record
from perdure.registry import change
from perdure.registry.authority import require
from perdure.registry.entities import Agent
from perdure.registry.existing import existing
from perdure.registry.naming import known_prefix
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry


class Person(NamedTuple):
    """A person identifier, the UUID of its inputs, and whether it was made just now."""

    name: str
    uuid_raw: UUID
    created: bool


async def observe(
    registry: Registry, by: Agent, source_url: str, retrieval_timestamp: str, content_hash: str
) -> Person:
    """The POID of an observation. A new extraction of the same source is a new observation, with a new POID."""
    observation = Observation(
        checked_url(source_url), checked_timestamp(retrieval_timestamp), checked_hash(content_hash)
    )
    raw = ppid.poid_uuid(source_url, retrieval_timestamp, content_hash, namespace=registry.ppid_namespace)

    def work(tx: Transaction) -> Person:
        at = registry.now()
        require(tx, by, "mint", known_prefix(tx, "POID").key, at)
        return _create(registry, tx, by, "POID", raw, _record(by, at, observation=observation), at)

    return await registry.store.write(work)


async def reconstruct(
    registry: Registry, by: Agent, observation_ids: Sequence[str], curator_id: str, timestamp: str
) -> Person:
    """The PRID of a reconstruction. Every observation that it names must exist."""
    observations = tuple(ppid.canonical_observations(observation_ids))
    made = Reconstruction(observations, checked_curator(curator_id), checked_timestamp(timestamp))
    raw = ppid.prid_uuid(observations, curator_id, timestamp, namespace=registry.ppid_namespace)

    def work(tx: Transaction) -> Person:
        at = registry.now()
        require(tx, by, "mint", known_prefix(tx, "PRID").key, at)
        if tx.person(str(raw)) is None:
            _require_observations(tx, observations)
        return _create(registry, tx, by, "PRID", raw, _record(by, at, reconstruction=made), at)

    return await registry.store.write(work)


async def revise_reconstruction(
    registry: Registry,
    by: Agent,
    name: str,
    observation_ids: Sequence[str],
    curator_id: str,
    timestamp: str,
    *,
    expected_version: int | None = None,
) -> int:
    """A new version of a PRID, from other observations: same name, next number, the old version stays."""
    observations = tuple(ppid.canonical_observations(observation_ids))
    made = Reconstruction(observations, checked_curator(curator_id), checked_timestamp(timestamp))

    def work(tx: Transaction) -> int:
        at = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "edit", prefix.key, at, record)
        if record.reconstruction is None:
            raise InvalidInput("ppid", "name", f"{found.name} is no reconstruction (PRID)")
        if record.state != "active":
            raise WrongState(found.name, record.state, "active")
        if record.reconstruction == made:
            return found.version
        _require_observations(tx, observations)
        revised = msgspec.structs.replace(record, reconstruction=made)
        return change.revise(tx, found, revised, by, "revise", at, largest=registry.settings.limits.record_bytes)

    return await registry.store.write(work)


async def uuid_of(registry: Registry, name: str) -> UUID | None:
    """`ppid_to_uuid` of section 12.1: a look-up, because it cannot be computed."""
    raw = await registry.store.read(lambda reader: reader.input_of(ppid.canonical(name)))
    return None if raw is None else UUID(raw)


def free_name(reader: Reader, type: ppid.PpidType, raw: UUID, namespace: UUID) -> str:
    """The name of these inputs, or its first successor that stands for nothing yet (section 9.3)."""
    name = own = ppid.uuid_to_ppid(raw, type)
    collisions = 0
    while reader.find(name) is not None:
        collisions += 1
        name = ppid.successor(own, collisions, namespace=namespace)
    return name


def raw_uuid(registry: Registry, record: Record) -> UUID | None:
    """The UUID of the inputs that a person's first record names."""
    namespace = registry.ppid_namespace
    if record.observation is not None:
        seen = record.observation
        return ppid.poid_uuid(seen.source_url, seen.retrieval_timestamp, seen.content_hash, namespace=namespace)
    if record.reconstruction is not None:
        made = record.reconstruction
        return ppid.prid_uuid(made.observation_ids, made.curator_id, made.timestamp, namespace=namespace)
    return None


def successors(registry: Registry, own: str, most: int = 100) -> set[str]:
    """The names that newcomers take when this one stands for something else."""
    return {ppid.successor(own, number, namespace=registry.ppid_namespace) for number in range(1, most)}


def _create(
    registry: Registry, tx: Transaction, by: Agent, type: ppid.PpidType, raw: UUID, record: Record, at: str
) -> Person:
    known = tx.person(str(raw))
    if known is not None:
        return Person(known, raw, created=False)
    name = free_name(tx, type, raw, registry.ppid_namespace)
    tx.insert([change.first(name, name, "ppid", record, by, "mint", at)])
    tx.put_persons({str(raw): name})
    if record.reconstruction is not None:
        tx.put_derivations(name, 1, record.reconstruction.observation_ids)
    return Person(name, raw, created=True)


def _record(
    by: Agent, at: str, *, observation: Observation | None = None, reconstruction: Reconstruction | None = None
) -> Record:
    return Record(
        state="active",
        creator=by.identifier,
        created=to_seconds(at),
        observation=observation,
        reconstruction=reconstruction,
    )


def _require_observations(reader: Reader, observations: Sequence[str]) -> None:
    found = reader.find_many(observations)
    for name in observations:
        row = found.get(name)
        if row is None or records.decode(row.record).observation is None:
            raise InvalidInput("ppid", "observation_ids", f"{name} is not registered here: observe it first")
        if row.state != "active":
            raise WrongState(name, row.state, "active")
