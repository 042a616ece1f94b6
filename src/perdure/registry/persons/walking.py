"""Walk over all persons, in the order of their names, with some hundreds of them in memory at a time."""

from collections.abc import AsyncIterator
from typing import Final

from perdure.names import ppid
from perdure.registry.entities import Agent
from perdure.registry.persons.showing import PersonView, show_person
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_CHUNK: Final = 500


async def count_persons(registry: Registry) -> int:
    """How many observations and reconstructions there are, in whatever state."""
    return await registry.store.read(lambda reader: reader.counts()["ppid"])


async def walk_persons(registry: Registry, *, by: Agent | None = None) -> AsyncIterator[PersonView]:
    """Every observation, then every reconstruction: the newest version, as somebody may see it when its turn comes.

    Whoever writes meanwhile is not held up. Persons that are made during the walk may be among them or not.
    """
    for kind in ppid.TYPES:
        key, under = "", f"{kind}-"
        while True:

            def work(reader: Reader, key: str = key, under: str = under) -> list[str]:
                return [found.name for found in reader.after(key, _CHUNK, under)]

            names = await registry.store.read(work)
            if not names:
                break
            for name in names:
                yield await show_person(registry, name, by=by)
            key = names[-1]
