"""Who may do what. Nothing is allowed that no grant allows, and grants are read anew in every transaction."""

from perdure.errors import InvalidInput, NotAuthorised
from perdure.records.authority import to_seconds
from perdure.records.checks import storable
from perdure.records.record import Record
from perdure.registry.entities import EVERYWHERE, Action, Agent, Grant
from perdure.registry.protocol import Reader


def require(reader: Reader, by: Agent, action: Action, scope: str, now: str, record: Record | None = None) -> None:
    """Refuse unless `by` holds a grant for this action on this scope (a prefix, or the whole registry).

    A grant for what is one's `own` allows it for a record that the agent answers for.
    """
    if not is_allowed(reader, by, action, scope, now, record):
        raise NotAuthorised(by.id, action, scope)


def is_allowed(reader: Reader, by: Agent, action: Action, scope: str, now: str, record: Record | None = None) -> bool:
    """Whether some grant says so."""
    return any(
        grant.action == action
        and grant.scope in (EVERYWHERE, scope)
        and not has_lapsed(grant, now)
        and (not grant.own or (record is not None and by.identifier in record.responsible))
        for grant in reader.grants(by.id)
    )


def has_lapsed(grant: Grant, now: str) -> bool:
    return grant.until is not None and grant.until <= to_seconds(now)


def known_agent(reader: Reader, id: str) -> Agent:
    """The agent of that name."""
    agent = reader.agent(storable(id, "agent"))
    if agent is None:
        raise InvalidInput("agent", "agent", f"there is no agent {id!a} (see: perdure agent list)")
    return agent
