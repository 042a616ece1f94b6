"""Endpoints for pools of IBI subsystems."""

from typing import Annotated

from litestar import Response, delete, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.openapi.spec import Example
from litestar.params import JSONBody, PathParameter

from perdure import registry as use
from perdure.http.api.request_context import (
    CREDENTIALS_OPTIONAL,
    CREDENTIALS_REQUIRED,
    IfMatch,
    InjectedContext,
    decode_name,
    error_responses,
)
from perdure.http.api.schemas.pools import AddPoolRequest, ChangePoolRequest, PoolListResponse, PoolResponse
from perdure.http.api.views import build_from
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import digest_etag, expect_etag
from perdure.registry.entities import Pool
from perdure.registry.pools.pools import pool_digest

_LOCATION_HEADER = ResponseHeader(name="Location", documentation_only=True, description="The URL of the pool.")
_ETAG_HEADER = ResponseHeader(
    name="ETag", documentation_only=True, description="A digest of the policy and the members, for If-Match."
)
PoolName = Annotated[str, PathParameter(description="The name of a pool.", examples=[Example(value="main")])]


@get(
    "/pools",
    operation_id="pools",
    tags=["pools"],
    summary="List pools",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="All pools.",
)
async def list_pools(context: InjectedContext) -> Response[PoolListResponse]:
    """List the pools of this registry."""
    pools = await use.list_pools(context.registry)
    return Response(PoolListResponse(pools=tuple(build_from(PoolResponse, one) for one in pools)))


@get(
    "/pools/{name:str}",
    operation_id="pool",
    tags=["pools"],
    summary="Show a pool",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(404),
    response_description="The pool.",
    response_headers=[_ETAG_HEADER],
)
async def show_pool(context: InjectedContext, name: PoolName) -> Response[PoolResponse]:
    """Show a pool: the subsystems in it, and how one of them is chosen."""
    return _pool_response(await use.find_pool(context.registry, decode_name(name)))


@post(
    "/pools",
    operation_id="addPool",
    tags=["pools"],
    summary="Add a pool",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 413, 415),
    response_description="The new pool.",
    response_headers=[_LOCATION_HEADER, _ETAG_HEADER],
)
async def add_pool(context: InjectedContext, data: JSONBody[AddPoolRequest]) -> Response[PoolResponse]:
    """Add a pool of IBI subsystems. Requires permission to administer the whole registry."""
    added = await use.add_pool(context.registry, context.agent, data.name, data.members, policy=data.policy)
    return _pool_response(added, 201, {"location": f"{API_ROOT}/pools/{added.name}"})


@patch(
    "/pools/{name:str}",
    operation_id="changePool",
    tags=["pools"],
    summary="Change a pool",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 412, 413, 415, 428),
    response_description="The current state of the pool.",
    response_headers=[_ETAG_HEADER],
)
async def change_pool(
    context: InjectedContext, name: PoolName, data: JSONBody[ChangePoolRequest], if_match: IfMatch = None
) -> Response[PoolResponse]:
    """Change the members or the policy of a pool. Requires permission to administer the whole registry."""
    with expect_etag(if_match) as expected:
        changed = await use.change_pool(
            context.registry,
            context.agent,
            decode_name(name),
            members=data.members,
            policy=data.policy,
            expected=expected,
        )
    return _pool_response(changed)


@delete(
    "/pools/{name:str}",
    status_code=200,
    operation_id="removePool",
    tags=["pools"],
    summary="Remove a pool",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 412, 428),
    response_description="The pool that was removed.",
)
async def remove_pool(context: InjectedContext, name: PoolName, if_match: IfMatch = None) -> Response[PoolResponse]:
    """Remove a pool. Its subsystems and all identifiers stay. Requires permission to administer the whole registry."""
    with expect_etag(if_match) as expected:
        removed = await use.remove_pool(context.registry, context.agent, decode_name(name), expected=expected)
    return Response(build_from(PoolResponse, removed))


def _pool_response(pool: Pool, status: int = 200, headers: dict[str, str] | None = None) -> Response[PoolResponse]:
    tagged = {"etag": digest_etag(pool_digest(pool)), **(headers or {})}
    return Response(build_from(PoolResponse, pool), status_code=status, headers=tagged)
