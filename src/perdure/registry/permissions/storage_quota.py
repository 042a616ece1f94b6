"""Storage quotas: how many bytes each agent may put into collections over HTTP.

What an agent has used is charged in a transaction before the bytes are stored, so no two requests together exceed the
quota. A crash in between charges bytes that were not stored, which an administrator can correct.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, NoSuchAgent, QuotaExceeded
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_FACT: Final = "storage of "  # the name of the fact, before the id of the agent
_LARGEST: Final = 1 << 60
_encode: Final = msgspec.json.Encoder().encode


class StorageUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many bytes an agent has stored, and how many it may store; None if the settings decide."""

    used: Annotated[int, Meta(ge=0)] = 0
    quota: Annotated[int, Meta(ge=0)] | None = None


_NOTHING: Final = StorageUse()


async def show_storage(registry: Registry, by: Agent, agent: str) -> tuple[StorageUse, int | None]:
    """Return what an agent uses and how much it may use. Agents see their own; others need `admin` everywhere."""

    def work(reader: Reader) -> tuple[StorageUse, int | None]:
        if by.id != agent:
            require_permission(reader, by, "admin", WHOLE_REGISTRY, registry.current_time())
        _require_known(reader, agent)
        use = storage_use(reader, agent)
        return use, storage_limit(registry, use)

    return await registry.store.read(work)


async def set_storage_quota(
    registry: Registry, by: Agent, agent: str, quota: int | None, *, used: int | None = None
) -> StorageUse:
    """Give an agent another quota; None for that of the settings. `used` corrects what is counted."""
    for part, number in (("quota", quota), ("used", used)):
        if number is not None and not 0 <= number <= _LARGEST:
            raise InvalidInput("agent", part, f"{part} must be a number of bytes from 0 to {_LARGEST}")

    def work(tx: Transaction) -> StorageUse:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        _require_known(tx, agent)
        before = storage_use(tx, agent)
        use = StorageUse(before.used if used is None else used, quota)
        _put(tx, agent, use)
        tx.put_event(Event(at, by.id, "agent quota", agent, f"quota {use.quota}, used {use.used}"))
        return use

    return await registry.store.write(work)


async def check_storage(registry: Registry, by: Agent, size: int, reserved: int = 0) -> None:
    """Raise QuotaExceeded if the agent may not store as many bytes, beside those that its uploads will need."""
    await registry.store.read(lambda reader: _check(registry, by, storage_use(reader, by.id), size + reserved))


async def charge_storage(registry: Registry, by: Agent, size: int) -> None:
    """Count bytes that the agent is about to store. Raise QuotaExceeded if they are too many."""

    def work(tx: Transaction) -> None:
        use = storage_use(tx, by.id)
        _check(registry, by, use, size)
        _put(tx, by.id, msgspec.structs.replace(use, used=use.used + size))

    await registry.store.write(work)


async def refund_storage(registry: Registry, by: Agent, size: int) -> None:
    """Subtract bytes that were not stored after all."""

    def work(tx: Transaction) -> None:
        use = storage_use(tx, by.id)
        _put(tx, by.id, msgspec.structs.replace(use, used=max(0, use.used - size)))

    await registry.store.write(work)


def storage_use(reader: Reader, agent: str) -> StorageUse:
    """Return what an agent has stored."""
    text = reader.fact(_FACT + agent)
    return _NOTHING if text is None else msgspec.json.decode(text, type=StorageUse)


def storage_limit(registry: Registry, use: StorageUse) -> int | None:
    """Return how many bytes an agent may store; None if there is no limit."""
    return (registry.settings.limits.agent_bytes or None) if use.quota is None else use.quota


def _check(registry: Registry, by: Agent, use: StorageUse, size: int) -> None:
    limit = storage_limit(registry, use)
    if limit is not None and use.used + size > limit:
        raise QuotaExceeded(by.id, limit, use.used, size)


def _put(tx: Transaction, agent: str, use: StorageUse) -> None:
    tx.put_fact(_FACT + agent, _encode(use).decode())


def _require_known(reader: Reader, agent: str) -> None:
    if reader.agent(agent) is None:
        raise NoSuchAgent("agent", "id", f"there is no agent {agent!a}")
