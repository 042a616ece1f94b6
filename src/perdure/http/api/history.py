"""Endpoints for the history of identifiers: every version stays readable."""

from typing import Annotated

from litestar import Response, get
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.http.api.identifiers import ETAG_HEADER
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
from perdure.http.api.views import build_difference, build_revisions
from perdure.registry.query import list_acts

_LARGEST = 2**31 - 1


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
) -> Response[HistoryResponse]:
    """List all versions with time, agent and action."""
    text = decode_name(name)
    page = await list_acts(context.registry, text, after=after, limit=context.clamp_limit(limit), by=context.caller)
    behind = await list_acts(context.registry, text, after=page[-1].version, limit=1) if page else []
    more = page[-1].version if behind else None
    return Response(HistoryResponse(name=text, revisions=build_revisions(page), next=more))


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
) -> Response[IdentifierResponse]:
    """Show the identifier as it was at a version."""
    return view_response(await use.show(context.registry, decode_name(name), version=version, by=context.caller))


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
        DiffResponse(name=text, differences=tuple(build_difference(difference) for difference in differences))
    )
