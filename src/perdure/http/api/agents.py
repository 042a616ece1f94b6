"""Endpoints for agents."""

from typing import Annotated, Final

from litestar import Response, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.params import JSONBody, QueryParameter

from perdure import registry as use
from perdure.http.api.agent_paths import AGENTS, AgentId, find_agent_id
from perdure.http.api.request_context import (
    CREDENTIALS_REQUIRED,
    ApiContext,
    IfMatch,
    InjectedContext,
    PageLimit,
    error_responses,
)
from perdure.http.api.schemas.agents import (
    AddAgentRequest,
    AgentListResponse,
    RenameAgentRequest,
    RetireAgentRequest,
)
from perdure.http.api.schemas.responses import AgentResponse
from perdure.http.api.views import build_agent
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import digest_etag, expect_etag
from perdure.registry.permissions.agent_etag import agent_digest

_NO_STORE: Final = {"cache-control": "no-store"}
_ETAG_HEADER: Final = ResponseHeader(
    name="ETag", documentation_only=True, description="A digest of the agent and its grants, for If-Match."
)
_LOCATION_HEADER: Final = ResponseHeader(name="Location", documentation_only=True, description="The URL of the agent.")
_CHANGE_ERRORS: Final = error_responses(404, 409, 412, 428)
_BODY_ERRORS: Final = error_responses(404, 409, 412, 413, 415, 428)


@get(
    "/agents/me",
    operation_id="me",
    tags=["agents"],
    summary="Show the authenticated agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(),
    response_description="The authenticated agent.",
)
async def me(context: InjectedContext) -> Response[AgentResponse]:
    """Show the agent of these credentials, and its grants."""
    agent = context.agent
    grants = await context.registry.store.read(lambda reader: reader.grants(agent.id))
    return Response(build_agent(agent, grants), headers=_NO_STORE)


@get(
    "/agents",
    operation_id="agents",
    tags=["agents"],
    summary="List agents",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(),
    response_description="A page of agents, in the order of their ids.",
)
async def list_agents(
    context: InjectedContext,
    after: Annotated[str, QueryParameter(max_length=64, description="The id of an agent: list those after it.")] = "",
    limit: PageLimit = 100,
) -> Response[AgentListResponse]:
    """List all agents with their grants. Requires permission to administer some prefix."""
    size = context.clamp_limit(limit)
    found = await use.list_agents(context.registry, context.agent, after, size + 1)
    page = found[:size]
    following = page[-1].agent.id if len(found) > size else None
    return Response(
        AgentListResponse(agents=tuple(build_agent(*entry) for entry in page), next=following), headers=_NO_STORE
    )


@get(
    "/agents/{agent:str}",
    operation_id="agent",
    tags=["agents"],
    summary="Show an agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The agent and its grants.",
    response_headers=[_ETAG_HEADER],
)
async def show_agent(context: InjectedContext, agent: AgentId) -> Response[AgentResponse]:
    """Show an agent: oneself, or any other with permission to administer some prefix."""
    return await _agent_response(context, find_agent_id(context, agent))


@post(
    "/agents",
    operation_id="addAgent",
    tags=["agents"],
    summary="Add an agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(409, 413, 415),
    response_description="The new agent.",
    response_headers=[_LOCATION_HEADER, _ETAG_HEADER],
)
async def add_agent(context: InjectedContext, data: JSONBody[AddAgentRequest]) -> Response[AgentResponse]:
    """Add a person or a program, without permissions and keys. Requires permission to administer the whole registry."""
    added = await use.add_agent(
        context.registry, context.agent, data.id, data.name, identifier=data.identifier, kind=data.kind
    )
    return await _agent_response(context, added.id, 201, {"location": f"{API_ROOT}{AGENTS}/{added.id}"})


@patch(
    "/agents/{agent:str}",
    operation_id="renameAgent",
    tags=["agents"],
    summary="Rename an agent",
    security=CREDENTIALS_REQUIRED,
    responses=_BODY_ERRORS,
    response_description="The current state of the agent.",
    response_headers=[_ETAG_HEADER],
)
async def rename_agent(
    context: InjectedContext, agent: AgentId, data: JSONBody[RenameAgentRequest], if_match: IfMatch = None
) -> Response[AgentResponse]:
    """Change the name of an agent, and of its description. Its id never changes. The history keeps the old name."""
    agent_id = find_agent_id(context, agent)
    with expect_etag(if_match) as expected:
        await use.rename_agent(context.registry, context.agent, agent_id, data.name, expected=expected)
    return await _agent_response(context, agent_id)


@post(
    "/agents/{agent:str}/retire",
    status_code=200,
    operation_id="retireAgent",
    tags=["agents"],
    summary="Retire an agent",
    security=CREDENTIALS_REQUIRED,
    responses=_BODY_ERRORS,
    response_description="The current state of the agent.",
    response_headers=[_ETAG_HEADER],
)
async def retire_agent(
    context: InjectedContext, agent: AgentId, data: JSONBody[RetireAgentRequest], if_match: IfMatch = None
) -> Response[AgentResponse]:
    """End all keys and grants of an agent at once. Its identifiers stay; transfer them to another agent."""
    agent_id = find_agent_id(context, agent)
    with expect_etag(if_match) as expected:
        retired = await use.retire_agent(context.registry, context.agent, agent_id, data.reason, expected=expected)
    etag = digest_etag(agent_digest(retired.agent, ()))
    return Response(build_agent(retired.agent, ()), headers={**_NO_STORE, "etag": etag})


@post(
    "/agents/{agent:str}/reinstate",
    status_code=200,
    operation_id="reinstateAgent",
    tags=["agents"],
    summary="Reinstate an agent",
    security=CREDENTIALS_REQUIRED,
    responses=_CHANGE_ERRORS,
    response_description="The current state of the agent.",
    response_headers=[_ETAG_HEADER],
)
async def reinstate_agent(
    context: InjectedContext, agent: AgentId, if_match: IfMatch = None
) -> Response[AgentResponse]:
    """Undo a retirement. The old keys and grants do not come back."""
    agent_id = find_agent_id(context, agent)
    with expect_etag(if_match) as expected:
        await use.reinstate_agent(context.registry, context.agent, agent_id, expected=expected)
    return await _agent_response(context, agent_id)


async def _agent_response(
    context: ApiContext, id: str, status: int = 200, headers: dict[str, str] | None = None
) -> Response[AgentResponse]:
    entry = await use.show_agent(context.registry, context.agent, id)
    tagged = {**_NO_STORE, "etag": digest_etag(agent_digest(*entry)), **(headers or {})}
    return Response(build_agent(*entry), status_code=status, headers=tagged)
