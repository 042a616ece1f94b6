"""The documents of a person, or of its observations, in the requested format."""

import asyncio
from typing import Final

import msgspec

from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.persons import memento
from perdure.http.persons.person_address import JSON, JSON_LD, N_TRIPLES, PAGE, RDF_XML, TURTLE, DocumentRequest
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.shared.conditional import document_etag, is_not_modified
from perdure.http.shared.redirects import encode_location
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import NO_CACHE, VARY_ACCEPT
from perdure.http.shared.threads import run_large_in_thread
from perdure.http.urls import absolute_url, citation_url, link_to, path_of
from perdure.names.external import ExternalId
from perdure.rdf import BY_MEDIA, write_claims, write_person, write_persons
from perdure.records.namespaces import is_local
from perdure.registry.identifier_view import is_hidden
from perdure.registry.persons import PersonView, show_person

_FORMATS: Final = {JSON: BY_MEDIA[JSON_LD], **BY_MEDIA}
RDF_TYPES: Final = {
    JSON: (b"content-type", b"application/json"),
    JSON_LD: (b"content-type", b"application/ld+json"),
    TURTLE: (b"content-type", b"text/turtle; charset=utf-8"),
    RDF_XML: (b"content-type", b"application/rdf+xml"),
    N_TRIPLES: (b"content-type", b"application/n-triples"),
}
_GONE: Final = 410
_MOST_AT_ONCE: Final = 200  # observations in one response
_ENOUGH: Final = 2_000_000  # bytes of observations in one response
_encode: Final = msgspec.json.Encoder().encode
_DESCRIBED_BY: Final = [f'>; rel="describedby"; type="{media}"'.encode() for media in BY_MEDIA]


async def document_response(
    app: AppContext, request: Request, person: PersonView, requested: DocumentRequest
) -> Response:
    """Return an observation or its claims, a reconstruction, or one version. A withdrawn one is shown as withdrawn."""
    view = person.view
    tag = _tag(person, requested)
    headers = _build_headers(app, request, person, requested, tag)
    status = _GONE if view.tombstone is not None and requested.version is None else 200
    if status == 200 and is_not_modified(request, tag):  # conditions apply only to successful responses (RFC 9110)
        return Response(304, b"", headers)
    response = await run_large_in_thread(
        (),
        estimate_size(person),
        lambda: _build_document(app, request, person, requested, status, headers),
    )
    if status == 200:
        app.person_cache.store(request, person, response)
    return response


def _build_document(
    app: AppContext,
    request: Request,
    person: PersonView,
    requested: DocumentRequest,
    status: int,
    headers: Headers,
) -> Response:
    is_claims = requested.part == "claims"
    if requested.media == PAGE:
        template = "claims.html" if is_claims else "person.html"
        withdrawal = person.withdrawal if status == _GONE else None
        return pages.render_page(
            template, status, headers, **_template_context(app, person, requested), withdrawal=withdrawal
        )
    rdf_format, namespaces = _FORMATS[requested.media], app.registry.namespaces
    context_url = request.origin + CONTEXT_PATH
    if is_claims:
        body = write_claims(person, rdf_format, namespaces, context_url)
    else:
        is_version = requested.version is not None
        body = write_person(person, rdf_format, namespaces, context_url, as_version=is_version)
    return Response(status, body, [RDF_TYPES[requested.media], *headers])


async def observations_response(
    app: AppContext, request: Request, person: PersonView, requested: DocumentRequest
) -> Response:
    """Return the observations of a reconstruction: as many as fit, and a link to the next page.

    For a hidden person, the reason replaces the observations.
    """
    tag = _tag(person, requested)
    headers = _build_headers(app, request, person, requested, tag)
    if is_not_modified(request, tag):
        return Response(304, b"", headers)
    persons, size = await _read_observations(app, person, requested.after)
    last = persons[-1].view.name if persons else ""
    goes_on = bool(persons) and last != max(person.observations)
    following = f"{path_of(person.view.name)}/observations?after={last}" if goes_on else ""
    if following:
        headers.append((b"link", memento.format_link(request.origin + following, 'rel="next"')))
    if requested.media == PAGE:
        template_context = {**_template_context(app, person, requested), "persons": persons, "following": following}
        return await run_large_in_thread(
            (), size, lambda: pages.render_page("observations.html", 200, headers, **template_context)
        )
    rdf_format, namespaces = _FORMATS[requested.media], app.registry.namespaces
    context_url = request.origin + CONTEXT_PATH
    # The reconstruction comes first, so that every page names it and is complete by itself.
    shown_persons = [person] if is_hidden(person.view.scheme, person.view) else [person, *persons]
    body = await run_large_in_thread(
        (),
        size + estimate_size(person),
        lambda: write_persons(shown_persons, rdf_format, namespaces, context_url),
    )
    return Response(200, body, [RDF_TYPES[requested.media], *headers])


async def _read_observations(app: AppContext, person: PersonView, after: str) -> tuple[list[PersonView], int]:
    """Return the observations after one of them, as many as fit into one response, and their estimated size."""
    persons: list[PersonView] = []
    size = 0
    for name in person.observations:
        if name > after and len(persons) < _MOST_AT_ONCE and size < _ENOUGH:
            persons.append(await show_person(app.registry, name))
            size += estimate_size(persons[-1])
            await asyncio.sleep(0)  # other requests are waiting
    return persons, size


def estimate_size(person: PersonView) -> int:
    """Return roughly the size of a person in bytes."""
    view = person.view
    return len(_encode((view.observation, view.reconstruction)))


def _tag(person: PersonView, requested: DocumentRequest) -> str:
    """Return the ETag of a document. It changes with all that the document shows or hides."""
    hidden = [observation is None for observation in person.observations.values()]
    dependencies = (person.newest, person.versions, hidden, person.view.restriction)
    return document_etag(person.view.version, dependencies, requested.media, requested.part, requested.after)


def _build_headers(
    app: AppContext, request: Request, person: PersonView, requested: DocumentRequest, tag: str
) -> Headers:
    view, origin = person.view, request.origin
    here = f"{origin}{path_of(view.name)}"
    cited = citation_url(app, origin, view.name, view.scheme)
    links = [] if cited is None else [memento.format_link(cited, 'rel="cite-as"')]
    links.append(memento.format_link("https://schema.org/AboutPage", 'rel="type"'))
    part = requested.part if requested.version is None else f"v{requested.version}"
    url = encode_location(f"{here}/{part}" if part else here)
    links += [b"<%b%b" % (url, attributes) for attributes in _DESCRIBED_BY]
    creator = link_to(app, view.authority.creator)
    if creator is not None:
        links.append(memento.format_link(absolute_url(origin, creator), 'rel="author"'))
    if view.name.startswith("PRID"):
        links += memento.timemap_links(origin, view.name)
    headers: Headers = [NO_CACHE, (b"etag", tag.encode()), (b"link", b", ".join(links))]
    if requested.version is not None:
        headers.append((b"memento-datetime", memento.format_http_date(person.at).encode()))
    return [memento.VARY if view.name.startswith("PRID") else VARY_ACCEPT, *headers]


def _template_context(app: AppContext, person: PersonView, requested: DocumentRequest) -> dict[str, object]:
    return {
        "contact": app.options.contact,
        "person": person,
        "view": person.view,
        "iri_base": app.registry.person_iris,
        "is_local": app.registry.person_iris is not None and is_local(app.registry.person_iris),
        "requested": requested,
        "path": path_of(person.view.name),
        "link": lambda identifier: link_to(app, identifier),
        "iri": lambda scheme, value: ExternalId(scheme, value).iri,
    }
