"""The vocabulary of persons at its own URLs, with the JSON-LD context and the SHACL shapes."""

from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from perdure.http import pages
from perdure.http.app_context import AppContext
from perdure.http.persons.person_address import JSON, JSON_LD, N_TRIPLES, PAGE, RDF_XML, TURTLE, negotiate_media_type
from perdure.http.shared.conditional import content_etag, is_not_modified
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import MAX_AGE_DAY, VARY_ACCEPT
from perdure.rdf import BY_MEDIA, Namespaces, context, shapes, vocabulary_terms, write_vocabulary

CONTEXT_PATH: Final = "/context.jsonld"
_OFFERED: Final = (TURTLE, PAGE, JSON_LD, RDF_XML, N_TRIPLES, JSON)
_FORMATS: Final = {JSON: BY_MEDIA[JSON_LD], **BY_MEDIA}


def paths(app: AppContext) -> frozenset[str]:
    """Return the paths of the vocabulary: those of the namespaces by which its terms are named."""
    return _paths(app.registry.settings.namespaces)


@lru_cache(maxsize=4)
def _paths(namespaces: Namespaces) -> frozenset[str]:
    return frozenset(filter(None, (urlsplit(iri).path.rstrip("/") for iri in (namespaces.ppidv, namespaces.ppidt))))


async def context_response(app: AppContext, request: Request) -> Response:
    """Return the context of JSON-LD documents."""
    request.require_read_method()
    body = context(app.registry.namespaces)
    return _with_etag(request, Response(200, body, [(b"content-type", b"application/ld+json"), MAX_AGE_DAY]))


async def shapes_response(app: AppContext, request: Request) -> Response:
    """Return the SHACL shapes of persons."""
    request.require_read_method()
    body = shapes(app.registry.namespaces)
    return _with_etag(request, Response(200, body, [(b"content-type", b"text/turtle; charset=utf-8"), MAX_AGE_DAY]))


async def vocabulary_response(app: AppContext, request: Request) -> Response:
    """Return the vocabulary in the format that the suffix of the path or the client names."""
    request.require_read_method()
    path, _, suffix = request.path.rpartition(".")
    if not suffix or path not in paths(app):
        path, suffix = request.path, ""
    return _with_etag(request, _build_vocabulary(app, request, path, suffix))


def _build_vocabulary(app: AppContext, request: Request, path: str, suffix: str) -> Response:
    media = negotiate_media_type(request, suffix, _OFFERED)
    namespaces = app.registry.namespaces
    headers: Headers = [VARY_ACCEPT, MAX_AGE_DAY]
    if media == PAGE:
        template_context = {"contact": app.options.contact, "terms": vocabulary_terms(namespaces), "path": path}
        return pages.render_page("vocabulary.html", 200, headers, **template_context)
    kind = b"text/turtle; charset=utf-8" if media == TURTLE else media.encode()
    return Response(200, write_vocabulary(_FORMATS[media], namespaces), [(b"content-type", kind), *headers])


def _with_etag(request: Request, response: Response) -> Response:
    """Return a response with an ETag of its content, because it depends on the program and has no version."""
    kind = dict(response.headers)[b"content-type"]
    tag = content_etag(kind + response.body)
    headers = [*response.headers, (b"etag", tag.encode())]
    if is_not_modified(request, tag):
        return Response(304, b"", [one for one in headers if one[0] != b"content-type"])
    return response._replace(headers=headers)
