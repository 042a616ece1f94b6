"""Endpoints for the statistics of resolutions."""

from typing import Annotated, Any, Literal

from litestar import Response, get
from litestar.params import QueryParameter

from perdure import registry as use
from perdure.http.api.request_context import (
    CREDENTIALS_REQUIRED,
    InjectedContext,
    Name,
    PageLimit,
    decode_name,
    error_responses,
)
from perdure.http.api.schemas.responses import NameStatisticsResponse, PrefixStatisticsResponse, ResolutionPeriod
from perdure.http.api.schemas.responses import NameTotal as NameTotalResponse
from perdure.http.api.views import build_from
from perdure.registry.statistics import FIRST_DAY, LAST_DAY, Period, write_csv

Since = Annotated[str, QueryParameter(description="The first day of the period, as in 2026-01-01. Default: the first.")]
Until = Annotated[str, QueryParameter(description="The last day of the period, as in 2026-12-31. Default: the last.")]
By = Annotated[Literal["day", "month"], QueryParameter(description="What the resolutions are added up by.")]
Format = Annotated[Literal["json", "csv"], QueryParameter(description="The format of the response.")]


@get(
    "/statistics/{name:str}",
    operation_id="statistics",
    tags=["statistics"],
    summary="Count resolutions of a name",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The resolutions by period and kind of client.",
)
async def name_statistics(
    context: InjectedContext,
    name: Name,
    since: Since = FIRST_DAY,
    until: Until = LAST_DAY,
    by: By = "day",
    format: Format = "json",
) -> Response[NameStatisticsResponse]:
    """Count how often an identifier was resolved. Requires any permission under its prefix.

    The counts are written every few minutes. Robots are counted apart, and no client is identified.
    """
    agent = context.agent
    async with context.acquire_search_slot():
        counted = await use.name_statistics(
            context.registry, agent, decode_name(name), since=since, until=until, monthly=by == "month"
        )
    if format == "csv":
        return _csv_response(counted.periods)
    return Response(NameStatisticsResponse(name=counted.name, periods=_build_periods(counted.periods)))


@get(
    "/prefix-statistics/{name:str}",
    operation_id="prefixStatistics",
    tags=["statistics"],
    summary="Count resolutions under a prefix",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The resolutions by period and kind of client, and the names that were resolved most often.",
)
async def prefix_statistics(
    context: InjectedContext,
    name: Name,
    since: Since = FIRST_DAY,
    until: Until = LAST_DAY,
    by: By = "day",
    format: Format = "json",
    limit: PageLimit = 100,
) -> Response[PrefixStatisticsResponse]:
    """Count how often the names under a prefix were resolved. Requires any permission under the prefix."""
    agent = context.agent
    async with context.acquire_search_slot():
        counted = await use.prefix_statistics(
            context.registry,
            agent,
            decode_name(name),
            since=since,
            until=until,
            monthly=by == "month",
            limit=context.clamp_limit(limit),
        )
    if format == "csv":
        return _csv_response(counted.periods)
    names = tuple(build_from(NameTotalResponse, one) for one in counted.names)
    return Response(
        PrefixStatisticsResponse(prefix=counted.prefix, periods=_build_periods(counted.periods), names=names)
    )


def _build_periods(periods: tuple[Period, ...]) -> tuple[ResolutionPeriod, ...]:
    return tuple(build_from(ResolutionPeriod, period) for period in periods)


def _csv_response(periods: tuple[Period, ...]) -> Response[Any]:
    return Response(write_csv(periods).encode(), media_type="text/csv")  # the framework adds the encoding
