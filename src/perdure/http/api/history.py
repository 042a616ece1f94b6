"""Endpoints for the history of identifiers: every version stays readable."""

from collections.abc import Sequence
from typing import Annotated

from litestar import Response, get
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.http.api.identifiers import ETAG_HEADER, HandleRecord
from perdure.http.api.request_context import (
    CREDENTIALS_OPTIONAL,
    InjectedContext,
    Name,
    PageLimit,
    decode_name,
    error_responses,
    view_response,
)
from perdure.http.api.schemas.responses import DiffResponse, HistoryResponse, IdentifierResponse
from perdure.http.api.views import build_difference, build_recorded_revisions
from perdure.registry.entities import Act, Revision
from perdure.registry.query import find_name, list_acts, list_revisions

_LARGEST = 2**31 - 1
_MOST_RECORDS = 20  # on one page


@get(
    "/history/{name:str}",
    operation_id="history",
    tags=["history"],
    summary="List versions",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(404),
    response_description="The agent, the time and the action of each version.",
)
async def history(
    context: InjectedContext,
    name: Name,
    after: Annotated[int, QueryParameter(ge=0, le=_LARGEST, description="Only versions after this number.")] = 0,
    limit: PageLimit = 100,
    records: Annotated[
        bool, QueryParameter(description="Add the record of each version. A page has at most 20 versions then.")
    ] = False,
) -> Response[HistoryResponse]:
    """List all versions with time, agent and action."""
    text, most = decode_name(name), context.clamp_limit(limit)
    page: Sequence[Act | Revision]
    if records:
        async with context.acquire_search_slot():
            page = await list_revisions(
                context.registry, text, after=after, limit=min(most, _MOST_RECORDS), by=context.caller
            )
    else:
        page = await list_acts(context.registry, text, after=after, limit=most, by=context.caller)
    behind = await list_acts(context.registry, text, after=page[-1].version, limit=1) if page else []
    more = page[-1].version if behind else None
    shown = await find_name(context.registry, text)
    return Response(HistoryResponse(name=shown, revisions=build_recorded_revisions(page), next=more))


@get(
    "/versions/{name:str}",
    operation_id="version",
    tags=["history"],
    summary="Show a version",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(404),
    response_description="The identifier at that version.",
    response_headers=[ETAG_HEADER],
)
async def version(
    context: InjectedContext,
    name: Name,
    version: Annotated[int, QueryParameter(ge=1, le=_LARGEST, description="The number of the version.")],
    handle_record: HandleRecord = False,
) -> Response[IdentifierResponse]:
    """Show the identifier as it was at a version."""
    view = await use.show(context.registry, decode_name(name), version=version, by=context.caller)
    return view_response(view, with_handle_record=handle_record)


@get(
    "/diff/{name:str}",
    operation_id="diff",
    tags=["history"],
    summary="Compare two versions",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(404),
    response_description="The differences of the two versions.",
)
async def diff(
    context: InjectedContext,
    name: Name,
    earlier: Annotated[int, QueryParameter(name="from", ge=1, le=_LARGEST, description="The earlier version.")],
    later: Annotated[int, QueryParameter(name="to", ge=1, le=_LARGEST, description="The later version.")],
) -> Response[DiffResponse]:
    """List the differences between two versions, part by part."""
    text = decode_name(name)
    differences = await use.diff(context.registry, text, earlier, later, by=context.caller)
    return Response(
        DiffResponse(
            name=await find_name(context.registry, text),
            differences=tuple(build_difference(difference) for difference in differences),
        )
    )
