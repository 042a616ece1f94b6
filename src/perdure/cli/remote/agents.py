"""Agents of a remote registry, with their keys and grants."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from perdure.cli.remote.remote_registry import PAGE, RemoteRegistry, path_to
from perdure.errors import PerdureError
from perdure.registry.entities import ACTIONS, Action, Agent, Grant, Key
from perdure.registry.identifier_view import View
from perdure.registry.permissions.agents import RenamedAgent
from perdure.registry.permissions.retirement import Responsibilities, RetiredAgent

AgentEntry = tuple[Agent, list[Grant], list[Key]]


class _GrantItem(msgspec.Struct):
    scope: str
    action: Action
    own: bool = False
    until: str | None = None
    given_by: str = ""
    given_at: str = ""


class _AgentItem(msgspec.Struct):
    id: str
    name: str
    identifier: str
    kind: Literal["person", "program"]
    grants: tuple[_GrantItem, ...]
    created: str = ""
    retired: str | None = None

    def to_domain(self) -> Agent:
        return Agent(self.id, self.name, self.identifier, self.created, self.kind, self.retired)


class _AgentPage(msgspec.Struct):
    agents: tuple[_AgentItem, ...]
    next: str | None = None


class _KeyItem(msgspec.Struct):
    id: str
    agent: str
    created: str
    expires: str | None = None
    revoked: str | None = None
    label: str = ""
    key: str = ""  # of a new one

    def to_domain(self) -> Key:
        return Key(self.id, self.agent, b"", self.created, self.expires, self.revoked, self.label)


class _KeyList(msgspec.Struct):
    keys: tuple[_KeyItem, ...]


class _GrantList(msgspec.Struct):
    grants: tuple[_GrantItem, ...]


class _RevokedCount(msgspec.Struct):
    revoked: int


class _NamePage(msgspec.Struct):
    identifiers: tuple["_StateItem", ...]
    next: str | None = None


class _StateItem(msgspec.Struct):
    name: str
    state: str


async def list_agents(remote: RemoteRegistry, by: Agent | None, keys: bool) -> list[AgentEntry]:
    """List all agents with their grants and, if requested, their keys."""
    found = [one for page in remote.pages("/agents", _AgentPage, limit=PAGE) for one in page.agents]
    return [
        (one.to_domain(), _to_grants(one.id, one.grants), _list_keys(remote, one.id) if keys else []) for one in found
    ]


async def add_agent(
    remote: RemoteRegistry,
    by: Agent,
    id: str,
    name: str,
    *,
    identifier: str | None = None,
    kind: Literal["person", "program"] = "person",
) -> Agent:
    body = {"id": id, "name": name, "kind": kind} | ({} if identifier is None else {"identifier": identifier})
    return remote.decode(remote.send("POST", "/agents", body), _AgentItem).to_domain()


async def rename_agent(
    remote: RemoteRegistry, by: Agent, id: str, name: str, *, expected: str | None = None
) -> RenamedAgent:
    """Rename an agent. Return it, and the new version of its description if the registry has one."""
    path = path_to("agents", id)
    before = _version_of(remote, remote.get(path, _AgentItem).identifier)
    renamed = remote.change("PATCH", path, _AgentItem, {"name": name}, expected=expected).to_domain()
    after = _version_of(remote, renamed.identifier)
    return RenamedAgent(renamed, None if after == before else after)


def _version_of(remote: RemoteRegistry, identifier: str) -> int | None:
    try:
        return remote.get(path_to("identifiers", identifier), View).version
    except PerdureError:  # it is described elsewhere
        return None


async def retire_agent(
    remote: RemoteRegistry, by: Agent, id: str, reason: str, *, expected: str | None = None
) -> RetiredAgent:
    path = path_to("agents", id)
    keys = sum(key.revoked is None for key in _list_keys(remote, id))
    grants = len(remote.get(path, _AgentItem).grants)
    retired = remote.change("POST", f"{path}/retire", _AgentItem, {"reason": reason}, expected=expected)
    return RetiredAgent(retired.to_domain(), keys, grants)


async def reinstate_agent(remote: RemoteRegistry, by: Agent, id: str, *, expected: str | None = None) -> Agent:
    path = f"{path_to('agents', id)}/reinstate"
    return remote.change("POST", path, _AgentItem, expected=expected).to_domain()


async def count_responsibilities(remote: RemoteRegistry, party: str) -> Responsibilities:
    """Count the identifiers for which a party is responsible, without the description of the party itself."""
    names = [
        one.name
        for page in remote.pages("/identifiers", _NamePage, owner=party, limit=PAGE)
        for one in page.identifiers
        if one.state != "withdrawn" and party != f"hdl:{one.name}"
    ]
    return Responsibilities(len(names), names[0] if names else None, True)


async def new_key(
    remote: RemoteRegistry, by: Agent, id: str, *, expires: str | None = None, label: str = ""
) -> tuple[Key, str]:
    body = {"label": label} | ({} if expires is None else {"expires": expires})
    made = remote.decode(remote.send("POST", f"{path_to('agents', id)}/keys", body), _KeyItem)
    return made.to_domain(), made.key


async def revoke_key(remote: RemoteRegistry, by: Agent, key_id: str, *, agent: str | None = None) -> Key:
    path = f"{path_to('agents', agent or 'me')}{path_to('keys', key_id)}"
    return remote.decode(remote.send("DELETE", path), _KeyItem).to_domain()


async def grant(
    remote: RemoteRegistry,
    by: Agent,
    id: str,
    scope: str,
    actions: Sequence[Action],
    *,
    own: bool = False,
    until: str | None = None,
) -> list[Grant]:
    body = {"scope": scope, "actions": list(actions), "own": own} | ({} if until is None else {"until": until})
    given = remote.decode(remote.send("POST", f"{path_to('agents', id)}/grants", body), _GrantList).grants
    return _to_grants(id, given)


async def revoke(remote: RemoteRegistry, by: Agent, id: str, scope: str, actions: Sequence[Action] = ACTIONS) -> int:
    query = {"scope": scope, "action": list(actions)}
    path = f"{path_to('agents', id)}/grants"
    return remote.decode(remote.send("DELETE", path, query=query), _RevokedCount).revoked


def _list_keys(remote: RemoteRegistry, id: str) -> list[Key]:
    return [one.to_domain() for one in remote.get(f"{path_to('agents', id)}/keys", _KeyList).keys]


def _to_grants(agent: str, items: Sequence[_GrantItem]) -> list[Grant]:
    return [Grant(agent, one.scope, one.action, one.own, one.until, one.given_by, one.given_at) for one in items]
