"""Grants: an agent may do some actions under a prefix, or in the whole registry."""

from collections.abc import Sequence

from perdure.errors import Conflict, InvalidInput, quote_text
from perdure.records.authority_metadata import to_seconds
from perdure.records.validation import to_iso_seconds
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Action, Agent, Event, Grant
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import (
    grant_end,
    limit_end,
    require_active_agent,
    require_agent,
    require_permission,
)
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction


async def grant(
    registry: Registry,
    by: Agent,
    id: str,
    scope: str,
    actions: Sequence[Action],
    *,
    own: bool = False,
    until: str | None = None,
) -> list[Grant]:
    """Grant an agent these actions under a prefix, or everywhere (`*`).

    The caller must be an administrator of that scope.

    The grants expire no later than the caller's own grant; without `until`, they expire with it.
    """
    expiry = None if until is None else to_iso_seconds(until, "until")
    _check_actions(actions)

    def work(tx: Transaction) -> list[Grant]:
        at = registry.current_time()
        agent = require_active_agent(tx, id)
        where = scope if scope == WHOLE_REGISTRY else require_prefix(tx, scope).key
        require_permission(tx, by, "admin", where, at)
        if expiry is not None and expiry <= to_seconds(at):
            raise InvalidInput("agent", "until", f"the expiry {expiry} is in the past: give a later date")
        end = limit_end(expiry, grant_end(tx, by, "admin", where, at), "until")
        grants = [Grant(agent.id, where, action, own, end, by.id, at) for action in actions]
        for one in grants:
            tx.remove_grant(agent.id, where, one.action)  # the new grant replaces the old one
            tx.put_grant(one)
        require_remaining_administrator(tx, agent.id)
        what = ", ".join(actions) + (" (own only)" if own else "") + (f" until {end}" if end else "")
        tx.put_event(Event(at, by.id, "grant", agent.id, f"{what} on {where}"))
        return grants

    return await registry.store.write(work)


async def revoke(registry: Registry, by: Agent, id: str, scope: str, actions: Sequence[Action] = ACTIONS) -> int:
    """Revoke grants and return how many there were. The last administrator of the whole registry cannot be removed."""
    _check_actions(actions)

    def work(tx: Transaction) -> int:
        at = registry.current_time()
        agent = require_agent(tx, id)
        where = scope if scope == WHOLE_REGISTRY else require_prefix(tx, scope).key
        require_permission(tx, by, "admin", where, at)
        revoked = [one for one in tx.grants(agent.id) if one.scope == where and one.action in actions]
        for one in revoked:
            tx.remove_grant(agent.id, where, one.action)
        require_remaining_administrator(tx, agent.id)
        if revoked:
            what = ", ".join(one.action for one in revoked)
            tx.put_event(Event(at, by.id, "revoke", agent.id, f"{what} on {where}"))
        return len(revoked)

    return await registry.store.write(work)


def require_remaining_administrator(tx: Transaction, id: str) -> None:
    """Require at least one agent with all permissions whose grant does not expire."""
    for agent in tx.agents():
        for one in tx.grants(agent.id):
            if (one.scope, one.action, one.own, one.until) == (WHOLE_REGISTRY, "admin", False, None):
                return
    raise Conflict(id, "another administrator of the whole registry (first grant admin on * to another agent)", "none")


def _check_actions(actions: Sequence[Action]) -> None:
    for action in actions:
        if action not in ACTIONS:
            raise InvalidInput("agent", "action", f"{quote_text(action)} is not an action: use {', '.join(ACTIONS)}")
