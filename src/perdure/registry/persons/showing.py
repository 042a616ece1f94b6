"""Look at a person: one version of what is said, and enough of what it stands upon that it can be read by itself."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.errors import InvalidInput
from perdure.records import record as records
from perdure.records.person import Observation
from perdure.registry.entities import Act, Agent, History
from perdure.registry.looking import View, as_shown, look_at, newest_view, view_of
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

_MOST_SOURCES: Final = 2_000  # of those that are shown together, in memory
_AT_ONCE: Final = 100  # whole records of them

Source = tuple[Observation | None, int]  # what may be seen of an observation beside its claims, and its version


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
    """What was done to a person's record, version by version."""

    def work(reader: Reader) -> list[Act]:
        view = view_of(registry, reader, text, None, by)
        _check_person(view)
        return as_shown(reader.acts(view.name, 0, view.version), view.scheme, view)

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
    return _with_sources(view, revision.at, found.version, _sources(reader, _observations(view)))


def newest_persons(
    registry: Registry, reader: Reader, kept: Sequence[History], scope: str, by: Agent | None
) -> list[PersonView]:
    """Persons as `show_person` shows them, in as few questions as can be.

    As many of them from the first on as there is room for what they stand upon, and at least that one.
    """
    views: list[View] = []
    wanted: set[str] = set()
    for one in kept:
        view = newest_view(registry, reader, one, scope, by)
        wanted.update(_observations(view))
        if views and len(wanted) > _MOST_SOURCES:
            break
        views.append(view)
    sources = _sources(reader, sorted({name for view in views for name in _observations(view)}))
    return [
        _with_sources(view, one.revisions[-1].at, one.identifier.version, sources)
        for view, one in zip(views, kept, strict=False)  # those that are left over come the next time
    ]


def _observations(view: View) -> Sequence[str]:
    return () if view.reconstruction is None else view.reconstruction.observation_ids


def _sources(reader: Reader, names: Sequence[str]) -> dict[str, Source]:
    sources: dict[str, Source] = {}
    for start in range(0, len(names), _AT_ONCE):
        rows = reader.find_many(names[start : start + _AT_ONCE])
        sources |= {name: (_source(row.record), row.version) for name, row in rows.items()}
    return sources


def _with_sources(view: View, at: str, newest: int, sources: dict[str, Source]) -> PersonView:
    names = _observations(view)
    said = {name: sources[name][0] for name in names}
    return PersonView(view, at, newest, said, tuple(sources[name][1] for name in names))


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
