"""The versions of a person: a TimeMap for programs that travel in time, a page for people, and JSON."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import NoSuchName
from perdure.http import pages
from perdure.http.message import Request, Response
from perdure.http.persons import memento
from perdure.http.persons.asked import JSON, LINKS, Asked
from perdure.http.refusals import NothingHere
from perdure.http.resolving.forms import has_already
from perdure.http.resolving.places import link_to, path_of
from perdure.http.service import Service
from perdure.records import record as records
from perdure.registry.entities import Act, Agent
from perdure.registry.looking import as_shown, is_hidden, view_of
from perdure.registry.protocol import Reader

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_VARY: Final = (b"vary", b"accept")
_ENOUGH: Final = 4_000_000  # bytes of records that are read for the sake of who concluded them


class _Version(msgspec.Struct, frozen=True, omit_defaults=True):
    """`agent` is who did it, by the short name; `curator_id` whose conclusion it is, of a reconstruction."""

    version: int
    uri: str
    at: str
    action: str
    agent: str
    curator_id: str | None = None
    curator_name: str | None = None
    note: str | None = None


class _Versions(msgspec.Struct, frozen=True):
    ppid: str
    versions: list[_Version]


class _Done(NamedTuple):
    """What was done, by whom, and what was concluded by then, as anybody may see it."""

    acts: list[Act]
    agents: dict[str, Agent]
    curators: dict[int, tuple[str, str | None]]


async def history(service: Service, request: Request, name: str, asked: Asked) -> Response:
    """All of them, the first first."""
    try:
        done = await service.registry.store.read(lambda reader: _done(service, reader, name))
    except NoSuchName:
        raise NothingHere() from None
    tag = f'"{done.acts[-1].version}-history-{asked.media.rpartition("/")[2]}"'
    headers = [_VARY, (b"cache-control", b"no-cache"), (b"etag", tag.encode())]
    if has_already(request, tag):
        return Response(304, b"", headers)
    if asked.media == LINKS:
        body = memento.time_map(request.origin, name, done.acts)
        return Response(200, body, [(b"content-type", b"application/link-format"), *headers])
    here = f"{request.origin}{path_of(name)}"
    versions = [_version(here, act, done) for act in done.acts]
    if asked.media == JSON:
        body = _encode(_Versions(name, versions))
        return Response(200, body, [(b"content-type", b"application/json"), *headers])
    return pages.page(
        "versions.html",
        200,
        headers,
        contact=service.options.contact,
        name=name,
        place=path_of(name),
        versions=versions,
        agents=done.agents,
        link=lambda identifier: link_to(service, identifier),
    )


def _done(service: Service, reader: Reader, name: str) -> _Done:
    view = view_of(service.registry, reader, name, None, None)
    acts = as_shown(reader.acts(view.name, 0, view.version), view.scheme, view)
    if is_hidden(view.scheme, view):  # the history has the short names; whoever is behind one may be who is hidden
        return _Done(acts, {}, {})
    found = map(reader.agent, {act.agent for act in acts})
    return _Done(acts, {agent.id: agent for agent in found if agent is not None}, _curators(reader, view.name, acts))


def _curators(reader: Reader, name: str, acts: list[Act]) -> dict[int, tuple[str, str | None]]:
    """Whose conclusion each version is, from the newest back: as far as may be read at once. All say it themselves."""
    found: dict[int, tuple[str, str | None]] = {}
    size = 0
    for act in reversed(acts):
        revision = reader.revision(name, act.version) if size < _ENOUGH else None
        if revision is None:
            break
        size += len(revision.record)
        made = records.decode(revision.record).reconstruction
        if made is not None:
            found[act.version] = (made.curator_id, made.curator_name)
    return found


def _version(here: str, act: Act, done: _Done) -> _Version:
    curator_id, curator_name = done.curators.get(act.version, (None, None))
    return _Version(
        version=act.version,
        uri=f"{here}/v{act.version}",
        at=act.at,
        action=act.action,
        agent=act.agent,
        curator_id=curator_id,
        curator_name=curator_name,
        note=act.note,
    )
