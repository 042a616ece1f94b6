"""Queries of a person: one version, with enough of its sources that it can be read by itself."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, NamedTuple

from perdure.errors import InvalidInput
from perdure.records import record as records
from perdure.records.person import Observation
from perdure.registry.entities import Act, Agent, History, Revision
from perdure.registry.identifier_view import View, newest_view, view_identifier, view_with_revision, visible_acts
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader
from perdure.registry.withdrawal import WITHDRAWAL_ACTIONS, Withdrawal, describe_withdrawal, find_withdrawal

_MOST_SOURCES: Final = 2_000  # in memory, of the persons of one chunk
_BATCH_SIZE: Final = 100  # records decoded at a time

Source = tuple[Observation | None, int]  # an observation without its claims, if visible, and its version


class PersonView(NamedTuple):
    """A person as one reader may see them.

    `at` is when this version was written, `newest` the number of the last one. `observations` are those that a
    reconstruction is based on, without their claims; a restricted one has None.
    """

    view: View
    at: str
    newest: int
    observations: dict[str, Observation | None]
    versions: tuple[int, ...] = ()  # of those observations, in the same order
    withdrawal: Withdrawal | None = None  # if the version that is shown has a tombstone

    @property
    def is_newest(self) -> bool:
        return self.view.version == self.newest


async def show_person(
    registry: Registry, text: str, *, version: int | None = None, by: Agent | None = None
) -> PersonView:
    """Return an observation or a reconstruction, now or at a version."""
    return await registry.store.read_quick(lambda reader: _build_person_view(registry, reader, text, version, by))


async def list_person_versions(registry: Registry, text: str, *, by: Agent | None = None) -> list[Act]:
    """List what was done to a person's record, version by version."""

    def work(reader: Reader) -> list[Act]:
        view = view_identifier(registry, reader, text, None, by)
        _check_person(view)
        return visible_acts(reader.acts(view.name, 0, view.version), view.scheme, view)

    return await registry.store.read(work)


async def list_observations(
    registry: Registry, text: str, *, version: int | None = None, by: Agent | None = None
) -> list[View]:
    """List the observations that a reconstruction is based on, each as the agent may see it."""

    def work(reader: Reader) -> list[View]:
        view = view_identifier(registry, reader, text, version, by)
        _check_person(view)
        if not view.name.startswith("PRID"):
            raise InvalidInput("ppid", "name", f"{view.name} is an observation, not a reconstruction (PRID)")
        names = () if view.reconstruction is None else view.reconstruction.observation_ids
        return [view_identifier(registry, reader, name, None, by) for name in names]

    return await registry.store.read(work)


def _build_person_view(
    registry: Registry, reader: Reader, text: str, version: int | None, by: Agent | None
) -> PersonView:
    view, identifier, revision = view_with_revision(registry, reader, text, version, by)
    _check_person(view)
    sources = _find_sources(reader, _observation_names(view))
    withdrawal = None if view.tombstone is None else _find_withdrawal(reader, view.name)
    return _with_sources(view, revision.at, identifier.version, sources, withdrawal)


def newest_persons(
    registry: Registry, reader: Reader, histories: Sequence[History], scope: str, by: Agent | None
) -> list[PersonView]:
    """Build persons as `show_person` does, in as few queries as possible.

    Return as many of them, from the first on, as there is memory for their sources, and at least one.
    """
    views: list[View] = []
    sources_needed: set[str] = set()
    for history in histories:
        view = newest_view(registry, reader, history, scope, by)
        sources_needed.update(_observation_names(view))
        if views and len(sources_needed) > _MOST_SOURCES:
            break
        views.append(view)
    sources = _find_sources(reader, sorted({name for view in views for name in _observation_names(view)}))
    agents = cache(reader.agent)
    persons = []
    for view, history in zip(views, histories, strict=False):  # the rest comes with the next call
        newest = history.revisions[-1]
        withdrawal = None if view.tombstone is None else _withdrawal_at(reader, newest, view.name, agents)
        persons.append(_with_sources(view, newest.at, history.identifier.version, sources, withdrawal))
    return persons


def _withdrawal_at(
    reader: Reader, newest: Revision, name: str, agents: Callable[[str], Agent | None]
) -> Withdrawal | None:
    """Return the withdrawal of a person, from its newest version if that withdrew it, as nearly always."""
    if newest.action not in WITHDRAWAL_ACTIONS:
        return _find_withdrawal(reader, name)
    act = Act(newest.version, newest.at, newest.agent, newest.action, newest.note)
    return describe_withdrawal(name, act, agents(newest.agent))


def _find_withdrawal(reader: Reader, name: str) -> Withdrawal | None:
    found = find_withdrawal(reader, name)
    return None if found is None else describe_withdrawal(name, *found)


def _observation_names(view: View) -> Sequence[str]:
    return () if view.reconstruction is None else view.reconstruction.observation_ids


def _find_sources(reader: Reader, names: Sequence[str]) -> dict[str, Source]:
    sources: dict[str, Source] = {}
    for start in range(0, len(names), _BATCH_SIZE):
        rows = reader.find_many(names[start : start + _BATCH_SIZE])
        sources |= {name: (_decode_source(row.record), row.version) for name, row in rows.items()}
    return sources


def _with_sources(
    view: View, at: str, newest: int, sources: dict[str, Source], withdrawal: Withdrawal | None
) -> PersonView:
    names = _observation_names(view)
    observations = {name: sources[name][0] for name in names}
    return PersonView(view, at, newest, observations, tuple(sources[name][1] for name in names), withdrawal)


def _decode_source(written: bytes) -> Observation | None:
    record = records.decode(written)
    observation = record.observation
    if observation is None or record.restriction is not None:
        return None
    return Observation(
        observation.source_url,
        observation.retrieval_timestamp,
        observation.content_hash,
        observation.source_name,
        observation.holding_archive,
    )


def _check_person(view: View) -> None:
    if view.scheme != "ppid":
        raise InvalidInput("ppid", "name", f"{view.name} is not a person identifier (POID or PRID)")
