"""Descriptions of identifiers for programs: linked data, and citations for reference managers; or the withdrawal."""

from collections.abc import Callable

import msgspec

from perdure.collections.addresses import file_address
from perdure.formats.citation_fields import Citation
from perdure.http.app_context import AppContext
from perdure.http.items.item_urls import item_url
from perdure.http.persons.vocabulary import CONTEXT_PATH
from perdure.http.resolver.landing_pages import build_withdrawal
from perdure.http.resolver.name_lookup import ResolvedName, ResolvedPrefix
from perdure.http.resolver.representation import Representation
from perdure.http.resolver.resolver_parameters import ResolverParameters
from perdure.http.resolver.signposting import find_target_links, signpost_headers
from perdure.http.resolver.target_selection import has_locations_for
from perdure.http.shared.conditional import format_etag, is_not_modified
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import NO_CACHE, NO_STORE, VARY_ACCEPT
from perdure.http.shared.threads import run_large_in_thread
from perdure.http.urls import absolute_url, citation_url, path_of
from perdure.rdf import write_identifier, write_name
from perdure.registry import show
from perdure.registry.citations import cite_identifier
from perdure.registry.identifier_view import View
from perdure.registry.store_interface import Reader
from perdure.registry.withdrawal import Withdrawal


async def record_overrides_negotiation(
    app: AppContext,
    request: Request,
    resolved: ResolvedName,
    parameters: ResolverParameters,
    representation: Representation,
) -> bool:
    """Return whether the record has its own locations for clients that name a format only in Accept."""
    if representation.is_in_url:
        return False
    record, limits = resolved.record, app.registry.settings.limits
    size, accept, media = (
        len(resolved.identifier.record),
        request.header_list(b"accept") or "",
        representation.media_type,
    )
    return parameters.lists_locations or await run_large_in_thread(
        record.values, size, lambda: has_locations_for(record, parameters, limits, accept, media)
    )


async def describe_identifier(
    app: AppContext, request: Request, resolved: ResolvedName, representation: Representation, status: int = 200
) -> Response:
    """Return the public description of an identifier; for a withdrawn one also when, by whom, and why."""
    view = await show(app.registry, resolved.name)
    target_links = find_target_links(app, request, resolved, view)
    headers: Headers = [VARY_ACCEPT, NO_CACHE, *signpost_headers(app, request, view, target_links)]
    withdrawal = None if view.tombstone is None else build_withdrawal(resolved)
    if withdrawal is None:  # the name of the agent who withdrew it may change without a new version
        tag = format_etag(view.version, representation.suffix)
        headers.append((b"etag", tag.encode()))
        if is_not_modified(request, tag):
            return Response(304, b"", headers)
    dated_withdrawal = withdrawal if withdrawal is not None and withdrawal.at else None
    if representation.write_citation is not None:
        files = await app.registry.store.read(lambda reader: _stored_files(reader, request, resolved))
        body = _write_citation(app, request, view, representation.write_citation, files)
    else:
        body = _write_linked_data(app, request, view, representation, dated_withdrawal)
    return Response(status, body, [representation.content_type, *headers])


def _write_citation(
    app: AppContext, request: Request, view: View, write: Callable[[Citation], bytes], files: tuple[str, ...]
) -> bytes:
    first = view.names[0] if view.names else view.name
    url = citation_url(app, request.origin, first, view.scheme) or absolute_url(request.origin, path_of(first))
    return write(msgspec.structs.replace(cite_identifier(view, url), files=files))


def _stored_files(reader: Reader, request: Request, resolved: ResolvedName) -> tuple[str, ...]:
    """Return the address of the main file of a stored item, or else of the item; nothing if it is not stored here."""
    holdings = reader.holdings(resolved.identifier.subject) if resolved.record.state == "active" else []
    collection = reader.collection(holdings[0].collection) if holdings else None
    if collection is None:
        return ()
    holding = holdings[0]  # the original, if it is here
    url = item_url(request.origin, collection, holding.label)
    is_item = holding.main_file is None or collection.is_elsewhere
    return (url if is_item else file_address(url, holding.main_file or ""),)


def _write_linked_data(
    app: AppContext, request: Request, view: View, representation: Representation, withdrawal: Withdrawal | None
) -> bytes:
    origin, namespaces = request.origin, app.registry.namespaces
    # A person has the same IRI in all documents.
    iri = namespaces.ppid + view.name if view.scheme == "ppid" else origin + path_of(view.name)
    return write_identifier(view, iri, representation.name, namespaces, origin + CONTEXT_PATH, withdrawal)


def describe_reserved(
    app: AppContext, request: Request, resolved: ResolvedName, representation: Representation
) -> Response:
    """Return that a name is reserved, as its page does. Nothing else about it is public yet."""
    body = _write_name(app, request, resolved.name, "reserved", representation)
    return Response(404, body, [representation.content_type, VARY_ACCEPT, NO_STORE])


def describe_prefix(
    app: AppContext, request: Request, resolved: ResolvedPrefix, representation: Representation
) -> Response:
    """Return that the record of a prefix exists. Its administrators are in its values, not in its metadata."""
    body = _write_name(app, request, resolved.name, "active", representation)
    return Response(200, body, [representation.content_type, VARY_ACCEPT, NO_CACHE])


def _write_name(app: AppContext, request: Request, name: str, state: str, representation: Representation) -> bytes:
    origin, namespaces = request.origin, app.registry.namespaces
    return write_name(name, state, origin + path_of(name), representation.name, namespaces, origin + CONTEXT_PATH)
