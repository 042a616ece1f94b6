"""Iteration over all persons, in the order of their names, with at most two hundred of them in memory at a time."""

from collections.abc import AsyncIterator
from typing import Final

from perdure.names import ppid
from perdure.registry.entities import Agent
from perdure.registry.name_keys import require_prefix
from perdure.registry.persons.person_query import PersonView, newest_persons
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_CHUNK: Final = 200


async def count_persons(registry: Registry) -> int:
    """Count the observations and reconstructions, in any state."""
    return await registry.store.read(lambda reader: reader.count_persons())


async def iterate_persons(registry: Registry, *, by: Agent | None = None) -> AsyncIterator[PersonView]:
    """Yield every observation, then every reconstruction, in the newest version, with what the agent may see of it.

    A chunk of them is read at once, in a few queries, shortly before it is yielded. Writers are not blocked. Persons
    that are created during the iteration may be included or not.
    """
    for kind in ppid.TYPES:
        key, under = "", f"{kind}-"
        while True:

            def work(reader: Reader, kind: str = kind, key: str = key, under: str = under) -> list[PersonView]:
                histories = reader.newest_histories(key, _CHUNK, under)
                return (
                    newest_persons(registry, reader, histories, require_prefix(reader, kind).key, by)
                    if histories
                    else []
                )

            persons = await registry.store.read(work)
            if not persons:
                break
            for person in persons:
                yield person
            key = persons[-1].view.name
