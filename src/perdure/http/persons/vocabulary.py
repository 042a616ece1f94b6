"""The words in which persons are told, at their own addresses: the vocabulary, the context of JSON-LD, the shapes."""

from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from perdure.http import pages
from perdure.http.message import Headers, Request, Response
from perdure.http.negotiation import best
from perdure.http.persons.asked import JSON_LD, N_TRIPLES, PAGE, RDF_XML, TURTLE
from perdure.http.refusals import MethodNotAllowed, NotNegotiable
from perdure.http.service import Service
from perdure.linked import BY_MEDIA, Namespaces, context, shapes, vocabulary_terms, write_vocabulary

CONTEXT_PATH: Final = "/context.jsonld"
_SHAPES_PATH: Final = "/shapes.ttl"
_OFFERED: Final = (TURTLE, PAGE, JSON_LD, RDF_XML, N_TRIPLES)
_READING: Final = ("GET", "HEAD")
_FOR_A_DAY: Final = (b"cache-control", b"max-age=86400")


def words(service: Service, request: Request) -> Response | None:
    """What is at this path; None, if it is none of theirs."""
    namespaces = service.registry.settings.namespaces
    path = request.path
    if path not in _paths(namespaces):
        return None
    if request.method not in _READING:
        raise MethodNotAllowed(request.method, _READING)
    if path == CONTEXT_PATH:
        return Response(200, context(namespaces), [(b"content-type", b"application/ld+json"), _FOR_A_DAY])
    if path == _SHAPES_PATH:
        return Response(200, shapes(namespaces), [(b"content-type", b"text/turtle; charset=utf-8"), _FOR_A_DAY])
    return _vocabulary(service, request, namespaces)


@lru_cache(maxsize=4)
def _paths(namespaces: Namespaces) -> frozenset[str]:
    own = {urlsplit(iri).path.rstrip("/") for iri in (namespaces.ppidv, namespaces.ppidt)}
    return frozenset({CONTEXT_PATH, _SHAPES_PATH, *(path for path in own if path)})


def _vocabulary(service: Service, request: Request, namespaces: Namespaces) -> Response:
    accept = request.header_list(b"accept")
    media = best(accept, _OFFERED) if accept else _OFFERED[0]
    if media is None:
        raise NotNegotiable(_OFFERED)
    headers: Headers = [(b"vary", b"accept"), _FOR_A_DAY]
    if media == PAGE:
        told = {"contact": service.options.contact, "terms": vocabulary_terms(namespaces)}
        return pages.page("vocabulary.html", 200, headers, **told)
    kind = b"text/turtle; charset=utf-8" if media == TURTLE else media.encode()
    return Response(200, write_vocabulary(BY_MEDIA[media], namespaces), [(b"content-type", kind), *headers])
