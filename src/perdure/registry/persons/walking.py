"""Walk over all persons, in the order of their names, with no more than two hundred of them in memory at a time."""

from collections.abc import AsyncIterator
from typing import Final

from perdure.names import ppid
from perdure.registry.entities import Agent
from perdure.registry.naming import known_prefix
from perdure.registry.persons.showing import PersonView, newest_persons
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_CHUNK: Final = 200


async def count_persons(registry: Registry) -> int:
    """How many observations and reconstructions there are, in whatever state."""
    return await registry.store.read(lambda reader: reader.number_of_persons())


async def walk_persons(registry: Registry, *, by: Agent | None = None) -> AsyncIterator[PersonView]:
    """Every observation, then every reconstruction: the newest version, as somebody may see it when it is read.

    A chunk of them is read at once, in a few questions, some moments before their turn comes. Whoever writes meanwhile
    is not held up. Persons that are made during the walk may be among them or not.
    """
    for kind in ppid.TYPES:
        key, under = "", f"{kind}-"
        while True:

            def work(reader: Reader, kind: str = kind, key: str = key, under: str = under) -> list[PersonView]:
                kept = reader.newest_histories(key, _CHUNK, under)
                return newest_persons(registry, reader, kept, known_prefix(reader, kind).key, by) if kept else []

            persons = await registry.store.read(work)
            if not persons:
                break
            for person in persons:
                yield person
            key = persons[-1].view.name
