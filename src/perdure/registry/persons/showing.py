"""Look at a person: one version of what is said, and enough of what it stands upon that it can be read by itself."""

from typing import NamedTuple

import msgspec

from perdure.errors import InvalidInput
from perdure.records import record as records
from perdure.records.person import Observation
from perdure.registry.entities import Act, Agent
from perdure.registry.looking import View, look_at, view_of
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry


class PersonView(NamedTuple):
    """A person as somebody may see them.

    `at` is when this version was made, `newest` the number of the last one. `observations` are those that a
    reconstruction stands upon, without their claims; one that is restricted is there by its name alone.
    """

    view: View
    at: str
    newest: int
    observations: dict[str, Observation | None]
    versions: tuple[int, ...] = ()  # of those observations, in their order

    @property
    def is_newest(self) -> bool:
        return self.view.version == self.newest


async def show_person(
    registry: Registry, text: str, *, version: int | None = None, by: Agent | None = None
) -> PersonView:
    """An observation or a reconstruction, now or at a version."""
    return await registry.store.glance(lambda reader: _shown(registry, reader, text, version, by))


async def versions_of(registry: Registry, text: str, *, by: Agent | None = None) -> list[Act]:
    """What was done to a person's record, version by version; the notes are part of what a restriction hides."""

    def work(reader: Reader) -> list[Act]:
        view = view_of(registry, reader, text, None, by)
        _check_person(view)
        done = reader.acts(view.name, 0, view.version)
        if view.observation is None and view.reconstruction is None:
            return [msgspec.structs.replace(one, note=None) for one in done]
        return done

    return await registry.store.read(work)


async def observations_of(
    registry: Registry, text: str, *, version: int | None = None, by: Agent | None = None
) -> list[View]:
    """The observations that a reconstruction stands upon, each as somebody may see it."""

    def work(reader: Reader) -> list[View]:
        view = view_of(registry, reader, text, version, by)
        _check_person(view)
        if not view.name.startswith("PRID"):
            raise InvalidInput("ppid", "name", f"{view.name} is an observation itself, and no reconstruction (PRID)")
        names = () if view.reconstruction is None else view.reconstruction.observation_ids
        return [view_of(registry, reader, name, None, by) for name in names]

    return await registry.store.read(work)


def _shown(registry: Registry, reader: Reader, text: str, version: int | None, by: Agent | None) -> PersonView:
    view, found, revision = look_at(registry, reader, text, version, by)
    _check_person(view)
    if view.reconstruction is None:
        return PersonView(view, revision.at, found.version, {})
    found_there = reader.find_many(view.reconstruction.observation_ids)
    rows = [found_there[name] for name in view.reconstruction.observation_ids]
    sources = {row.name: _source(row.record) for row in rows}
    return PersonView(view, revision.at, found.version, sources, tuple(row.version for row in rows))


def _source(written: bytes) -> Observation | None:
    record = records.decode(written)
    seen = record.observation
    if seen is None or record.restriction is not None:
        return None
    return Observation(
        seen.source_url, seen.retrieval_timestamp, seen.content_hash, seen.source_name, seen.holding_archive
    )


def _check_person(view: View) -> None:
    if view.scheme != "ppid":
        raise InvalidInput("ppid", "name", f"{view.name} is no person identifier (POID or PRID)")
