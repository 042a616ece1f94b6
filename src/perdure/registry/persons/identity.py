"""Person identifiers: made from their inputs, so the same inputs always lead to the same one.

When different inputs lead to one name, the later person takes a successor name, and its own inputs keep leading to it:
`person_inputs` stores the UUID of the inputs (`uuid_raw`) beside the name that they got.
"""

from typing import NamedTuple
from uuid import UUID

import msgspec

from perdure.names import ppid, uuid5
from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.person import Observation, Reconstruction, Restriction
from perdure.records.record import Record, State, Tombstone
from perdure.registry import revisions
from perdure.registry.entities import Agent, Identifier
from perdure.registry.identifier_view import HIDDEN_REASON
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Prefetch, Reader, Transaction


class Person(NamedTuple):
    """A person identifier, the UUID of its inputs, and whether it was created just now.

    A known one can be withdrawn or merged: its inputs still lead to it, and the tombstone says why.
    """

    name: str
    uuid_raw: UUID
    created: bool
    state: State = "active"
    tombstone: Tombstone | None = None


class Inputs(NamedTuple):
    """The inputs of a person identifier, as their UUID, and the name for that, unless it is taken by other inputs."""

    uuid: UUID
    text: str
    name: str

    @property
    def prefetch(self) -> Prefetch:
        return Prefetch(self.text, self.name)


def observation_inputs(registry: Registry, observation: Observation) -> Inputs:
    """Return the inputs of an observation that was checked; nothing is checked again here."""
    parts = observation.source_url, observation.retrieval_timestamp, observation.content_hash
    return _build_inputs("POID", uuid5.uuid_from_digest(uuid5.poid_digest(registry.ppid_namespace, *parts)))


def reconstruction_inputs(registry: Registry, reconstruction: Reconstruction) -> Inputs:
    parts = reconstruction.observation_ids, reconstruction.curator_id, reconstruction.timestamp
    return _build_inputs("PRID", ppid.prid_uuid(*parts, namespace=registry.ppid_namespace))


def _build_inputs(type: ppid.PpidType, uuid: UUID) -> Inputs:
    return Inputs(uuid, str(uuid), ppid.uuid_to_ppid(uuid, type))


def find_free_name(reader: Reader, own: str, namespace: UUID) -> str:
    """Return a person's own name, or its first successor that is free (section 9.3)."""
    name = own
    collisions = 0
    while reader.find(name) is not None:
        collisions += 1
        name = ppid.successor(own, collisions, namespace=namespace)
    return name


def raw_uuid(registry: Registry, record: Record) -> UUID | None:
    """Compute the UUID of the inputs that a person's first record names."""
    namespace = registry.ppid_namespace
    if record.observation is not None:
        observation = record.observation
        return ppid.poid_uuid(
            observation.source_url, observation.retrieval_timestamp, observation.content_hash, namespace=namespace
        )
    if record.reconstruction is not None:
        return reconstruction_inputs(registry, record.reconstruction).uuid
    return None


def successor_names(registry: Registry, own: str, most: int = 100) -> set[str]:
    """Return the names that later persons take when this one is taken."""
    return {ppid.successor(own, number, namespace=registry.ppid_namespace) for number in range(1, most)}


def known_person(name: str, uuid: UUID, identifier: Identifier | None, *, sees: bool) -> Person:
    """Return a person whose inputs are known. A reason that the caller may not see is left out."""
    if identifier is None or identifier.state == "active":
        return Person(name, uuid, created=False)
    record = records.decode(identifier.record)
    tombstone = record.tombstone
    if tombstone is not None and not sees:
        tombstone = msgspec.structs.replace(tombstone, reason=HIDDEN_REASON)
    return Person(name, uuid, created=False, state=record.state, tombstone=tombstone)


def create_person(
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
    """Write the first version of a person identifier under a free name.

    The caller has checked that the inputs are new.
    """
    registry.check_clock()
    record = Record(
        state="active",
        creator=by.identifier,
        created=to_seconds(at),
        observation=observation,
        reconstruction=reconstruction,
        restriction=restriction,
    )
    encoded = revisions.encode_within_limit(record, registry.settings.limits.record_bytes)
    name = find_free_name(tx, inputs.name, registry.ppid_namespace)
    tx.insert([revisions.first_revision(name, name, "ppid", record, by, act, at, encoded=encoded)])
    tx.put_persons({inputs.text: name})
    if reconstruction is not None:
        tx.put_derivations(name, 1, reconstruction.observation_ids)
    return Person(name, inputs.uuid, created=True)


def append_version(
    registry: Registry, tx: Transaction, by: Agent, identifier: Identifier, record: Record, act: str, note: str | None
) -> int:
    """Write a new version of a person's record. Return its number. It is never dated before the previous one."""
    newest = tx.newest_revision(identifier.subject)
    now = registry.current_time()
    at = max(now, newest.at) if newest else now
    return revisions.append_revision(tx, identifier, record, by, act, at, note, registry.settings.limits.record_bytes)
