"""Retirement of agents. A retired agent has no keys and no grants; its id is never used again."""

from typing import Final, NamedTuple

import msgspec

from perdure.errors import WrongState
from perdure.records import record as records
from perdure.records.validation import check_one_line
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Event
from perdure.registry.permissions.agent_etag import check_agent_digest
from perdure.registry.permissions.agents import LONGEST_NAME
from perdure.registry.permissions.grants import require_remaining_administrator
from perdure.registry.permissions.permissions import require_agent, require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_CHUNK: Final = 500
_MOST_SCANNED: Final = 100_000  # names, for one count


class RetiredAgent(NamedTuple):
    """A retired agent, and the numbers of keys and grants that ended."""

    agent: Agent
    keys: int
    grants: int


class Responsibilities(NamedTuple):
    """The number of identifiers for which a party is responsible, and one of them.

    If not all identifiers were counted, there may be more.
    """

    found: int
    example: str | None
    is_complete: bool


async def retire_agent(
    registry: Registry, by: Agent, id: str, reason: str, *, expected: str | None = None
) -> RetiredAgent:
    """Retire an agent: revoke all its keys and grants at once. Its identifiers stay as they are.

    The last administrator of the whole registry cannot be retired.
    """
    check_one_line(reason, "reason", LONGEST_NAME)

    def work(tx: Transaction) -> RetiredAgent:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        agent = require_agent(tx, id)
        check_agent_digest(tx, agent, expected)
        if agent.retired is not None:
            raise WrongState(agent.id, "retired", "active")
        keys = [key for key in tx.keys(id) if key.revoked is None]
        for key in keys:
            tx.put_key(msgspec.structs.replace(key, revoked=at))
        grants = tx.grants(id)
        for one in grants:
            tx.remove_grant(id, one.scope, one.action)
        require_remaining_administrator(tx, id)
        retired = msgspec.structs.replace(agent, retired=at)
        tx.put_agent(retired)
        ended = f"keys revoked: {len(keys)}, grants: {len(grants)}"
        tx.put_event(Event(at, by.id, "agent retire", id, f"{reason} ({ended})"))
        return RetiredAgent(retired, len(keys), len(grants))

    return await registry.store.write(work)


async def reinstate_agent(registry: Registry, by: Agent, id: str, *, expected: str | None = None) -> Agent:
    """Undo a retirement. The agent starts without keys and grants."""

    def work(tx: Transaction) -> Agent:
        at = registry.current_time()
        require_permission(tx, by, "admin", WHOLE_REGISTRY, at)
        agent = require_agent(tx, id)
        check_agent_digest(tx, agent, expected)
        if agent.retired is None:
            raise WrongState(agent.id, "active", "retired")
        active = msgspec.structs.replace(agent, retired=None)
        tx.put_agent(active)
        tx.put_event(Event(at, by.id, "agent reinstate", id))
        return active

    return await registry.store.write(work)


async def count_responsibilities(registry: Registry, party: str, most: int = _MOST_SCANNED) -> Responsibilities:
    """Count the identifiers for which a party is responsible: as an owner, or as the creator if there is no owner.

    This reads every record, and stops after `most` of them. The description of the party itself is not counted.
    """
    found, scanned, key = 0, 0, ""
    example: str | None = None
    while scanned < most:

        def work(reader: Reader, key: str = key) -> tuple[str, int, list[str]]:
            rows = reader.identifiers_after(key, _CHUNK)
            owned = [
                row.name
                for row in rows
                if row.key == row.subject
                and row.state != "withdrawn"
                and party in records.decode(row.record).responsible_parties
                and party != f"hdl:{row.name}"
            ]
            return rows[-1].key if rows else "", len(rows), owned

        key, read, owned = await registry.store.scan(work)
        found, scanned = found + len(owned), scanned + read
        example = example or next(iter(owned), None)
        if read < _CHUNK:
            return Responsibilities(found, example, True)
    return Responsibilities(found, example, False)
