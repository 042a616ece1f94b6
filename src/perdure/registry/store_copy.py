"""Copies of a registry from one store to another, name by name, between any two engines.

The entries for search and reverse look-up are not copied but computed again from the records.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from perdure.records import record as records
from perdure.records.target import full_text, reverse_entries
from perdure.registry.entities import Agent, Change, Event, Grant, History, Key, Peer, Pool, Prefix, ResolutionCount
from perdure.registry.holdings import Collection, Holding
from perdure.registry.store_interface import Reader, Store, Transaction

CHUNK: Final = 2000
ResolutionKey = tuple[str, str, str]  # the key of a name, a day, and a kind of client
FIRST_RESOLUTION: Final[ResolutionKey] = ("", "", "")
HoldingKey = tuple[str, str]  # a collection, and the key of a name
FIRST_HOLDING: Final[HoldingKey] = ("", "")
_ALL: Final = 1 << 62


class RegistryState(NamedTuple):
    """Everything that a store holds apart from names."""

    facts: dict[str, str]
    prefixes: list[Prefix]
    timelines: dict[str, Fraction]
    agents: list[Agent]
    keys: list[Key]
    grants: list[Grant]
    events: list[Event]  # the oldest first
    secrets: list[tuple[str, int, bytes]]  # sealed, by key and index
    collections: list[Collection]
    peers: list[Peer]
    pools: list[Pool]


def read_registry_state(reader: Reader) -> RegistryState:
    agents = reader.agents()
    return RegistryState(
        reader.facts(),
        reader.prefixes(),
        reader.timelines(),
        agents,
        [key for agent in agents for key in reader.keys(agent.id)],
        [grant for agent in agents for grant in reader.grants(agent.id)],
        reader.events(_ALL)[::-1],
        reader.secrets(),
        reader.collections(),
        reader.peers(),
        reader.pools(),
    )


def put_registry_state(tx: Transaction, state: RegistryState) -> None:
    """Write the state into an empty store. No timeline is moved ahead: nothing is issued here."""
    for prefix in state.prefixes:
        tx.put_prefix(prefix)
    for agent in state.agents:
        tx.put_agent(agent)
    for key in state.keys:
        tx.put_key(key)
    for grant in state.grants:
        tx.put_grant(grant)
    for event in state.events:
        tx.put_event(event)
    for key_of_name, index, sealed in state.secrets:
        tx.put_secret(key_of_name, index, sealed)
    for collection in state.collections:
        tx.put_collection(collection)
    for peer in state.peers:
        tx.put_peer(peer)
    for pool in state.pools:
        tx.put_pool(pool)
    for name, value in sorted(state.facts.items()):
        tx.put_fact(name, value)
    for timeline, last in sorted(state.timelines.items()):
        tx.put_timeline(timeline, last, Fraction(0))


def put_histories(tx: Transaction, histories: Sequence[History]) -> None:
    """Write names with all their data. The sources of a person must be there already, or come before it."""
    tx.insert([_to_change(one) for one in histories])
    persons = {one.uuid_raw: one.identifier.key for one in histories if one.uuid_raw is not None}
    if persons:
        tx.put_persons(persons)
    for one in histories:
        if one.identifier.scheme == "ppid":
            for revision in one.revisions:
                reconstruction = records.decode(revision.record).reconstruction
                if reconstruction is not None:
                    tx.put_derivations(one.identifier.key, revision.version, reconstruction.observation_ids)


def _to_change(one: History) -> Change:
    row, record = one.identifier, records.decode(one.identifier.record)
    is_alias = row.subject != row.key
    return Change(
        row,
        one.revisions,
        full_text(row.name, record),
        () if is_alias else reverse_entries(record),
        added=one.added,
    )


async def iterate_histories(store: Store, after: str = "") -> AsyncIterator[list[History]]:
    """Yield everything after a key, chunk by chunk."""
    while True:

        def work(reader: Reader, after: str = after) -> list[History]:
            return reader.histories(after, CHUNK)

        chunk = await store.read(work)
        if not chunk:
            return
        yield chunk
        after = chunk[-1].identifier.key


async def iterate_resolutions(
    store: Store, last: ResolutionKey = FIRST_RESOLUTION
) -> AsyncIterator[list[ResolutionCount]]:
    """Yield the counts of resolutions after one, chunk by chunk."""
    while chunk := await store.read(lambda reader, last=last: reader.resolutions_after(last, CHUNK)):  # type: ignore[misc]
        yield chunk
        last = resolution_key(chunk[-1])


def holdings_chunk(reader: Reader, last: HoldingKey) -> list[Holding]:
    """Return the holdings after one, in the order of collections: a chunk, which is empty only at the end."""
    collection, subject = last
    for one in reader.collections():
        if one.name < collection:
            continue
        chunk = reader.holdings_after(one.name, subject if one.name == collection else "", CHUNK)
        if chunk:
            return chunk
    return []


async def iterate_holdings(store: Store, last: HoldingKey = FIRST_HOLDING) -> AsyncIterator[list[Holding]]:
    """Yield the holdings of all collections after one, chunk by chunk."""
    while chunk := await store.read(lambda reader, last=last: holdings_chunk(reader, last)):  # type: ignore[misc]
        yield chunk
        last = holding_key(chunk[-1])


def holding_key(holding: Holding) -> HoldingKey:
    return holding.collection, holding.subject


def put_holdings(tx: Transaction, holdings: Sequence[Holding]) -> None:
    for one in holdings:
        tx.put_holding(one)


def resolution_key(count: ResolutionCount) -> ResolutionKey:
    return count.key, count.day, count.client


def encode_histories(histories: Iterable[History]) -> list[bytes]:
    """Encode each name with its whole content, in bytes that are the same on every engine."""
    return [msgspec.msgpack.encode((one.identifier, one.revisions, one.uuid_raw)) for one in histories]


class ContentDigest:
    """A digest of everything that a store holds about names, in the order of their keys."""

    def __init__(self) -> None:
        self._digest = sha256()
        self.names = 0

    def add(self, contents: Sequence[bytes]) -> None:
        self.names += len(contents)
        for one in contents:
            self._digest.update(len(one).to_bytes(8, "big"))
            self._digest.update(one)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()
