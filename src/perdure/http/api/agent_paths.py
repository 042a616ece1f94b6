"""Paths of agents, which have parts below the id of the agent."""

from typing import Annotated, Final

from litestar.openapi.spec import Example
from litestar.params import PathParameter

from perdure.http.api.request_context import ApiContext, decode_name
from perdure.registry.permissions.agents import CALLER

AGENTS: Final = "/agents"
_PARTS: Final = ("keys", "grants", "retire", "reinstate")

AgentId = Annotated[
    str,
    PathParameter(
        description=f"The short name of an agent; {CALLER} is the authenticated agent.",
        examples=[Example(value="maria")],
    ),
]
KeyId = Annotated[
    str, PathParameter(description="The id of a key, which is not the key.", examples=[Example(value="0f3a9c2d11ee")])
]


def is_agent_path(template: str) -> bool:
    """Return whether a path template is one of `match_agent_path`."""
    return template.startswith(f"{AGENTS}/")


def match_agent_path(below: str) -> str | None:
    """Return the path template of an agent or of one of its parts; None for another path."""
    match below.split("/"):
        case ["", "agents", agent] if agent:
            return f"{AGENTS}/{{agent}}"
        case ["", "agents", agent, part] if agent and part in _PARTS:
            return f"{AGENTS}/{{agent}}/{part}"
        case ["", "agents", agent, "keys", key] if agent and key:
            return f"{AGENTS}/{{agent}}/keys/{{key}}"
    return None


def find_agent_id(context: ApiContext, escaped: str) -> str:
    """Return the id of the agent that a path names."""
    text = decode_name(escaped)
    return context.agent.id if text == CALLER else text
