"""Endpoints to search identifiers by their content."""

from typing import Annotated

from litestar import Response, get
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.http.api.request_context import CREDENTIALS_OPTIONAL, InjectedContext, PageLimit, error_responses
from perdure.http.api.schemas.responses import SearchResponse
from perdure.http.api.views import build_search_response


@get(
    "/search",
    operation_id="search",
    tags=["finding"],
    summary="Search",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="The identifiers found, newest first.",
)
async def search(
    context: InjectedContext,
    q: Annotated[
        str,
        QueryParameter(
            min_length=1,
            description="Words that must all occur. With * at its end, a word matches all that begin with it.",
        ),
    ],
    limit: PageLimit = 100,
) -> Response[SearchResponse]:
    """Find identifiers by words in their names, targets, values and descriptions."""
    async with context.acquire_search_slot():
        return Response(
            build_search_response(await use.search(context.registry, q.split(), limit=context.clamp_limit(limit)))
        )


@get(
    "/reverse",
    operation_id="reverse",
    tags=["finding"],
    summary="Reverse lookup",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="The identifiers found, newest first.",
)
async def reverse(
    context: InjectedContext,
    exact_data: Annotated[
        str, QueryParameter(name="data", min_length=1, description="The exact data of a value, for example its URL.")
    ],
    type: Annotated[
        str, QueryParameter(min_length=1, description="The type of the value: URL, EMAIL, CHECKSUM or HS_ALIAS.")
    ] = "URL",
    limit: PageLimit = 100,
) -> Response[SearchResponse]:
    """Find the identifiers with exactly this target, or with a value of exactly this data."""
    async with context.acquire_search_slot():
        hits = await use.find_by_value(context.registry, exact_data, type=type, limit=context.clamp_limit(limit))
    return Response(build_search_response(hits))
