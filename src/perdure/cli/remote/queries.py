"""Queries of a remote registry: records, histories, searches, targets and statistics."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import msgspec

from perdure.cli.remote.remote_registry import PAGE, RemoteRegistry, path_to
from perdure.errors import NoSuchPrefix, NoTarget, Withdrawn, WrongState
from perdure.registry import IdentifierQuery
from perdure.registry.entities import Agent, Revision, SearchHit
from perdure.registry.identifier_view import View
from perdure.registry.listing import ListedIdentifier
from perdure.registry.query import Resolution, check_limit, check_words
from perdure.registry.statistics import NameStatistics, PrefixStatistics
from perdure.registry.version_diff import Difference


class _Revision(msgspec.Struct):
    version: int
    at: str
    agent: str
    action: str
    record: msgspec.Raw
    note: str | None = None


class _RevisionPage(msgspec.Struct):
    revisions: tuple[_Revision, ...]
    next: int | None = None


class _Hit(msgspec.Struct):
    name: str
    state: str
    target: str | None = None


class _HitList(msgspec.Struct):
    found: tuple[_Hit, ...]

    def to_domain(self) -> list[SearchHit]:
        return [SearchHit(one.name, one.state, one.target) for one in self.found]


class _Row(msgspec.Struct):
    name: str
    scheme: str
    state: str
    version: int
    created: str | None = None
    changed: str | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()
    target: str | None = None


class _RowPage(msgspec.Struct):
    identifiers: tuple[_Row, ...]
    next: str | None = None


class _Difference(msgspec.Struct):
    part: str
    before: Any
    after: Any


class _Differences(msgspec.Struct):
    differences: tuple[_Difference, ...]


async def show(remote: RemoteRegistry, text: str, *, version: int | None = None, by: Agent | None = None) -> View:
    if version is None:
        return remote.get(path_to("identifiers", text), View, handle_record=True)
    return remote.get(path_to("versions", text), View, version=version, handle_record=True)


async def history(remote: RemoteRegistry, text: str, *, by: Agent | None = None) -> list[Revision]:
    return [
        Revision(one.version, one.at, one.agent, one.action, bytes(one.record), one.note)
        for page in remote.pages(path_to("history", text), _RevisionPage, records=True, limit=PAGE)
        for one in page.revisions
    ]


async def diff(
    remote: RemoteRegistry, text: str, old_version: int, new_version: int, *, by: Agent | None = None
) -> list[Difference]:
    query = {"from": old_version, "to": new_version}
    found = remote.get(path_to("diff", text), _Differences, **query).differences
    return [Difference(one.part, one.before, one.after) for one in found]


async def search(remote: RemoteRegistry, words: Sequence[str], *, limit: int = 100) -> list[SearchHit]:
    check_words(words)
    return remote.get("/search", _HitList, q=" ".join(words), limit=check_limit(limit)).to_domain()


async def find_by_value(
    remote: RemoteRegistry, data: str, *, type: str | None = "URL", limit: int = 100
) -> list[SearchHit]:
    return remote.get("/reverse", _HitList, data=data, type=type, limit=check_limit(limit)).to_domain()


async def select_listed(
    remote: RemoteRegistry, by: Agent, query: IdentifierQuery
) -> AsyncIterator[list[ListedIdentifier]]:
    filters = msgspec.to_builtins(query)
    for page in remote.pages("/identifiers", _RowPage, details=True, limit=PAGE, **filters):
        yield [ListedIdentifier(**msgspec.structs.asdict(one)) for one in page.identifiers]


async def resolve(remote: RemoteRegistry, text: str) -> Resolution:
    view = remote.get(path_to("identifiers", text), View)
    if view.tombstone is not None:
        raise Withdrawn(view.name, view.tombstone.reason, view.tombstone.replaced_by)
    if view.state != "active":
        raise WrongState(view.name, view.state, "active")
    if view.target is None:
        raise NoTarget(view.name)
    return Resolution(view.name, view.target, view.version)


async def count_resolutions(
    remote: RemoteRegistry, by: Agent, name: str, *, since: str, until: str, monthly: bool
) -> NameStatistics | PrefixStatistics:
    """Count the resolutions under a prefix or, if there is no such prefix, of a name."""
    query = {"since": since, "until": until, "by": "month" if monthly else "day"}
    try:
        return remote.get(path_to("prefix-statistics", name), PrefixStatistics, **query)
    except NoSuchPrefix:
        return remote.get(path_to("statistics", name), NameStatistics, **query)
