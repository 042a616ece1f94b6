"""Agents, their keys, and what they are granted.

A key is a long random word, so a plain digest of it is as good as a slow one would be; it is shown once and kept
nowhere. It carries the first characters of the registry's identity: a key of another registry is told apart at once.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from perdure.errors import BadKey, Conflict, InvalidInput, NameTaken, shown
from perdure.records.authority import to_seconds
from perdure.records.checks import iso_seconds, one_line, storable
from perdure.records.value import Text, Value
from perdure.registry.authority import bound_end, grant_end, known_agent, require
from perdure.registry.entities import ACTIONS, EVERYWHERE, Action, Agent, Event, Grant, Key, TemporaryAgent
from perdure.registry.minting import mint
from perdure.registry.naming import known_prefix
from perdure.registry.parties import actionable
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry
from perdure.registry.statement import Statement

_ID: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_TOKEN: Final = re.compile(r"perdure_([0-9a-f]{8})_([0-9a-f]{12})_([0-9a-f]{64})")
_LONGEST_NAME: Final = 500
THE_MACHINE: Final = "the machine itself"


async def authenticate(registry: Registry, token: str) -> Agent:
    """Whose key this is; BadKey, which never repeats it, if it opens nothing."""
    match = _TOKEN.fullmatch(token.strip())
    if match is None:
        raise BadKey("it does not look like a key of Perdure (perdure_…)")
    if match[1] != registry.id[:8]:
        raise BadKey("it belongs to another registry")
    digest = _digest(token.strip())

    def work(reader: Reader) -> tuple[Key | None, Agent | None]:
        key = reader.key(match[2])
        return key, None if key is None else reader.agent(key.agent)

    key, agent = await registry.store.glance(work)
    if not hmac.compare_digest(b"" if key is None else key.digest, digest) or key is None or agent is None:
        raise BadKey("it is not known here")
    if key.revoked is not None:
        raise BadKey(f"it was revoked at {key.revoked}")
    if key.expires is not None and key.expires <= to_seconds(registry.now()):
        raise BadKey(f"it lapsed at {key.expires}")
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
    """Somebody who may be given grants. Without an identifier of their own they get one here, so that it resolves."""
    checked_id(id)
    one_line(name, "name", _LONGEST_NAME)

    def known(tx: Transaction) -> None:
        require(tx, by, "admin", EVERYWHERE, registry.now())
        if tx.agent(id) is not None:
            raise NameTaken(id)

    def work(tx: Transaction) -> Agent:
        known(tx)
        at = registry.now()
        party = actionable(tx, identifier or minted, "identifier", registry.settings.limits)
        if any(agent.identifier == party for agent in tx.agents()):
            raise InvalidInput("agent", "identifier", f"{party} is another agent's identifier already")
        agent = Agent(id, name, party, at, kind)
        tx.put_agent(agent)
        tx.put_event(Event(at, by.id, "agent add", id, party))
        return agent

    minted = ""
    if identifier is None:
        await registry.store.write(known)  # before a name is spent on it
        said = Statement(values=(Value(1, "DESC", Text(name)),))
        minted = f"hdl:{(await mint(registry, by, registry.home, said=said))[0].name}"
    return await registry.store.write(work)


async def new_key(
    registry: Registry, by: Agent, id: str, *, expires: str | None = None, label: str = ""
) -> tuple[Key, str]:
    """One more key for an agent, beside those it has. The second value is the key itself: it is never seen again.

    It ends no later than the key and the grant by which it is made; where no end is given, it ends with them.
    """
    until = None if expires is None else iso_seconds(expires, "expires")
    if label:
        one_line(label, "label", _LONGEST_NAME)

    def work(tx: Transaction) -> tuple[Key, str]:
        at = registry.now()
        agent = known_agent(tx, id)
        ends = [by.key_expires] if isinstance(by, TemporaryAgent) else []
        if by.id != agent.id:
            require(tx, by, "admin", EVERYWHERE, at)
            end = grant_end(tx, by, "admin", EVERYWHERE, at)
            ends += [] if end is None else [end]
        if until is not None and until <= to_seconds(at):
            raise InvalidInput("agent", "expires", f"{until} has passed already")
        key, token = make_key(registry.id, agent.id, at, bound_end(until, min(ends, default=None), "expires"), label)
        tx.put_key(key)
        tx.put_event(Event(at, by.id, "key add", agent.id, f"key {key.id}"))
        return key, token

    return await registry.store.write(work)


async def revoke_key(registry: Registry, by: Agent, key_id: str) -> Key:
    """End a key, now. The others of its agent go on working."""

    def work(tx: Transaction) -> Key:
        at = registry.now()
        key = tx.key(storable(key_id, "key"))
        if key is None:
            raise InvalidInput("agent", "key", f"there is no key {shown(key_id)} (see: perdure agent list --keys)")
        if by.id != key.agent:
            require(tx, by, "admin", EVERYWHERE, at)
        if key.revoked is None:
            key = msgspec.structs.replace(key, revoked=at)
            tx.put_key(key)
            tx.put_event(Event(at, by.id, "key revoke", key.agent, f"key {key.id}"))
        return key

    return await registry.store.write(work)


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
    """Let an agent do these things under a prefix, or everywhere (`*`). Only who administers that scope may.

    The grants end no later than the one by which they are given; where no end is given, they end with it.
    """
    lapses = None if until is None else iso_seconds(until, "until")
    _check_actions(actions)

    def work(tx: Transaction) -> list[Grant]:
        at = registry.now()
        agent = known_agent(tx, id)
        where = scope if scope == EVERYWHERE else known_prefix(tx, scope).key
        require(tx, by, "admin", where, at)
        if lapses is not None and lapses <= to_seconds(at):
            raise InvalidInput("agent", "until", f"{lapses} has passed already")
        end = bound_end(lapses, grant_end(tx, by, "admin", where, at), "until")
        grants = [Grant(agent.id, where, action, own, end, by.id, at) for action in actions]
        for one in grants:
            tx.remove_grant(agent.id, where, one.action)  # what is said last is what holds
            tx.put_grant(one)
        _require_administrator(tx, agent.id)
        what = ", ".join(actions) + (" (own only)" if own else "") + (f" until {end}" if end else "")
        tx.put_event(Event(at, by.id, "grant", agent.id, f"{what} on {where}"))
        return grants

    return await registry.store.write(work)


async def revoke(registry: Registry, by: Agent, id: str, scope: str, actions: Sequence[Action] = ACTIONS) -> int:
    """Take grants back; how many there were. The last administrator of everything cannot be taken away."""
    _check_actions(actions)

    def work(tx: Transaction) -> int:
        at = registry.now()
        agent = known_agent(tx, id)
        where = scope if scope == EVERYWHERE else known_prefix(tx, scope).key
        require(tx, by, "admin", where, at)
        gone = [one for one in tx.grants(agent.id) if one.scope == where and one.action in actions]
        for one in gone:
            tx.remove_grant(agent.id, where, one.action)
        _require_administrator(tx, agent.id)
        if gone:
            what = ", ".join(one.action for one in gone)
            tx.put_event(Event(at, by.id, "revoke", agent.id, f"{what} on {where}"))
        return len(gone)

    return await registry.store.write(work)


async def recover(registry: Registry, id: str, reason: str) -> tuple[Key, str]:
    """A new key, and all grants, for an agent when every key is lost. Whoever can write the store's files may do this;
    no door but the machine's own command leads here, and the history tells of it."""

    def work(tx: Transaction) -> tuple[Key, str]:
        at = registry.now()
        agent = known_agent(tx, id)
        key, token = make_key(registry.id, agent.id, at, None, "recovery")
        tx.put_key(key)
        for action in ACTIONS:
            tx.put_grant(Grant(agent.id, EVERYWHERE, action, given_by=THE_MACHINE, given_at=at))
        tx.put_event(Event(at, THE_MACHINE, "recovery", agent.id, one_line(reason, "reason", _LONGEST_NAME)))
        return key, token

    return await registry.store.write(work)


def make_key(registry_id: str, agent: str, at: str, expires: str | None, label: str) -> tuple[Key, str]:
    """A key, and the word that opens it."""
    key_id = secrets.token_hex(6)
    token = f"perdure_{registry_id[:8]}_{key_id}_{secrets.token_hex(32)}"
    return Key(key_id, agent, _digest(token), at, expires, None, label), token


def checked_id(id: str) -> str:
    if _ID.fullmatch(id) is None:
        raise InvalidInput(
            "agent", "agent", f"{shown(id)} is no short name: lower-case letters, digits, . _ - and at most 64"
        )
    return id


def _require_administrator(tx: Transaction, id: str) -> None:
    """There must always be somebody who may do everything, and whose grant does not end by itself."""
    for agent in tx.agents():
        for one in tx.grants(agent.id):
            if (one.scope, one.action, one.own, one.until) == (EVERYWHERE, "admin", False, None):
                return
    raise Conflict(id, "an administrator of the whole registry besides", "none")


def _check_actions(actions: Sequence[Action]) -> None:
    for action in actions:
        if action not in ACTIONS:
            raise InvalidInput("agent", "action", f"{shown(action)} is no action: {', '.join(ACTIONS)}")


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
