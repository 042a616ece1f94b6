"""Copy a registry from one store to another, name by name and whatever their engines.

What search and reverse look-up know is not copied but made again from the records.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from fractions import Fraction
from hashlib import sha256
from typing import Final, NamedTuple

import msgspec

from perdure.records import record as records
from perdure.records.target import reverse_entries, words
from perdure.registry.entities import Agent, Change, Event, Grant, History, Key, Prefix
from perdure.registry.protocol import Reader, Store, Transaction

CHUNK: Final = 2000
_ALL: Final = 1 << 62


class Surroundings(NamedTuple):
    """All that a store keeps beside names."""

    facts: dict[str, str]
    prefixes: list[Prefix]
    timelines: dict[str, Fraction]
    agents: list[Agent]
    keys: list[Key]
    grants: list[Grant]
    events: list[Event]  # the oldest first
    secrets: list[tuple[str, int, bytes]]  # sealed, by key and index


def surroundings(reader: Reader) -> Surroundings:
    agents = reader.agents()
    return Surroundings(
        reader.facts(),
        reader.prefixes(),
        reader.timelines(),
        agents,
        [key for agent in agents for key in reader.keys(agent.id)],
        [grant for agent in agents for grant in reader.grants(agent.id)],
        reader.events(_ALL)[::-1],
        reader.secrets(),
    )


def put_surroundings(tx: Transaction, given: Surroundings) -> None:
    """Into a store that holds nothing yet. No timeline is moved ahead: nothing is issued here."""
    for prefix in given.prefixes:
        tx.put_prefix(prefix)
    for agent in given.agents:
        tx.put_agent(agent)
    for key in given.keys:
        tx.put_key(key)
    for grant in given.grants:
        tx.put_grant(grant)
    for event in given.events:
        tx.put_event(event)
    for key_of_name, index, sealed in given.secrets:
        tx.put_secret(key_of_name, index, sealed)
    for name, value in sorted(given.facts.items()):
        tx.put_fact(name, value)
    for timeline, last in sorted(given.timelines.items()):
        tx.put_timeline(timeline, last, Fraction(0))


def put_histories(tx: Transaction, histories: Sequence[History]) -> None:
    """Names with all that is kept of them; what a person derives from must be there, or come before it."""
    tx.insert([_change(one) for one in histories])
    persons = {one.uuid_raw: one.identifier.key for one in histories if one.uuid_raw is not None}
    if persons:
        tx.put_persons(persons)
    for one in histories:
        if one.identifier.scheme == "ppid":
            for revision in one.revisions:
                made = records.decode(revision.record).reconstruction
                if made is not None:
                    tx.put_derivations(one.identifier.key, revision.version, made.observation_ids)


def _change(one: History) -> Change:
    row, record = one.identifier, records.decode(one.identifier.record)
    is_alias = row.subject != row.key
    return Change(
        row,
        one.revisions,
        words(row.name, record),
        () if is_alias else reverse_entries(record),
        added=one.added,
    )


async def histories_of(store: Store, after: str = "") -> AsyncIterator[list[History]]:
    """Everything behind a key, chunk by chunk."""
    while True:

        def work(reader: Reader, after: str = after) -> list[History]:
            return reader.histories(after, CHUNK)

        chunk = await store.read(work)
        if not chunk:
            return
        yield chunk
        after = chunk[-1].identifier.key


def content_of(histories: Iterable[History]) -> list[bytes]:
    """Each name with everything that is said of it, as bytes that are the same on every engine."""
    return [msgspec.msgpack.encode((one.identifier, one.revisions, one.uuid_raw)) for one in histories]


class Content:
    """A digest of everything that a store keeps of names, in the order of their keys."""

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
