"""Endpoints to show, change, withdraw and list identifiers."""

from typing import Annotated, Any, Final
from urllib.parse import urlencode

import msgspec
from litestar import Response, delete, get, patch
from litestar.datastructures import ResponseHeader
from litestar.params import HeaderParameter, JSONBody, QueryParameter

from perdure import registry as use
from perdure.http.api.request_context import (
    CREDENTIALS_OPTIONAL,
    CREDENTIALS_REQUIRED,
    IfMatch,
    InjectedContext,
    Name,
    PageLimit,
    decode_name,
    error_responses,
    identifier_response,
    validator_headers,
    view_response,
)
from perdure.http.api.schemas.requests import ChangeRequest
from perdure.http.api.schemas.responses import IdentifierListResponse, IdentifierResponse
from perdure.http.api.views import build_summary
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import expect_version, if_none_match_has, version_etag
from perdure.records.record import State
from perdure.registry import IdentifierQuery
from perdure.registry.entities import Scheme

ETAG_HEADER: Final = ResponseHeader(name="ETag", documentation_only=True, description="The version, for If-Match.")
CHANGE_ERRORS: Final = error_responses(404, 409, 410, 412, 428)

IfNoneMatch = Annotated[
    str | None, HeaderParameter(name="If-None-Match", description="The ETag of the version that you have.")
]


@get(
    "/identifiers/{name:str}",
    operation_id="show",
    tags=["identifiers"],
    summary="Show an identifier",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(304, 404),
    response_description="The identifier, or the tombstone of a withdrawn one.",
    response_headers=[ETAG_HEADER],
)
async def show(context: InjectedContext, name: Name, if_none_match: IfNoneMatch = None) -> Response[IdentifierResponse]:
    """Show an identifier. Values that are not public require permission to edit."""
    view = await use.show(context.registry, decode_name(name), by=context.caller)
    if if_none_match_has(if_none_match, version_etag(view.version)):
        nothing: Response[Any] = Response(None, status_code=304, headers=validator_headers(version_etag(view.version)))
        return nothing
    return view_response(view)


@patch(
    "/identifiers/{name:str}",
    operation_id="change",
    tags=["identifiers"],
    summary="Change an identifier",
    security=CREDENTIALS_REQUIRED,
    responses=CHANGE_ERRORS | error_responses(404, 409, 410, 412, 413, 415, 428),
    response_description="The current state of the identifier.",
    response_headers=[ETAG_HEADER],
)
async def change(
    context: InjectedContext, name: Name, data: JSONBody[ChangeRequest], if_match: IfMatch = None
) -> Response[IdentifierResponse]:
    """Change an identifier by adding a new version. Fields that are not given stay; old versions stay readable."""
    text = decode_name(name)
    with expect_version(if_match) as version:
        await use.update(context.registry, context.agent, text, data.to_statement(), expected_version=version)
    return await identifier_response(context, text)


@delete(
    "/identifiers/{name:str}",
    status_code=200,
    operation_id="withdraw",
    tags=["identifiers"],
    summary="Withdraw an identifier",
    security=CREDENTIALS_REQUIRED,
    responses=CHANGE_ERRORS,
    response_description="The tombstone.",
    response_headers=[ETAG_HEADER],
)
async def withdraw(
    context: InjectedContext,
    name: Name,
    reason: Annotated[str, QueryParameter(min_length=1, description="The reason, which is public.")],
    replaced_by: Annotated[
        str | None, QueryParameter(min_length=1, description="The identifier that replaces it.")
    ] = None,
    if_match: IfMatch = None,
) -> Response[IdentifierResponse]:
    """Replace the identifier by a tombstone. Its history stays, and it can be reinstated."""
    text = decode_name(name)
    with expect_version(if_match) as version:
        await use.withdraw(
            context.registry, context.agent, text, reason, replaced_by=replaced_by, expected_version=version
        )
    return await identifier_response(context, text)


@get(
    "/identifiers",
    operation_id="list",
    tags=["identifiers"],
    summary="List identifiers",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="A page of identifiers.",
    response_headers=[
        ResponseHeader(name="Link", documentation_only=True, description="The next page, with rel=next.")
    ],
)
async def list_identifiers(
    context: InjectedContext,
    prefix: Annotated[
        str | None,
        QueryParameter(min_length=1, description="Only names under this prefix, or that begin so: 12345/thesis-."),
    ] = None,
    current_state: Annotated[
        State | None, QueryParameter(name="state", description="Only names in this state.")
    ] = None,
    scheme: Annotated[Scheme | None, QueryParameter(description="Only names of this scheme.")] = None,
    creator: Annotated[
        str | None, QueryParameter(min_length=1, description="The creator: an agent's short name, or an identifier.")
    ] = None,
    owner: Annotated[
        str | None, QueryParameter(min_length=1, description="An owner, or the creator if there is no owner.")
    ] = None,
    created_since: Annotated[
        str | None, QueryParameter(min_length=1, description="Created at this date or time (UTC), or later.")
    ] = None,
    created_before: Annotated[
        str | None, QueryParameter(min_length=1, description="Created before this date or time.")
    ] = None,
    changed_since: Annotated[
        str | None, QueryParameter(min_length=1, description="Last changed at this date or time, or later.")
    ] = None,
    changed_before: Annotated[
        str | None, QueryParameter(min_length=1, description="Last changed before this date or time.")
    ] = None,
    target_begins: Annotated[
        str | None, QueryParameter(min_length=1, description="A URL value or a location begins with this.")
    ] = None,
    target_contains: Annotated[
        str | None, QueryParameter(min_length=1, description="A URL value or a location contains this, without case.")
    ] = None,
    type: Annotated[
        str | None, QueryParameter(min_length=1, description="The record has a value of this type.")
    ] = None,
    text: Annotated[
        str | None,
        QueryParameter(min_length=1, description="The name, a value or the description contains this, without case."),
    ] = None,
    after: Annotated[str, QueryParameter(description="The value of `next` from the previous page.")] = "",
    limit: PageLimit = 100,
) -> Response[IdentifierListResponse]:
    """List identifiers in the order of their names, page by page. Requires permission to edit or to administer.

    A page with `next` is not the last one. With filters it can be short, or empty: it ends after 10,000 names have been
    scanned. An agent with grants for its own identifiers only sees these.
    """
    query = IdentifierQuery(
        prefix=prefix,
        state=current_state,
        scheme=scheme,
        creator=creator,
        owner=owner,
        created_since=created_since,
        created_before=created_before,
        changed_since=changed_since,
        changed_before=changed_before,
        target_begins=target_begins,
        target_contains=target_contains,
        type=type,
        text=text,
    )
    async with context.acquire_search_slot():
        page = await use.list_identifiers(
            context.registry, context.agent, query=query, after=after, limit=context.clamp_limit(limit)
        )
    headers = {}
    if page.next is not None:
        parameters = {**msgspec.to_builtins(query), "after": page.next, "limit": limit}
        headers["link"] = f'<{API_ROOT}/identifiers?{urlencode(parameters)}>; rel="next"'
    rows = tuple(build_summary(row) for row in page.identifiers)
    return Response(IdentifierListResponse(identifiers=rows, next=page.next), headers=headers)
