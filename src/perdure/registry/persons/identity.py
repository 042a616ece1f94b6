"""Person identifiers: made from what they stand for, so the same inputs always lead to the same one.

When different inputs lead to one name, the newcomer takes the successor's, and its own inputs go on leading to it:
`person_inputs` keeps the UUID of the inputs (`uuid_raw`) beside the name that they got.
"""

from typing import NamedTuple
from uuid import UUID

from perdure.names import ppid, uuid5
from perdure.records.authority import to_seconds
from perdure.records.person import Observation, Reconstruction, Restriction
from perdure.records.record import Record
from perdure.registry import change
from perdure.registry.entities import Agent
from perdure.registry.protocol import Foreseen, Reader, Transaction
from perdure.registry.registry import Registry


class Person(NamedTuple):
    """A person identifier, the UUID of its inputs, and whether it was made just now."""

    name: str
    uuid_raw: UUID
    created: bool


class Inputs(NamedTuple):
    """What a person identifier is made from, as its UUID; and the name for that, unless it stands for others."""

    uuid: UUID
    text: str
    name: str

    @property
    def foreseen(self) -> Foreseen:
        return Foreseen(self.text, self.name)


def observed_inputs(registry: Registry, seen: Observation) -> Inputs:
    """Of an observation whose parts were checked; nothing is checked again here."""
    said = seen.source_url, seen.retrieval_timestamp, seen.content_hash
    return _inputs("POID", uuid5.uuid_of(uuid5.poid_digest(registry.ppid_namespace, *said)))


def concluded_inputs(registry: Registry, made: Reconstruction) -> Inputs:
    said = made.observation_ids, made.curator_id, made.timestamp
    return _inputs("PRID", ppid.prid_uuid(*said, namespace=registry.ppid_namespace))


def _inputs(type: ppid.PpidType, uuid: UUID) -> Inputs:
    return Inputs(uuid, str(uuid), ppid.uuid_to_ppid(uuid, type))


async def uuid_of(registry: Registry, name: str) -> UUID | None:
    """`ppid_to_uuid` of section 12.1: a look-up, because it cannot be computed."""
    raw = await registry.store.read(lambda reader: reader.input_of(ppid.canonical(name)))
    return None if raw is None else UUID(raw)


def free_name(reader: Reader, own: str, namespace: UUID) -> str:
    """A person's own name, or its first successor that stands for nothing yet (section 9.3)."""
    name = own
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
        return concluded_inputs(registry, record.reconstruction).uuid
    return None


def successors(registry: Registry, own: str, most: int = 100) -> set[str]:
    """The names that newcomers take when this one stands for something else."""
    return {ppid.successor(own, number, namespace=registry.ppid_namespace) for number in range(1, most)}


def create(
    registry: Registry,
    tx: Transaction,
    by: Agent,
    inputs: Inputs,
    at: str,
    *,
    observation: Observation | None = None,
    reconstruction: Reconstruction | None = None,
    restriction: Restriction | None = None,
    act: str = "mint",
) -> Person:
    """The first version of a person identifier, under a name that is free. Whoever asks has looked for the inputs."""
    registry.check_clock()
    record = Record(
        state="active",
        creator=by.identifier,
        created=to_seconds(at),
        observation=observation,
        reconstruction=reconstruction,
        restriction=restriction,
    )
    encoded = change.fitting(record, registry.settings.limits.record_bytes)
    name = free_name(tx, inputs.name, registry.ppid_namespace)
    tx.insert([change.first(name, name, "ppid", record, by, act, at, encoded=encoded)])
    tx.put_persons({inputs.text: name})
    if reconstruction is not None:
        tx.put_derivations(name, 1, reconstruction.observation_ids)
    return Person(name, inputs.uuid, created=True)
