"""Observe and reconstruct, in a separate process, with a hash so narrow that nearly every name is taken.

    python -m tests.registry.narrow_observer STORE SEED OBSERVATIONS RECONSTRUCTIONS AT_ONCE

It prints that it is ready, and begins on a signal. Then it prints the names, in the order of their numbers,
each with whether it was created here. STORE is as for `relocation_process`.
"""

import asyncio
import random
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import UUID

import pytest
from tests.registry.relocation_process import open_store
from tests.registry_fixture import ManualClock

from perdure.errors import StoreUnavailable
from perdure.names import ppid, uuid5
from perdure.registry import Registry, Settings, observe, reconstruct, reopen
from perdure.registry.entities import Agent
from perdure.registry.persons import Person
from perdure.registry.store_interface import Store

READY = "ready\n"
TRIES = 20  # more than should ever be needed
WHEN = "2025-01-09T10:30:00Z"
CURATOR = "https://orcid.org/0000-0002-1825-0097"


def narrow(patch: pytest.MonkeyPatch) -> None:
    """Use eight bits for a name and sixteen for a successor. The UUID of the inputs keeps its full width."""

    def eight_bits(digest: str) -> str:
        return f"{digest[:2]}{'0' * 13}{digest[15:]}"

    poid_digest, prid_digest = uuid5.poid_digest, uuid5.prid_digest

    def narrow_poid(namespace: UUID, url: str, timestamp: str, content_hash: str) -> str:
        return eight_bits(poid_digest(namespace, url, timestamp, content_hash))

    def narrow_prid(namespace: UUID, observations: list[str], curator_id: str, timestamp: str) -> str:
        return eight_bits(prid_digest(namespace, observations, curator_id, timestamp))

    def sixteen_bits(namespace: UUID, kind: str, text: str) -> str:
        digest = uuid5.type_digest(namespace, kind, text)
        return f"{digest[:4]}{'0' * 11}{digest[15:]}"

    for module in (ppid, uuid5):
        patch.setattr(module, "poid_digest", narrow_poid)
        patch.setattr(module, "prid_digest", narrow_prid)
    patch.setattr(ppid, "type_digest", sixteen_bits)


async def observe_all(registry: Registry, by: Agent, numbers: Sequence[int], at_once: int) -> dict[int, Person]:
    """Observe each of these sources, without claims."""

    async def observe_one(number: int) -> Person:
        return await observe(registry, by, f"https://example.org/archive/{number}", WHEN, "0" * 64)

    return await _some_at_once(observe_one, numbers, at_once)


async def conclude_all(
    registry: Registry, by: Agent, seen: Mapping[int, Person], numbers: Sequence[int], at_once: int
) -> dict[int, Person]:
    """Reconstruct a person from each of these observations alone."""

    async def reconstruct_one(number: int) -> Person:
        return await reconstruct(registry, by, [seen[number].name], CURATOR, WHEN)

    return await _some_at_once(reconstruct_one, numbers, at_once)


async def _some_at_once(
    act: Callable[[int], Awaitable[Person]], numbers: Sequence[int], at_once: int
) -> dict[int, Person]:
    done: dict[int, Person] = {}
    for start in range(0, len(numbers), at_once):
        some = numbers[start : start + at_once]
        done |= zip(some, await asyncio.gather(*(_patiently(act, one) for one in some)), strict=True)
    return done


async def _patiently(act: Callable[[int], Awaitable[Person]], number: int) -> Person:
    """Retry, as a client does after an error that says that nothing was written."""
    for _ in range(TRIES - 1):
        try:
            return await act(number)
        except StoreUnavailable as problem:
            if not problem.safe_to_retry:
                raise
    return await act(number)


async def _work(store: Store, seed: str, observations: int, reconstructions: int, at_once: int) -> None:
    registry = await reopen(store, ManualClock(), Settings())
    [by] = await store.read(lambda reader: reader.agents())
    shuffled = random.Random(seed)
    print(READY, end="", flush=True)
    sys.stdin.readline()
    seen = await observe_all(registry, by, shuffled.sample(range(observations), observations), at_once)
    made = await conclude_all(registry, by, seen, shuffled.sample(range(reconstructions), reconstructions), at_once)
    for persons in (seen, made):
        for number in range(len(persons)):
            print(persons[number].name, int(persons[number].created))


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patched:
        narrow(patched)
        location, seed, *counts = sys.argv[1:]
        store = open_store(location)
        asyncio.run(_work(store, seed, *map(int, counts)))
        store.close()
