"""The digest of an agent and its grants, for preconditions: concurrent changes never overwrite each other unnoticed."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

from perdure.errors import Conflict
from perdure.registry.entities import Agent, Grant
from perdure.registry.store_interface import Reader

_CHARACTERS: Final = 16


def agent_digest(agent: Agent, grants: Sequence[Grant]) -> str:
    """Compute a digest of all that can change in an agent, except its keys."""
    state = (agent.name, agent.retired, [(one.scope, one.action, one.own, one.until) for one in grants])
    return sha256(msgspec.json.encode(state)).hexdigest()[:_CHARACTERS]


def check_agent_digest(reader: Reader, agent: Agent, expected: str | None) -> None:
    """Raise Conflict if the agent has changed since the caller read it; None expects nothing."""
    if expected is None:
        return
    current = agent_digest(agent, reader.grants(agent.id))
    if expected != current:
        raise Conflict(agent.id, f"agent {expected}", f"agent {current}")
