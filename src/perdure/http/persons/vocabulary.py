"""The words in which persons are told, at their own addresses: the vocabulary, the context of JSON-LD, the shapes."""

from functools import lru_cache
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from perdure.http import pages
from perdure.http.message import Headers, Request, Response
from perdure.http.persons.asked import JSON, JSON_LD, N_TRIPLES, PAGE, RDF_XML, TURTLE, form_of
from perdure.http.refusals import MethodNotAllowed
from perdure.http.resolving.forms import has_already
from perdure.http.service import Service
from perdure.linked import BY_MEDIA, Namespaces, context, shapes, vocabulary_terms, write_vocabulary

CONTEXT_PATH: Final = "/context.jsonld"
_SHAPES_PATH: Final = "/shapes.ttl"
_OFFERED: Final = (TURTLE, PAGE, JSON_LD, RDF_XML, N_TRIPLES, JSON)
_FORMATS: Final = {JSON: BY_MEDIA[JSON_LD], **BY_MEDIA}
_READING: Final = ("GET", "HEAD")
_FOR_A_DAY: Final = (b"cache-control", b"max-age=86400")


def words(service: Service, request: Request) -> Response | None:
    """What is at this path; None, if it is none of theirs."""
    namespaces = service.registry.settings.namespaces
    places = _places(namespaces)
    place, _, suffix = request.path.rpartition(".")
    if not suffix or place not in places:
        place, suffix = request.path, ""
    is_fixed = place in (CONTEXT_PATH, _SHAPES_PATH)
    if not is_fixed and place not in places:
        return None
    if request.method not in _READING:
        raise MethodNotAllowed(request.method, _READING)
    if is_fixed:
        return _tagged(request, _fixed(place, namespaces))
    return _tagged(request, _vocabulary(service, request, place, suffix))


@lru_cache(maxsize=4)
def _places(namespaces: Namespaces) -> frozenset[str]:
    """Where the words are: at the addresses that they are named by."""
    return frozenset(filter(None, (urlsplit(iri).path.rstrip("/") for iri in (namespaces.ppidv, namespaces.ppidt))))


def _fixed(path: str, namespaces: Namespaces) -> Response:
    if path == CONTEXT_PATH:
        return Response(200, context(namespaces), [(b"content-type", b"application/ld+json"), _FOR_A_DAY])
    return Response(200, shapes(namespaces), [(b"content-type", b"text/turtle; charset=utf-8"), _FOR_A_DAY])


def _vocabulary(service: Service, request: Request, place: str, suffix: str) -> Response:
    media = form_of(request, suffix, _OFFERED)
    namespaces = service.registry.settings.namespaces
    headers: Headers = [(b"vary", b"accept"), _FOR_A_DAY]
    if media == PAGE:
        told = {"contact": service.options.contact, "terms": vocabulary_terms(namespaces), "place": place}
        return pages.page("vocabulary.html", 200, headers, **told)
    kind = b"text/turtle; charset=utf-8" if media == TURTLE else media.encode()
    return Response(200, write_vocabulary(_FORMATS[media], namespaces), [(b"content-type", kind), *headers])


def _tagged(request: Request, answer: Response) -> Response:
    """By what it says and in which form: the words change with the program and its settings, which have no version."""
    kind = dict(answer.headers)[b"content-type"]
    tag = f'"{sha256(kind + answer.body).hexdigest()[:16]}"'
    headers = [*answer.headers, (b"etag", tag.encode())]
    if has_already(request, tag):
        return Response(304, b"", [one for one in headers if one[0] != b"content-type"])
    return answer._replace(headers=headers)
