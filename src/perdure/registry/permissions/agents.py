"""Agents: add, rename, and show them."""

import re
from typing import Final, Literal, NamedTuple

import msgspec

from perdure.errors import InvalidInput, NameTaken, NoSuchName, quote_text
from perdure.records.authority_metadata import to_seconds
from perdure.records.validation import check_one_line
from perdure.records.value import Text, Value
from perdure.registry import revisions
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.minting import mint
from perdure.registry.new_record import Statement
from perdure.registry.permissions.agent_etag import check_agent_digest
from perdure.registry.permissions.permissions import require_agent, require_change_permission, require_permission
from perdure.registry.registry import Registry
from perdure.registry.responsible_parties import check_resolvable_party
from perdure.registry.store_interface import Transaction

_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
LONGEST_NAME: Final = 500
CALLER: Final = "me"
_DESCRIPTION: Final = "DESC"
_OF_HANDLE: Final = "hdl:"


async def add_agent(
    registry: Registry,
    by: Agent,
    id: str,
    name: str,
    *,
    identifier: str | None = None,
    kind: Literal["person", "program"] = "person",
) -> Agent:
    """Add an agent, which can then be given grants.

    Without an identifier of its own, mint one here, so that it resolves.
    """
    check_new_agent_id(id)
    check_one_line(name, "name", LONGEST_NAME)

    def check_new(tx: Transaction) -> None:
        require_permission(tx, by, "admin", WHOLE_REGISTRY, registry.current_time())
        if tx.agent(id) is not None:
            raise NameTaken(id)

    def work(tx: Transaction) -> Agent:
        check_new(tx)
        at = registry.current_time()
        party = check_resolvable_party(tx, identifier or minted_name, "identifier", registry.settings.limits)
        if any(agent.identifier == party for agent in tx.agents()):
            raise InvalidInput("agent", "identifier", f"{party} is the identifier of another agent")
        agent = Agent(id, name, party, at, kind)
        tx.put_agent(agent)
        tx.put_event(Event(at, by.id, "agent add", id, party))
        return agent

    minted_name = ""
    if identifier is None:
        await registry.store.write(check_new)  # before a name is minted for it
        statement = Statement(values=(Value(1, _DESCRIPTION, Text(name)),))
        minted_name = f"hdl:{(await mint(registry, by, registry.home, statement=statement))[0].name}"
    return await registry.store.write(work)


class RenamedAgent(NamedTuple):
    """An agent with its new name, and the new version of its description; None if that does not show the name."""

    agent: Agent
    version: int | None


async def rename_agent(
    registry: Registry, by: Agent, id: str, name: str, *, expected: str | None = None
) -> RenamedAgent:
    """Change the name of an agent, and of its description where that shows the name. The old one stays in the history.

    With `expected`, a digest of the agent (`agent_etag`), raise Conflict if the agent has changed.
    """
    check_one_line(name, "name", LONGEST_NAME)

    def work(tx: Transaction) -> RenamedAgent:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        agent = require_agent(tx, id)
        check_agent_digest(tx, agent, expected)
        if agent.name == name:
            return RenamedAgent(agent, None)
        renamed = msgspec.structs.replace(agent, name=name)
        tx.put_agent(renamed)
        version = _rename_description(registry, tx, by, agent, name, at)
        tx.put_event(Event(at, by.id, "agent rename", id, f"from {agent.name} to {name}"))
        return RenamedAgent(renamed, version)

    return await registry.store.write(work)


def _rename_description(registry: Registry, tx: Transaction, by: Agent, agent: Agent, name: str, at: str) -> int | None:
    """Write the new name into the record that describes the agent, if it is here and contains the old name."""
    if not agent.identifier.startswith(_OF_HANDLE):
        return None
    try:
        identifier, record, prefix = require_identifier(tx, agent.identifier)
    except NoSuchName:  # it is elsewhere
        return None
    newest = tx.newest_revision(identifier.subject)
    when = at if newest is None else max(at, newest.at)
    values = tuple(
        msgspec.structs.replace(value, data=Text(name), timestamp=to_seconds(when))
        if value.kind == _DESCRIPTION and value.text == agent.name
        else value
        for value in record.values
    )
    if record.state != "active" or values == record.values:
        return None
    require_permission(tx, by, "edit", prefix.key, at, record, identifier.key)
    require_change_permission(tx, by, record, values, prefix.key, at, identifier.key)
    revised = msgspec.structs.replace(record, values=values)
    return revisions.append_revision(
        tx, identifier, revised, by, "set", when, largest=registry.settings.limits.record_bytes
    )


def check_new_agent_id(id: str) -> str:
    """Check the id of a new agent. One word is reserved: the HTTP API understands it as the caller."""
    if id == CALLER:
        raise InvalidInput("agent", "agent", f"{CALLER!a} means the authenticated agent: choose another id")
    return check_agent_id(id)


def check_agent_id(id: str) -> str:
    if _ID.fullmatch(id) is None:
        raise InvalidInput("agent", "agent", f"{quote_text(id)} is not a valid agent id: up to 64 of a-z, 0-9, . _ -")
    return id
