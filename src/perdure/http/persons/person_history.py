"""The versions of a person: as a TimeMap, as a page, as JSON, and as RDF."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import NoSuchName
from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.persons import memento
from perdure.http.persons.person_address import JSON, LINKS, PAGE, DocumentRequest
from perdure.http.persons.person_document import RDF_TYPES
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.shared.conditional import history_etag, is_not_modified
from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import NO_CACHE, VARY_ACCEPT
from perdure.http.shared.threads import run_large_in_thread
from perdure.http.urls import link_to, path_of
from perdure.rdf import BY_MEDIA, write_version_history
from perdure.records import record as records
from perdure.records.person import Reconstruction
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
    """The acts on a person, their agents, and the conclusions of its versions, as the public may see them."""

    acts: list[Act]
    agents: dict[str, Agent]
    reconstructions: dict[int, Reconstruction]
    size: int = 0  # of the records that were read


async def history_response(app: AppContext, request: Request, name: str, requested: DocumentRequest) -> Response:
    """Return all versions, oldest first."""
    try:
        past = await app.registry.store.read(lambda reader: _read_acts(app, reader, name))
    except NoSuchName:
        raise NotFound() from None
    tag = history_etag(past.acts[-1].version, requested.media)
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
    if requested.media != PAGE:
        namespaces, context_url = app.registry.namespaces, request.origin + CONTEXT_PATH
        rdf_format = BY_MEDIA[requested.media]
        body = await run_large_in_thread(
            (), past.size, lambda: write_version_history(name, *past[:3], rdf_format, namespaces, context_url)
        )
        return Response(200, body, [RDF_TYPES[requested.media], *headers])
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
    agents = {agent.id: agent for agent in found if agent is not None}
    return _PersonActs(acts, agents, *_read_reconstructions(reader, view.name, acts))


def _read_reconstructions(reader: Reader, name: str, acts: list[Act]) -> tuple[dict[int, Reconstruction], int]:
    """Return the conclusion of each version, from the newest back, within a limit of bytes; and the bytes read."""
    found: dict[int, Reconstruction] = {}
    size = 0
    for act in reversed(acts):
        revision = reader.revision(name, act.version) if size < _ENOUGH else None
        if revision is None:
            break
        size += len(revision.record)
        reconstruction = records.decode(revision.record).reconstruction
        if reconstruction is not None:
            found[act.version] = reconstruction
    return found, size


def _build_version(here: str, act: Act, past: _PersonActs) -> _Version:
    conclusion = past.reconstructions.get(act.version)
    return _Version(
        version=act.version,
        uri=f"{here}/v{act.version}",
        at=act.at,
        action=act.action,
        agent=act.agent,
        curator_id=None if conclusion is None else conclusion.curator_id,
        curator_name=None if conclusion is None else conclusion.curator_name,
        note=act.note,
    )
