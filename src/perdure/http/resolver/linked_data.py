"""Identifiers as linked data: who is responsible, since when, and the targets; or the withdrawal."""

from typing import Final, NamedTuple

from perdure.http.app_context import AppContext
from perdure.http.persons.person_address import JSON, PAGE, media_type_of_format
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.resolver.landing_pages import build_withdrawal
from perdure.http.resolver.name_lookup import ResolvedName, ResolvedPrefix
from perdure.http.resolver.resolver_parameters import ResolverParameters
from perdure.http.resolver.signposting import find_target_links, signpost_headers
from perdure.http.resolver.target_selection import has_locations_for
from perdure.http.shared.conditional import format_etag, is_not_modified
from perdure.http.shared.negotiation import best_media_type, parse_accept
from perdure.http.shared.query_string import single_parameter
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import NO_CACHE, NO_STORE, VARY_ACCEPT
from perdure.http.shared.threads import run_large_in_thread
from perdure.http.urls import path_of
from perdure.rdf import BY_MEDIA, FORMATS, write_identifier, write_name
from perdure.registry import show

_OFFERED: Final = (PAGE, JSON, *BY_MEDIA)


class RdfFormat(NamedTuple):
    """A format of RDF. One in the URL has priority; for one in a header, the record may have its own locations."""

    name: str
    is_in_url: bool

    @property
    def content_type(self) -> tuple[bytes, bytes]:
        """Return the header Content-Type."""
        return (b"content-type", FORMATS[self.name].media_type.encode())


def requested_rdf_format(request: Request) -> RdfFormat | None:
    """Return the format of RDF that the client names in `format` or Accept and prefers to a page and to plain JSON."""
    if request.query:
        named = single_parameter(request.parameters(), "format")
        if named is not None:
            rdf_format = BY_MEDIA.get(media_type_of_format(named) or "")
            return None if rdf_format is None else RdfFormat(rdf_format, is_in_url=True)
    accept = request.header_list(b"accept")
    if accept is None:
        return None
    media = best_media_type(accept, _OFFERED)
    if media not in BY_MEDIA or all(accepted.media != media for accepted in parse_accept(accept)):
        return None
    return RdfFormat(BY_MEDIA[media], is_in_url=False)


async def record_overrides_negotiation(
    app: AppContext, request: Request, resolved: ResolvedName, parameters: ResolverParameters, rdf_format: RdfFormat
) -> bool:
    """Return whether the record has its own locations for clients that name a format only in Accept."""
    if rdf_format.is_in_url:
        return False
    record, limits = resolved.record, app.registry.settings.limits
    size, accept, media = (
        len(resolved.identifier.record),
        request.header_list(b"accept") or "",
        FORMATS[rdf_format.name].media_type,
    )
    return parameters.lists_locations or await run_large_in_thread(
        record.values, size, lambda: has_locations_for(record, parameters, limits, accept, media)
    )


async def describe_identifier(
    app: AppContext, request: Request, resolved: ResolvedName, rdf_format: RdfFormat, status: int = 200
) -> Response:
    """Return the public description of an identifier; for a withdrawn one also when, by whom, and why."""
    view = await show(app.registry, resolved.name)
    target_links = find_target_links(app, request, resolved, view)
    headers: Headers = [VARY_ACCEPT, NO_CACHE, *signpost_headers(app, request, view, target_links)]
    withdrawal = None if view.tombstone is None else build_withdrawal(resolved)
    if withdrawal is None:  # the name of the agent who withdrew it may change without a new version
        tag = format_etag(view.version, FORMATS[rdf_format.name].suffix)
        headers.append((b"etag", tag.encode()))
        if is_not_modified(request, tag):
            return Response(304, b"", headers)
    namespaces = app.registry.namespaces
    # A person has the same IRI in all documents.
    iri = namespaces.ppid + view.name if view.scheme == "ppid" else request.origin + path_of(view.name)
    context = request.origin + CONTEXT_PATH
    dated_withdrawal = withdrawal if withdrawal is not None and withdrawal.at else None
    body = write_identifier(view, iri, rdf_format.name, namespaces, context, dated_withdrawal)
    return Response(status, body, [rdf_format.content_type, *headers])


def describe_reserved(app: AppContext, request: Request, resolved: ResolvedName, rdf_format: RdfFormat) -> Response:
    """Return that a name is reserved, as its page does. Nothing else about it is public yet."""
    body = _write_name(app, request, resolved.name, "reserved", rdf_format)
    return Response(404, body, [rdf_format.content_type, VARY_ACCEPT, NO_STORE])


def describe_prefix(app: AppContext, request: Request, resolved: ResolvedPrefix, rdf_format: RdfFormat) -> Response:
    """Return that the record of a prefix exists. Its administrators are in its values, not in its metadata."""
    body = _write_name(app, request, resolved.name, "active", rdf_format)
    return Response(200, body, [rdf_format.content_type, VARY_ACCEPT, NO_CACHE])


def _write_name(app: AppContext, request: Request, name: str, state: str, rdf_format: RdfFormat) -> bytes:
    origin, namespaces = request.origin, app.registry.namespaces
    return write_name(name, state, origin + path_of(name), rdf_format.name, namespaces, origin + CONTEXT_PATH)
