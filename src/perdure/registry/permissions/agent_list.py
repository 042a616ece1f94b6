"""The agents of a registry with their grants and keys, for those who administer them."""

from collections.abc import Sequence
from typing import NamedTuple

from perdure.errors import NotAuthorised
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Grant, Key
from perdure.registry.permissions.permissions import has_expired, require_agent, require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader


class AgentEntry(NamedTuple):
    """An agent and its grants."""

    agent: Agent
    grants: Sequence[Grant]


async def list_agents(registry: Registry, by: Agent, after: str = "", limit: int = 1000) -> list[AgentEntry]:
    """Return the agents whose ids follow `after`, in order. The caller must be an administrator of some prefix."""

    def work(reader: Reader) -> list[AgentEntry]:
        _require_some_administrator(reader, by, registry.current_time())
        agents = sorted((agent for agent in reader.agents() if agent.id > after), key=lambda agent: agent.id)
        return [AgentEntry(agent, reader.grants(agent.id)) for agent in agents[:limit]]

    return await registry.store.scan(work)


async def show_agent(registry: Registry, by: Agent, id: str) -> AgentEntry:
    """Return an agent. Administrators of any prefix see every agent, because they can give grants to it."""

    def work(reader: Reader) -> AgentEntry:
        if by.id != id:
            _require_some_administrator(reader, by, registry.current_time())
        return AgentEntry(require_agent(reader, id), reader.grants(id))

    return await registry.store.read(work)


async def list_keys(registry: Registry, by: Agent, id: str) -> list[Key]:
    """Return the keys of an agent, as their digests only. Agents see their own; administrators of everything see all.

    The order is that of their creation.
    """

    def work(reader: Reader) -> list[Key]:
        if by.id != id:
            require_permission(reader, by, "admin", WHOLE_REGISTRY, registry.current_time())
        require_agent(reader, id)
        return sorted(reader.keys(id), key=lambda key: (key.created, key.id))

    return await registry.store.read(work)


def _require_some_administrator(reader: Reader, by: Agent, now: str) -> None:
    administers = (one.action == "admin" and not one.own and not has_expired(one, now) for one in reader.grants(by.id))
    if not any(administers):
        raise NotAuthorised(by.id, "administer agents", WHOLE_REGISTRY)
