"""One person, or what they stand upon, in the form that was asked for."""

import asyncio
from hashlib import sha256
from typing import Final

import msgspec

from perdure.http import pages
from perdure.http.answers import location
from perdure.http.message import Headers, Request, Response
from perdure.http.persons import memento
from perdure.http.persons.asked import JSON, JSON_LD, N_TRIPLES, PAGE, RDF_XML, TURTLE, Asked
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.resolving.aside import done_aside
from perdure.http.resolving.finding import withdrawal as find_withdrawal
from perdure.http.resolving.forms import has_already
from perdure.http.resolving.places import absolute, link_to, path_of
from perdure.http.resolving.telling import told_withdrawal
from perdure.http.service import Service
from perdure.linked import BY_MEDIA, Withdrawal, write_claims, write_person, write_persons
from perdure.names.external import ExternalId
from perdure.registry.looking import is_hidden
from perdure.registry.persons import PersonView, show_person

_FORMATS: Final = {JSON: BY_MEDIA[JSON_LD], **BY_MEDIA}
_TYPES: Final = {
    JSON: (b"content-type", b"application/json"),
    JSON_LD: (b"content-type", b"application/ld+json"),
    TURTLE: (b"content-type", b"text/turtle; charset=utf-8"),
    RDF_XML: (b"content-type", b"application/rdf+xml"),
    N_TRIPLES: (b"content-type", b"application/n-triples"),
}
_MOST_AT_ONCE: Final = 200  # observations in one answer
_ENOUGH: Final = 2_000_000  # bytes of what they say
_encode: Final = msgspec.json.Encoder().encode
_DESCRIBED_BY: Final = [f'>; rel="describedby"; type="{media}"'.encode() for media in BY_MEDIA]
_FRESH: Final = (b"cache-control", b"no-cache")


async def document(service: Service, request: Request, shown: PersonView, asked: Asked) -> Response:
    """Of an observation or its claims, a reconstruction, or one version. What was withdrawn says so in every form."""
    view = shown.view
    tag = _tag(shown, asked)
    headers = _headers(service, request, shown, asked, tag)
    status = 410 if view.tombstone is not None and asked.version is None else 200
    if status == 200 and has_already(request, tag):  # of what failed, no condition counts (RFC 9110)
        return Response(304, b"", headers)
    withdrawal = None if status == 200 else await _withdrawal(service, view.name)
    answer = await done_aside(
        (), size_of(shown), lambda: _written(service, request, shown, asked, status, headers, withdrawal)
    )
    if status == 200:
        service.documents.keep(request, shown, answer)
    return answer


async def _withdrawal(service: Service, name: str) -> Withdrawal | None:
    """Who took a person's identifier back, and when. Why is said by its tombstone, to whom it may be."""
    found = await service.registry.store.read(lambda reader: find_withdrawal(reader, name))
    return None if found is None else told_withdrawal(name, *found)


def _written(
    service: Service,
    request: Request,
    shown: PersonView,
    asked: Asked,
    status: int,
    headers: Headers,
    withdrawal: Withdrawal | None,
) -> Response:
    is_claims = asked.part == "claims"
    if asked.media == PAGE:
        template = "claims.html" if is_claims else "person.html"
        return pages.page(template, status, headers, **_told(service, shown, asked), withdrawal=withdrawal)
    form, namespaces = _FORMATS[asked.media], service.registry.settings.namespaces
    context = request.origin + CONTEXT_PATH
    if is_claims:
        body = write_claims(shown, form, namespaces, context, withdrawal=withdrawal)
    else:
        is_version = asked.version is not None
        body = write_person(shown, form, namespaces, context, as_version=is_version, withdrawal=withdrawal)
    return Response(status, body, [_TYPES[asked.media], *headers])


async def observations(service: Service, request: Request, shown: PersonView, asked: Asked) -> Response:
    """What a reconstruction stands upon, one after the other: as many as fit, and where the others are.

    Of a person of whom nothing is shown, why not: that takes the place of the observations.
    """
    tag = _tag(shown, asked)
    headers = _headers(service, request, shown, asked, tag)
    if has_already(request, tag):
        return Response(304, b"", headers)
    persons, size = await _some(service, shown, asked.after)
    last = persons[-1].view.name if persons else ""
    goes_on = bool(persons) and last != max(shown.observations)
    following = f"{path_of(shown.view.name)}/observations?after={last}" if goes_on else ""
    if following:
        headers.append((b"link", memento.link(request.origin + following, 'rel="next"')))
    if asked.media == PAGE:
        told = {**_told(service, shown, asked), "persons": persons, "following": following}
        return await done_aside((), size, lambda: pages.page("observations.html", 200, headers, **told))
    form, namespaces = _FORMATS[asked.media], service.registry.settings.namespaces
    context = request.origin + CONTEXT_PATH
    told_of = [shown] if is_hidden(shown.view.scheme, shown.view) else persons
    written = await done_aside((), size, lambda: write_persons(told_of, form, namespaces, context))
    return Response(200, written, [_TYPES[asked.media], *headers])


async def _some(service: Service, shown: PersonView, after: str) -> tuple[list[PersonView], int]:
    """The observations behind one of them, until that is enough for one answer; and about how many bytes that is."""
    persons: list[PersonView] = []
    size = 0
    for name in shown.observations:
        if name > after and len(persons) < _MOST_AT_ONCE and size < _ENOUGH:
            persons.append(await show_person(service.registry, name))
            size += size_of(persons[-1])
            await asyncio.sleep(0)  # others are waiting too
    return persons, size


def size_of(person: PersonView) -> int:
    """About as many bytes as are said."""
    view = person.view
    return len(_encode((view.observation, view.reconstruction)))


def _tag(shown: PersonView, asked: Asked) -> str:
    """It changes with the version, with the form, and with whatever else the document shows, or hides."""
    hidden = [one is None for one in shown.observations.values()]
    below = sha256(repr((shown.newest, shown.versions, hidden, shown.view.restriction)).encode()).hexdigest()[:12]
    part = f"{asked.part}-" if asked.part else ""
    after = f"-{asked.after}" if asked.after else ""
    return f'"{shown.view.version}.{below}-{part}{asked.media.rpartition("/")[2]}{after}"'


def _headers(service: Service, request: Request, shown: PersonView, asked: Asked, tag: str) -> Headers:
    view, origin = shown.view, request.origin
    here = f"{origin}{path_of(view.name)}"
    links = [memento.link(here, 'rel="cite-as"'), memento.link("https://schema.org/AboutPage", 'rel="type"')]
    part = asked.part if asked.version is None else f"v{asked.version}"
    place = location(f"{here}/{part}" if part else here)
    links += [b"<%b%b" % (place, attributes) for attributes in _DESCRIBED_BY]
    creator = link_to(service, view.authority.creator)
    if creator is not None:
        links.append(memento.link(absolute(origin, creator), 'rel="author"'))
    if view.name.startswith("PRID"):
        links += memento.relations(origin, view.name)
    headers: Headers = [_FRESH, (b"etag", tag.encode()), (b"link", b", ".join(links))]
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
