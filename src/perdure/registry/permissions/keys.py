"""Keys of agents.

A key is a long random token, so a plain digest of it is as good as a slow one would be. It is shown once and never
stored. It contains the first characters of the registry's id, so that a key of another registry is recognised at once.

No key lasts longer than the permissions of the agent that creates it.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final

import msgspec

from perdure.errors import BadKey, InvalidInput, NoSuchAgent, quote_text
from perdure.records.authority_metadata import to_seconds
from perdure.records.validation import check_one_line, check_storable, to_iso_seconds
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Agent, Event, Grant, Key, TemporaryAgent
from perdure.registry.permissions.permissions import (
    authority_end,
    grant_end,
    limit_end,
    require_active_agent,
    require_permission,
)
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_TOKEN: Final = re.compile(r"perdure_([0-9a-f]{8})_([0-9a-f]{12})_([0-9a-f]{64})")
_LONGEST_LABEL: Final = 500
MACHINE_AGENT: Final = "the machine itself"


async def authenticate(registry: Registry, token: str) -> Agent:
    """Return the agent that this key belongs to. Raise BadKey, which never repeats the key, if it is not valid."""
    match = _TOKEN.fullmatch(token.strip())
    if match is None:
        raise BadKey("it is not a Perdure key (perdure_…)")
    if match[1] != registry.id[:8]:
        raise BadKey("it belongs to another registry")
    digest = _digest(token.strip())

    def work(reader: Reader) -> tuple[Key | None, Agent | None]:
        key = reader.key(match[2])
        return key, None if key is None else reader.agent(key.agent)

    key, agent = await registry.store.read_quick(work)
    if not hmac.compare_digest(b"" if key is None else key.digest, digest) or key is None or agent is None:
        raise BadKey("it is unknown")
    if key.revoked is not None:
        raise BadKey(f"it was revoked at {key.revoked}")
    if agent.retired is not None:
        raise BadKey(f"its agent, {agent.id}, was retired at {agent.retired}")
    if key.expires is not None and key.expires <= to_seconds(registry.current_time()):
        raise BadKey(f"it expired at {key.expires}")
    if key.expires is not None:
        return TemporaryAgent(**msgspec.structs.asdict(agent), key_expires=key.expires)
    return agent


async def new_key(
    registry: Registry, by: Agent, id: str, *, expires: str | None = None, label: str = ""
) -> tuple[Key, str]:
    """Create another key for an agent. The second value is the key itself, which is never shown again.

    It expires no later than the caller's own key, and than the caller's grant to create it: for another agent, `admin`
    on the whole registry; for the caller, the last of its own grants. Without `expires`, it expires with them.
    """
    until = None if expires is None else to_iso_seconds(expires, "expires")
    if label:
        check_one_line(label, "label", _LONGEST_LABEL)

    def work(tx: Transaction) -> tuple[Key, str]:
        at = registry.current_time()
        agent = require_active_agent(tx, id)
        if by.id == agent.id:
            end = authority_end(tx, by, at)
        else:
            require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
            end = grant_end(tx, by, "admin", WHOLE_REGISTRY, at)
        if until is not None and until <= to_seconds(at):
            raise InvalidInput("agent", "expires", f"the expiry {until} is in the past: give a later date")
        key, token = make_key(registry.id, agent.id, at, limit_end(until, end, "expires"), label)
        tx.put_key(key)
        tx.put_event(Event(at, by.id, "key add", agent.id, f"key {key.id}"))
        return key, token

    return await registry.store.write(work)


async def revoke_key(registry: Registry, by: Agent, key_id: str, *, agent: str | None = None) -> Key:
    """Revoke a key, immediately. The agent's other keys stay valid. With `agent`, it must be a key of that agent."""

    def work(tx: Transaction) -> Key:
        at = registry.current_time()
        key = tx.key(check_storable(key_id, "key"))
        if key is None or agent not in (None, key.agent):
            whose = "" if agent is None else f" of {agent}"
            reason = f"key{whose} not found: {quote_text(key_id)} (see: perdure agent list --keys)"
            raise NoSuchAgent("agent", "key", reason)
        if by.id != key.agent:
            require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        if key.revoked is None:
            key = msgspec.structs.replace(key, revoked=at)
            tx.put_key(key)
            tx.put_event(Event(at, by.id, "key revoke", key.agent, f"key {key.id}"))
        return key

    return await registry.store.write(work)


async def recover_access(registry: Registry, id: str, reason: str) -> tuple[Key, str]:
    """Create a new key and all grants for an agent when every key is lost.

    Only the command on the machine itself calls this: it is for operators who can write the store's files. The history
    records it.
    """

    def work(tx: Transaction) -> tuple[Key, str]:
        at = registry.current_time()
        agent = require_active_agent(tx, id)
        key, token = make_key(registry.id, agent.id, at, None, "recovery")
        tx.put_key(key)
        for action in ACTIONS:
            tx.put_grant(Grant(agent.id, WHOLE_REGISTRY, action, given_by=MACHINE_AGENT, given_at=at))
        tx.put_event(Event(at, MACHINE_AGENT, "recovery", agent.id, check_one_line(reason, "reason", _LONGEST_LABEL)))
        return key, token

    return await registry.store.write(work)


def make_key(registry_id: str, agent: str, at: str, expires: str | None, label: str) -> tuple[Key, str]:
    """Create a key. Return its stored form, and the token."""
    key_id = secrets.token_hex(6)
    token = f"perdure_{registry_id[:8]}_{key_id}_{secrets.token_hex(32)}"
    return Key(key_id, agent, _digest(token), at, expires, None, label), token


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
