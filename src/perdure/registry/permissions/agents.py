"""Agents and their keys.

A key is a long random token, so a plain digest of it is as good as a slow one would be. It is shown once and never
stored. It contains the first characters of the registry's id, so that a key of another registry is recognised at once.
"""

import hashlib
import hmac
import re
import secrets
from typing import Final, Literal

import msgspec

from perdure.errors import BadKey, InvalidInput, NameTaken, quote_text
from perdure.records.authority_metadata import to_seconds
from perdure.records.validation import check_one_line, check_storable, to_iso_seconds
from perdure.records.value import Text, Value
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Agent, Event, Grant, Key, TemporaryAgent
from perdure.registry.minting import mint
from perdure.registry.new_record import Statement
from perdure.registry.permissions.permissions import grant_end, limit_end, require_agent, require_permission
from perdure.registry.registry import Registry
from perdure.registry.responsible_parties import check_resolvable_party
from perdure.registry.store_interface import Reader, Transaction

_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_TOKEN: Final = re.compile(r"perdure_([0-9a-f]{8})_([0-9a-f]{12})_([0-9a-f]{64})")
_LONGEST_NAME: Final = 500
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
    if key.expires is not None and key.expires <= to_seconds(registry.current_time()):
        raise BadKey(f"it expired at {key.expires}")
    if key.expires is not None:
        return TemporaryAgent(**msgspec.structs.asdict(agent), key_expires=key.expires)
    return agent


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
    check_agent_id(id)
    check_one_line(name, "name", _LONGEST_NAME)

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
        statement = Statement(values=(Value(1, "DESC", Text(name)),))
        minted_name = f"hdl:{(await mint(registry, by, registry.home, statement=statement))[0].name}"
    return await registry.store.write(work)


async def new_key(
    registry: Registry, by: Agent, id: str, *, expires: str | None = None, label: str = ""
) -> tuple[Key, str]:
    """Create another key for an agent. The second value is the key itself, which is never shown again.

    It expires no later than the caller's own key and grant; without `expires`, it expires with them.
    """
    until = None if expires is None else to_iso_seconds(expires, "expires")
    if label:
        check_one_line(label, "label", _LONGEST_NAME)

    def work(tx: Transaction) -> tuple[Key, str]:
        at = registry.current_time()
        agent = require_agent(tx, id)
        ends = [by.key_expires] if isinstance(by, TemporaryAgent) else []
        if by.id != agent.id:
            require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
            end = grant_end(tx, by, "admin", WHOLE_REGISTRY, at)
            ends += [] if end is None else [end]
        if until is not None and until <= to_seconds(at):
            raise InvalidInput("agent", "expires", f"the expiry {until} is in the past: give a later date")
        key, token = make_key(registry.id, agent.id, at, limit_end(until, min(ends, default=None), "expires"), label)
        tx.put_key(key)
        tx.put_event(Event(at, by.id, "key add", agent.id, f"key {key.id}"))
        return key, token

    return await registry.store.write(work)


async def revoke_key(registry: Registry, by: Agent, key_id: str) -> Key:
    """Revoke a key, immediately. The agent's other keys stay valid."""

    def work(tx: Transaction) -> Key:
        at = registry.current_time()
        key = tx.key(check_storable(key_id, "key"))
        if key is None:
            raise InvalidInput("agent", "key", f"key not found: {quote_text(key_id)} (see: perdure agent list --keys)")
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
        agent = require_agent(tx, id)
        key, token = make_key(registry.id, agent.id, at, None, "recovery")
        tx.put_key(key)
        for action in ACTIONS:
            tx.put_grant(Grant(agent.id, WHOLE_REGISTRY, action, given_by=MACHINE_AGENT, given_at=at))
        tx.put_event(Event(at, MACHINE_AGENT, "recovery", agent.id, check_one_line(reason, "reason", _LONGEST_NAME)))
        return key, token

    return await registry.store.write(work)


def make_key(registry_id: str, agent: str, at: str, expires: str | None, label: str) -> tuple[Key, str]:
    """Create a key. Return its stored form, and the token."""
    key_id = secrets.token_hex(6)
    token = f"perdure_{registry_id[:8]}_{key_id}_{secrets.token_hex(32)}"
    return Key(key_id, agent, _digest(token), at, expires, None, label), token


def check_agent_id(id: str) -> str:
    if _ID.fullmatch(id) is None:
        raise InvalidInput("agent", "agent", f"{quote_text(id)} is not a valid agent id: up to 64 of a-z, 0-9, . _ -")
    return id


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
