"""Request and response schemas of agents, their keys and their grants."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from perdure.http.api.schemas.responses import AgentResponse, GrantResponse, ResponseSchema
from perdure.http.api.schemas.values import RequestSchema
from perdure.registry.entities import Action

_MOST_ACTIONS: Final = 7

AgentName = Annotated[str, Meta(min_length=1, max_length=500, description="The full name.", examples=["Maria Silva"])]
Reason = Annotated[str, Meta(min_length=1, max_length=500, description="The reason, for the log.")]
Expiry = Annotated[
    str,
    Meta(
        min_length=1,
        description="ISO 8601 with a time zone. Not later than the expiry of your own key and grants, which is also "
        "the default.",
        examples=["2027-12-31T00:00:00Z"],
    ),
]


class AddAgentRequest(RequestSchema, frozen=True, kw_only=True):
    """A person or a program. A new agent has no permissions and no keys."""

    id: Annotated[
        str,
        Meta(
            pattern=r"^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$",
            description="A short name. It is never changed and never used again.",
            examples=["maria"],
        ),
    ]
    name: AgentName
    identifier: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="An identifier that resolves to the agent: a name of this registry, hdl: or https:. "
                "Default: a new one is minted.",
                examples=["https://orcid.org/0000-0002-1825-0097"],
            ),
        ]
        | None
    ) = None
    kind: Literal["person", "program"] = "person"


class RenameAgentRequest(RequestSchema, frozen=True, kw_only=True):
    """The new name of an agent."""

    name: AgentName


class RetireAgentRequest(RequestSchema, frozen=True, kw_only=True):
    """Why an agent is retired."""

    reason: Reason


class NewKeyRequest(RequestSchema, frozen=True, kw_only=True):
    """A new key."""

    expires: Expiry | None = None
    label: Annotated[str, Meta(max_length=500, description="What the key is used for.", examples=["laptop"])] = ""


class GrantRequest(RequestSchema, frozen=True, kw_only=True):
    """Permissions for an agent. Each replaces an earlier one for the same action and scope."""

    scope: Annotated[str, Meta(min_length=1, description="A prefix, or * for the whole registry.", examples=["12345"])]
    actions: Annotated[tuple[Action, ...], Meta(min_length=1, max_length=_MOST_ACTIONS, examples=[["mint", "edit"]])]
    own: Annotated[bool, Meta(description="Only for identifiers that the agent is responsible for.")] = False
    until: Expiry | None = None


class AgentListResponse(ResponseSchema, frozen=True, kw_only=True):
    """A page of agents. `next` is the value of `after` for the next page."""

    agents: tuple[AgentResponse, ...]
    next: str | None = None


class KeyResponse(ResponseSchema, frozen=True, kw_only=True):
    """A key of an agent, without the key itself."""

    id: str
    agent: str
    created: str
    expires: str | None = None
    revoked: str | None = None
    label: str = ""


class NewKeyResponse(KeyResponse, frozen=True, kw_only=True):
    """A new key. Its text is shown this once, and is not stored."""

    key: Annotated[str, Meta(description="The key itself, for `Authorization: Bearer`.")]


class KeyListResponse(ResponseSchema, frozen=True, kw_only=True):
    """The keys of an agent, oldest first."""

    keys: tuple[KeyResponse, ...]


class GrantListResponse(ResponseSchema, frozen=True, kw_only=True):
    """The grants of an agent."""

    grants: tuple[GrantResponse, ...]


class RevokedGrantsResponse(ResponseSchema, frozen=True, kw_only=True):
    """The number of grants that were revoked."""

    revoked: int


AGENT_REQUEST_SCHEMAS: Final[tuple[type[RequestSchema], ...]] = (
    AddAgentRequest,
    RenameAgentRequest,
    RetireAgentRequest,
    NewKeyRequest,
    GrantRequest,
)
AGENT_RESPONSE_SCHEMAS: Final[tuple[type[msgspec.Struct], ...]] = (
    AgentListResponse,
    KeyResponse,
    NewKeyResponse,
    KeyListResponse,
    GrantListResponse,
    RevokedGrantsResponse,
)
