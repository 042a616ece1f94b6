"""Endpoints for the keys of agents. The text of a key is in one response only, and never in a log."""

from typing import Final

from litestar import Response, delete, get, post
from litestar.params import JSONBody

from perdure import registry as use
from perdure.http.api.agent_paths import AgentId, KeyId, find_agent_id
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, decode_name, error_responses
from perdure.http.api.schemas.agents import KeyListResponse, KeyResponse, NewKeyRequest, NewKeyResponse
from perdure.http.api.views import build_from

_NO_STORE: Final = {"cache-control": "no-store"}


@get(
    "/agents/{agent:str}/keys",
    operation_id="keys",
    tags=["agents"],
    summary="List the keys of an agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The ids, labels and states of the keys.",
)
async def list_keys(context: InjectedContext, agent: AgentId) -> Response[KeyListResponse]:
    """List one's own keys, or, with permission to administer the whole registry, those of any agent."""
    keys = await use.list_keys(context.registry, context.agent, find_agent_id(context, agent))
    return Response(KeyListResponse(keys=tuple(build_from(KeyResponse, key) for key in keys)), headers=_NO_STORE)


@post(
    "/agents/{agent:str}/keys",
    operation_id="newKey",
    tags=["agents"],
    summary="Create a key for an agent",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 413, 415),
    response_description="The new key, which is shown this once.",
)
async def new_key(context: InjectedContext, agent: AgentId, data: JSONBody[NewKeyRequest]) -> Response[NewKeyResponse]:
    """Create a key for oneself, or, with permission to administer the whole registry, for any agent.

    It expires no later than the caller's own key and grants. The agent's other keys stay valid.
    """
    key, token = await use.new_key(
        context.registry, context.agent, find_agent_id(context, agent), expires=data.expires, label=data.label
    )
    return Response(build_from(NewKeyResponse, key, key=token), headers=_NO_STORE)


@delete(
    "/agents/{agent:str}/keys/{key:str}",
    status_code=200,
    operation_id="revokeKey",
    tags=["agents"],
    summary="Revoke a key",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404),
    response_description="The revoked key.",
)
async def revoke_key(context: InjectedContext, agent: AgentId, key: KeyId) -> Response[KeyResponse]:
    """Revoke one of one's own keys, or, with permission to administer the whole registry, any key. It ends at once."""
    agent_id = find_agent_id(context, agent)
    revoked = await use.revoke_key(context.registry, context.agent, decode_name(key), agent=agent_id)
    return Response(build_from(KeyResponse, revoked), headers=_NO_STORE)
