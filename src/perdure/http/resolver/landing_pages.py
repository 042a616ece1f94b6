"""The pages of the resolver: a record, a prefix, a tombstone, or an error; each also for programs."""

from typing import Any, Final

import msgspec

from perdure.errors import InvalidName, NoSuchName, NoSuchPrefix, PerdureError, Withdrawn
from perdure.http import pages
from perdure.http.api.views import build_identifier, build_value
from perdure.http.app_context import AppContext
from perdure.http.resolver.name_lookup import ResolvedName, ResolvedPrefix
from perdure.http.resolver.page_rows import TypeLinks, build_rows, find_type_links
from perdure.http.resolver.resolver_parameters import ResolverParameters
from perdure.http.resolver.signposting import find_target_links, signpost_headers
from perdure.http.shared.conditional import format_etag, is_not_modified
from perdure.http.shared.http_errors import NotAcceptable
from perdure.http.shared.preferred_representation import wants_problem, wants_record
from perdure.http.shared.problem_json import (
    PROBLEM_JSON,
    problem_document,
    problem_headers,
    problem_response,
    status_of,
)
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import NO_CACHE, NO_STORE, VARY_ACCEPT
from perdure.http.shared.threads import run_large_in_thread
from perdure.http.urls import identifier_api_path, link_to, path_of
from perdure.names import handle
from perdure.records.authority_metadata import build_metadata
from perdure.records.location_xml import LOCATIONS
from perdure.registry import show
from perdure.registry.identifier_view import View
from perdure.registry.withdrawal import Withdrawal, describe_withdrawal, withdrawal_fields

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
_TITLES: Final = {
    400: "Malformed request",
    405: "Method not allowed",
    406: "Not acceptable",
    422: "Invalid input",
    429: "Too many requests",
}


async def record_page(
    app: AppContext, request: Request, resolved: ResolvedName, parameters: ResolverParameters
) -> Response:
    """Return the public record of an identifier, as a page or as JSON."""
    view = await show(app.registry, resolved.name)
    size = len(resolved.identifier.record)
    types = {} if _is_json(request, parameters) else await find_type_links(app, view.handle_record)
    return await run_large_in_thread(
        view.values, size, lambda: _build_record(app, request, resolved, parameters, view, types)
    )


def _build_record(
    app: AppContext,
    request: Request,
    resolved: ResolvedName,
    parameters: ResolverParameters,
    view: View,
    types: TypeLinks,
) -> Response:
    view = msgspec.structs.replace(
        view,
        values=tuple(parameters.values.select(view.values)),
        handle_record=tuple(parameters.values.select(view.handle_record)),
    )
    if parameters.restricts and not any(value.kind == LOCATIONS for value in view.values):
        view = msgspec.structs.replace(view, locations=())  # they do not matter for the requested values
    target_links = find_target_links(app, request, resolved, view, follows_aliases=not parameters.ignores_aliases)
    posts = signpost_headers(app, request, view, target_links)
    if _is_json(request, parameters):
        return _record_json(request, view, posts)
    return pages.render_page(
        "record.html",
        200,
        [VARY_ACCEPT, NO_CACHE, *posts],
        **_common_context(app),
        view=view,
        rows=build_rows(app, view.handle_record, types),
        parameters=parameters,
        target_links=target_links,
        rest=resolved.rest,
        requested_name=resolved.requested_name,
        withdrawal=build_withdrawal(resolved),
        identifier_api_path=identifier_api_path(view.name),
        link=lambda identifier: link_to(app, identifier),
    )


async def prefix_page(
    app: AppContext, request: Request, resolved: ResolvedPrefix, parameters: ResolverParameters
) -> Response:
    """Return the public record of a prefix, as a page or as JSON."""
    types = {} if _is_json(request, parameters) else await find_type_links(app, resolved.values)
    return await run_large_in_thread(
        resolved.values, 0, lambda: _build_prefix(app, request, resolved, parameters, types)
    )


def _build_prefix(
    app: AppContext, request: Request, resolved: ResolvedPrefix, parameters: ResolverParameters, types: TypeLinks
) -> Response:
    values = parameters.values.select(resolved.values)
    if _is_json(request, parameters):
        document: dict[str, Any] = {
            "name": resolved.name,
            "scheme": resolved.prefix.scheme,
            "state": "active",
            "values": [build_value(value) for value in values],
        }
        if resolved.prefix.periods:
            document["periods"] = [
                msgspec.to_builtins(one) | {"label": one.label_prefix} for one in resolved.prefix.periods
            ]
        return Response(200, _encode(document), [(b"content-type", b"application/json"), VARY_ACCEPT, NO_CACHE])
    return pages.render_page(
        "prefix.html",
        200,
        [VARY_ACCEPT, NO_CACHE],
        **_common_context(app),
        name=resolved.name,
        prefix=resolved.prefix,
        rows=build_rows(app, values, types),
        parameters=parameters,
    )


def tombstone_page(
    app: AppContext, request: Request, resolved: ResolvedName, parameters: ResolverParameters
) -> Response:
    """Return the tombstone of an identifier: who withdrew it, when, why, and its replacement."""
    stone = resolved.record.tombstone
    assert stone is not None  # noqa: S101  (the caller has checked)
    problem = Withdrawn(resolved.name, stone.reason, stone.replaced_by)
    withdrawal = build_withdrawal(resolved)
    record = resolved.record
    times = (withdrawal.at, record.changed, record.created)
    metadata = build_metadata(record, max(time for time in times if time is not None))
    if parameters.is_record or wants_problem(request):
        document = problem_document(problem) | withdrawal_fields(withdrawal) | {"reason": stone.reason}
        document |= msgspec.to_builtins(metadata)
        headers: Headers = [(b"content-type", PROBLEM_JSON), VARY_ACCEPT, NO_CACHE]
        return Response(410, _encode(document), headers)
    return pages.render_page(
        "tombstone.html",
        410,
        [VARY_ACCEPT, NO_CACHE],
        **_common_context(app),
        name=resolved.name,
        stone=stone,
        withdrawal=withdrawal,
        metadata=metadata,
        about=record.about,
        identifier_api_path=identifier_api_path(resolved.name),
        link=lambda identifier: link_to(app, identifier),
    )


def error_page(app: AppContext, request: Request, problem: PerdureError) -> Response:
    """Return an error, as a problem document for a program, or as a page for a reader."""
    if wants_problem(request):
        return problem_response(problem).with_headers([VARY_ACCEPT])
    guesses = problem.suggestions if isinstance(problem, NoSuchName) else ()
    if isinstance(problem, InvalidName) and problem.suggestion:
        guesses = (problem.suggestion,)
    return pages.render_page(
        "refusal.html",
        status_of(problem),
        [VARY_ACCEPT, NO_STORE, *problem_headers(problem)],
        **_common_context(app),
        status=status_of(problem),
        title=_title(problem),
        detail=_detail(problem),
        guesses=[(guess, path_of(guess)) for guess in guesses],
        typed=_typed_text(request),
        forms=zip(problem.available, problem.urls, strict=False) if isinstance(problem, NotAcceptable) else (),
    )


def _typed_text(request: Request) -> str:
    """Return the text for the box of an error page: the name in the URL, as the reader has typed it."""
    try:
        return handle.unescape(request.path[1:])
    except InvalidName:
        return request.path[1:]


def _is_json(request: Request, parameters: ResolverParameters) -> bool:
    return parameters.is_record or wants_record(request)


def _record_json(request: Request, view: View, posts: Headers) -> Response:
    tag = format_etag(view.version, "json")
    headers = [VARY_ACCEPT, NO_CACHE, (b"etag", tag.encode()), *posts]
    if is_not_modified(request, tag):
        return Response(304, b"", headers)
    return Response(200, _encode(build_identifier(view)), [(b"content-type", b"application/json"), *headers])


def build_withdrawal(resolved: ResolvedName) -> Withdrawal:
    """Return when an identifier was withdrawn, and by whom."""
    return (
        Withdrawal("", "") if resolved.withdrawal is None else describe_withdrawal(resolved.name, *resolved.withdrawal)
    )


def _title(problem: PerdureError) -> str:
    status = status_of(problem)
    if isinstance(problem, NoSuchPrefix):
        return "Unknown prefix"
    if isinstance(problem, NoSuchName):
        return "Identifier not found"
    return _TITLES.get(status, "Error")


def _detail(problem: PerdureError) -> str:
    if isinstance(problem, NoSuchPrefix):
        return (
            f"The prefix {problem.name} is not registered here. Its names belong to another registry, or do not exist."
        )
    if type(problem) is NoSuchName:
        return f"Nothing is registered under {problem.name}."
    document = str(problem)
    return f"{document[:1].upper()}{document[1:]}."


def _common_context(app: AppContext) -> dict[str, Any]:
    return {"contact": app.options.contact}
