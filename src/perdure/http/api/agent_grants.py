"""Endpoints for the grants of agents."""

from typing import Annotated, Final

from litestar import Response, delete, get, post
from litestar.params import JSONBody, QueryParameter

from perdure import registry as use
from perdure.http.api.agent_paths import AgentId, find_agent_id
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, error_responses
from perdure.http.api.schemas.agents import GrantListResponse, GrantRequest, RevokedGrantsResponse
from perdure.http.api.schemas.responses import GrantResponse
from perdure.http.api.views import build_from
from perdure.registry.entities import ACTIONS, Action

_NO_STORE: Final = {"cache-control": "no-store"}


@get(
    "/agents/{agent:str}/grants",
    operation_id="grants",
    tags=["agents"],
    summary="List the grants of an agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The grants, also those that have expired.",
)
async def list_grants(context: InjectedContext, agent: AgentId) -> Response[GrantListResponse]:
    """List one's own grants, or, with permission to administer some prefix, those of any agent."""
    entry = await use.show_agent(context.registry, context.agent, find_agent_id(context, agent))
    grants = tuple(build_from(GrantResponse, one) for one in entry.grants)
    return Response(GrantListResponse(grants=grants), headers=_NO_STORE)


@post(
    "/agents/{agent:str}/grants",
    status_code=200,
    operation_id="grant",
    tags=["agents"],
    summary="Grant permissions to an agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 413, 415),
    response_description="The new grants.",
)
async def give_grants(
    context: InjectedContext, agent: AgentId, data: JSONBody[GrantRequest]
) -> Response[GrantListResponse]:
    """Grant permissions under a prefix, or everywhere. Requires permission to administer that prefix, or everything.

    They expire no later than the caller's own key and grant. All of them are given, or none.
    """
    given = await use.grant(
        context.registry,
        context.agent,
        find_agent_id(context, agent),
        data.scope,
        data.actions,
        own=data.own,
        until=data.until,
    )
    return Response(GrantListResponse(grants=tuple(build_from(GrantResponse, one) for one in given)), headers=_NO_STORE)


@delete(
    "/agents/{agent:str}/grants",
    status_code=200,
    operation_id="revokeGrants",
    tags=["agents"],
    summary="Revoke permissions of an agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409),
    response_description="The number of revoked grants.",
)
async def revoke_grants(
    context: InjectedContext,
    agent: AgentId,
    where: Annotated[
        str, QueryParameter(name="scope", min_length=1, description="A prefix, or * for the whole registry.")
    ],
    action: Annotated[
        list[Action] | None,
        QueryParameter(max_items=len(ACTIONS), description="An action; may be repeated. Default: all actions."),
    ] = None,
) -> Response[RevokedGrantsResponse]:
    """Revoke permissions under a prefix. The last administrator of the whole registry cannot be removed."""
    count = await use.revoke(
        context.registry, context.agent, find_agent_id(context, agent), where, tuple(action or ACTIONS)
    )
    return Response(RevokedGrantsResponse(revoked=count), headers=_NO_STORE)
