"""Observe, in a process of its own, with a hash so narrow that nearly every name is taken: prints name after name.

python -m tests.registry.narrow_observer STORE SEED COUNT
"""

import asyncio
import random
import sys
from pathlib import Path
from uuid import UUID

import pytest
from tests.registry_fixture import ManualClock

from perdure.names import ppid, uuid5
from perdure.registry import Registry, Settings, observe, reopen
from perdure.registry.entities import Agent
from perdure.registry.persons import Person
from perdure.store.sqlite import SqliteStore

WHEN = "2025-01-09T10:30:00Z"


def narrow(patch: pytest.MonkeyPatch) -> None:
    """Eight bits for a name, sixteen for a successor. The UUID of the inputs is as wide as ever behind its name."""

    as_it_is = uuid5.poid_digest

    def eight_bits(namespace: UUID, url: str, timestamp: str, content_hash: str) -> str:
        digest = as_it_is(namespace, url, timestamp, content_hash)
        return f"{digest[:2]}{'0' * 13}{digest[15:]}"

    def sixteen_bits(namespace: UUID, kind: str, text: str) -> str:
        digest = uuid5.type_digest(namespace, kind, text)
        return f"{digest[:4]}{'0' * 11}{digest[15:]}"

    for place in (ppid, uuid5):
        patch.setattr(place, "poid_digest", eight_bits)
    patch.setattr(ppid, "type_digest", sixteen_bits)


async def observe_all(registry: Registry, by: Agent, numbers: list[int]) -> dict[int, Person]:
    urls = [f"https://example.org/archive/{number}" for number in numbers]
    persons = await asyncio.gather(*(observe(registry, by, url, WHEN, "0" * 64) for url in urls))
    return dict(zip(numbers, persons, strict=True))


async def _observe(store: SqliteStore, seed: str, count: int) -> None:
    registry = await reopen(store, ManualClock(), Settings())
    [by] = await store.read(lambda reader: reader.agents())
    numbers = list(range(count))
    random.Random(seed).shuffle(numbers)
    persons = await observe_all(registry, by, numbers)
    for number in range(count):
        print(persons[number].name, int(persons[number].created))


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patched:
        narrow(patched)
        opened = SqliteStore(Path(sys.argv[1]), create=False)
        asyncio.run(_observe(opened, sys.argv[2], int(sys.argv[3])))
        opened.close()
