"""The pools of a registry: add, change and remove them. A pool is a setting; removing it changes no identifier."""

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

import msgspec

from perdure.errors import Conflict, InvalidInput, NameTaken, NoSuchPool, quote_text
from perdure.names import handle
from perdure.registry.entities import POOL_POLICIES, WHOLE_REGISTRY, Agent, Event, Pool, PoolPolicy
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

MOST_MEMBERS: Final = 100
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
_DIGEST_CHARACTERS: Final = 16


async def add_pool(
    registry: Registry, by: Agent, name: str, members: Sequence[str], *, policy: PoolPolicy = "least-waiting"
) -> Pool:
    """Add a pool of IBI subsystems. To mint from it, an agent needs permission on its subsystems."""
    check_pool_name(name)

    def work(tx: Transaction) -> Pool:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        refuse_taken_name(tx, name)
        pool = Pool(name, check_policy(policy), find_members(tx, members), at)
        tx.put_pool(pool)
        tx.put_event(Event(at, by.id, "pool add", name, describe_pool(pool)))
        return pool

    return await registry.store.write(work)


async def change_pool(
    registry: Registry,
    by: Agent,
    name: str,
    *,
    members: Sequence[str] | None = None,
    policy: PoolPolicy | None = None,
    expected: str | None = None,
) -> Pool:
    """Change the members or the policy of a pool. With `expected`, raise Conflict if it has changed meanwhile."""
    if members is None and policy is None:
        raise InvalidInput("pool", "pool", "nothing to change: give the members or the policy")

    def work(tx: Transaction) -> Pool:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        pool = require_pool(tx, name)
        check_digest(pool, expected)
        if members is not None:
            pool = msgspec.structs.replace(pool, members=find_members(tx, members))
        if policy is not None:
            pool = msgspec.structs.replace(pool, policy=check_policy(policy))
        tx.put_pool(pool)
        tx.put_event(Event(at, by.id, "pool change", pool.name, describe_pool(pool)))
        return pool

    return await registry.store.write(work)


async def remove_pool(registry: Registry, by: Agent, name: str, *, expected: str | None = None) -> Pool:
    """Remove a pool. Its subsystems and all identifiers stay as they are."""

    def work(tx: Transaction) -> Pool:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        pool = require_pool(tx, name)
        check_digest(pool, expected)
        tx.remove_pool(pool.name)
        tx.put_event(Event(at, by.id, "pool remove", pool.name, describe_pool(pool)))
        return pool

    return await registry.store.write(work)


async def list_pools(registry: Registry) -> list[Pool]:
    """Return all pools, in the order of their names."""
    return await registry.store.read(lambda reader: reader.pools())


async def find_pool(registry: Registry, name: str) -> Pool:
    """Return the pool with this name, or raise NoSuchPool."""
    return await registry.store.read(lambda reader: require_pool(reader, name))


def require_pool(reader: Reader, name: str) -> Pool:
    pool = reader.pool(name) if _NAME.fullmatch(name) else None
    if pool is None:
        raise NoSuchPool(name)
    return pool


def check_pool_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        reason = f"a pool has a name of 1 to 64 lower-case letters, digits and inner hyphens, not {quote_text(name)}"
        raise InvalidInput("pool", "name", reason)


def refuse_taken_name(reader: Reader, name: str) -> None:
    """Refuse the name of a pool or a prefix that exists: a request to mint names either."""
    if reader.pool(name) is not None or reader.prefix(name) is not None:
        raise NameTaken(name)


def check_policy(policy: str) -> PoolPolicy:
    for known in POOL_POLICIES:
        if policy == known:
            return known
    raise InvalidInput("pool", "policy", f"the policy is one of {', '.join(POOL_POLICIES)}, not {quote_text(policy)}")


def find_members(reader: Reader, names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of subsystems, in the order given. Refuse anything else."""
    if isinstance(names, str) or not 1 <= len(names) <= MOST_MEMBERS:
        raise InvalidInput("pool", "members", f"a pool has 1 to {MOST_MEMBERS} subsystems")
    keys = []
    for name in names:
        prefix = require_prefix(reader, name)
        if prefix.subsystem is None:
            reason = f"{prefix.name} is not an IBI subsystem that mints, and only these can be in a pool"
            raise InvalidInput("pool", "members", reason)
        if prefix.key in keys:
            raise InvalidInput("pool", "members", f"{prefix.name} is given twice")
        keys.append(prefix.key)
    return tuple(keys)


def pool_digest(pool: Pool) -> str:
    """Compute a digest of all that can change in a pool."""
    return sha256(msgspec.json.encode((pool.policy, pool.members))).hexdigest()[:_DIGEST_CHARACTERS]


def check_digest(pool: Pool, expected: str | None) -> None:
    """Raise Conflict if the pool has changed since the caller read it; None expects nothing."""
    current = pool_digest(pool)
    if expected is not None and expected != current:
        raise Conflict(pool.name, f"pool {expected}", f"pool {current}")


def describe_pool(pool: Pool) -> str:
    """Return the settings of a pool as the log shows them."""
    return f"{pool.policy}: {', '.join(pool.members)}"


def find_pool_named(reader: Reader, text: str) -> Pool | None:
    """Return the pool that a request to mint names; None if there is none."""
    name = handle.fold(text)
    return reader.pool(name) if _NAME.fullmatch(name) else None
