"""One person, or what they stand upon, in the form that was asked for."""

from typing import Final

from perdure.http import pages
from perdure.http.message import Headers, Request, Response
from perdure.http.persons import memento
from perdure.http.persons.asked import JSON, JSON_LD, N_TRIPLES, PAGE, RDF_XML, TURTLE, Asked
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.resolving.forms import has_already
from perdure.http.resolving.places import absolute, link_to, path_of
from perdure.http.service import Service
from perdure.linked import write_person, write_persons
from perdure.names.external import ExternalId
from perdure.registry.persons import PersonView, observations_of, show_person

_FORMATS: Final = {JSON: "json-ld", JSON_LD: "json-ld", TURTLE: "turtle", RDF_XML: "rdf-xml", N_TRIPLES: "n-triples"}
_TYPES: Final = {
    JSON: (b"content-type", b"application/json"),
    JSON_LD: (b"content-type", b"application/ld+json"),
    TURTLE: (b"content-type", b"text/turtle; charset=utf-8"),
    RDF_XML: (b"content-type", b"application/rdf+xml"),
    N_TRIPLES: (b"content-type", b"application/n-triples"),
}
_FRESH: Final = (b"cache-control", b"no-cache")


async def document(service: Service, request: Request, shown: PersonView, asked: Asked) -> Response:
    """Of an observation, a reconstruction, or one version of it. What was withdrawn says so in every form."""
    view = shown.view
    headers = _headers(service, request, shown, asked)
    tag = _tag(shown, asked)
    if has_already(request, tag):
        return Response(304, b"", headers)
    status = 410 if view.tombstone is not None and asked.version is None else 200
    if asked.media == PAGE:
        answer = pages.page("person.html", status, headers, **_told(service, shown, asked))
    else:
        answer = Response(status, _written(service, request, shown, asked), [_TYPES[asked.media], *headers])
    if status == 200:
        service.documents.keep(request, shown, answer)
    return answer


def _written(service: Service, request: Request, shown: PersonView, asked: Asked) -> bytes:
    return write_person(
        shown,
        _FORMATS[asked.media],
        service.registry.settings.namespaces,
        request.origin + CONTEXT_PATH,
        as_version=asked.version is not None,
    )


async def observations(service: Service, request: Request, shown: PersonView, asked: Asked) -> Response:
    """What a reconstruction stands upon, one after the other."""
    headers = [*_headers(service, request, shown, asked)]
    tag = _tag(shown, asked)
    if has_already(request, tag):
        return Response(304, b"", headers)
    views = await observations_of(service.registry, shown.view.name)
    if asked.media == PAGE:
        told = _told(service, shown, asked)
        return pages.page("observations.html", 200, headers, **told, views=views)
    persons = [await show_person(service.registry, view.name) for view in views]
    written = write_persons(
        persons, _FORMATS[asked.media], service.registry.settings.namespaces, request.origin + CONTEXT_PATH
    )
    return Response(200, written, [_TYPES[asked.media], *headers])


def _tag(shown: PersonView, asked: Asked) -> str:
    """It changes with the version, with the form, and when something that the document shows is hidden."""
    hidden = sum(one is None for one in shown.observations.values()) + (shown.view.restriction is not None)
    part = f"{asked.part}-" if asked.part else ""
    return f'"{shown.view.version}.{shown.newest}.{hidden}-{part}{asked.media.rpartition("/")[2]}"'


def _headers(service: Service, request: Request, shown: PersonView, asked: Asked) -> Headers:
    view, origin = shown.view, request.origin
    here = f"{origin}{path_of(view.name)}"
    links = [memento.link(here, 'rel="cite-as"'), memento.link("https://schema.org/AboutPage", 'rel="type"')]
    place = here if asked.version is None else f"{here}/v{asked.version}"
    links += [memento.link(place, f'rel="describedby"; type="{media}"') for media in _FORMATS if media != JSON]
    creator = link_to(service, view.authority.creator)
    if creator is not None:
        links.append(memento.link(absolute(origin, creator), 'rel="author"'))
    if view.name.startswith("PRID"):
        links += memento.relations(origin, view.name)
    headers: Headers = [_FRESH, (b"etag", _tag(shown, asked).encode()), (b"link", b", ".join(links))]
    if asked.version is not None:
        headers.append((b"memento-datetime", memento.http_date(shown.at).encode()))
    return [memento.VARY if view.name.startswith("PRID") else (b"vary", b"accept"), *headers]


def _told(service: Service, shown: PersonView, asked: Asked) -> dict[str, object]:
    return {
        "contact": service.options.contact,
        "person": shown,
        "view": shown.view,
        "asked": asked,
        "place": path_of(shown.view.name),
        "link": lambda identifier: link_to(service, identifier),
        "iri": lambda scheme, value: ExternalId(scheme, value).iri,
    }
