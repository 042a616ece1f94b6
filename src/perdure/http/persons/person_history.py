"""The versions of a person: as a TimeMap, as a page, and as JSON."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import NoSuchName
from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.persons import memento
from perdure.http.persons.person_address import JSON, LINKS, DocumentRequest
from perdure.http.shared.conditional import history_etag, is_not_modified
from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import NO_CACHE, VARY_ACCEPT
from perdure.http.urls import link_to, path_of
from perdure.records import record as records
from perdure.registry.entities import Act, Agent
from perdure.registry.identifier_view import is_hidden, view_identifier, visible_acts
from perdure.registry.store_interface import Reader

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_ENOUGH: Final = 4_000_000  # bytes of records that are read to find their curators


class _Version(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version. `agent` is the short name of who made it, `curator_id` whose conclusion a reconstruction is."""

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


class _PersonActs(NamedTuple):
    """The acts on a person, their agents, and the curators of its versions, as everyone may see them."""

    acts: list[Act]
    agents: dict[str, Agent]
    curators: dict[int, tuple[str, str | None]]


async def history_response(app: AppContext, request: Request, name: str, requested: DocumentRequest) -> Response:
    """Return all versions, oldest first."""
    try:
        past = await app.registry.store.read(lambda reader: _read_acts(app, reader, name))
    except NoSuchName:
        raise NotFound() from None
    names = () if requested.media in (JSON, LINKS) else [past.agents[agent].name for agent in sorted(past.agents)]
    tag = history_etag(past.acts[-1].version, requested.media, names)
    headers = [VARY_ACCEPT, NO_CACHE, (b"etag", tag.encode())]
    if is_not_modified(request, tag):
        return Response(304, b"", headers)
    if requested.media == LINKS:
        body = memento.format_timemap(request.origin, name, past.acts)
        return Response(200, body, [(b"content-type", b"application/link-format"), *headers])
    here = f"{request.origin}{path_of(name)}"
    versions = [_build_version(here, act, past) for act in past.acts]
    if requested.media == JSON:
        body = _encode(_Versions(name, versions))
        return Response(200, body, [(b"content-type", b"application/json"), *headers])
    return pages.render_page(
        "versions.html",
        200,
        headers,
        contact=app.options.contact,
        name=name,
        path=path_of(name),
        versions=versions,
        agents=past.agents,
        link=lambda identifier: link_to(app, identifier),
    )


def _read_acts(app: AppContext, reader: Reader, name: str) -> _PersonActs:
    view = view_identifier(app.registry, reader, name, None, None)
    acts = visible_acts(reader.acts(view.name, 0, view.version), view.scheme, view)
    if is_hidden(view.scheme, view):  # an agent's name may be that of the hidden person
        return _PersonActs(acts, {}, {})
    found = map(reader.agent, {act.agent for act in acts})
    return _PersonActs(
        acts, {agent.id: agent for agent in found if agent is not None}, _read_curators(reader, view.name, acts)
    )


def _read_curators(reader: Reader, name: str, acts: list[Act]) -> dict[int, tuple[str, str | None]]:
    """Return the curator of each version, from the newest back, within a limit of bytes. Each version names its own."""
    found: dict[int, tuple[str, str | None]] = {}
    size = 0
    for act in reversed(acts):
        revision = reader.revision(name, act.version) if size < _ENOUGH else None
        if revision is None:
            break
        size += len(revision.record)
        reconstruction = records.decode(revision.record).reconstruction
        if reconstruction is not None:
            found[act.version] = (reconstruction.curator_id, reconstruction.curator_name)
    return found


def _build_version(here: str, act: Act, past: _PersonActs) -> _Version:
    curator_id, curator_name = past.curators.get(act.version, (None, None))
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
