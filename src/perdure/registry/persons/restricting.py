"""Restrict: a living person's record still resolves, and shows nothing of what is said of them."""

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records.authority import to_seconds
from perdure.records.checks import one_line
from perdure.records.person import Restriction
from perdure.records.record import Record
from perdure.registry.authority import require
from perdure.registry.entities import Agent
from perdure.registry.existing import existing
from perdure.registry.persons.putting import put
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry


async def restrict(
    registry: Registry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> int:
    """From now on only who may edit it sees what is said; everybody sees that, since when, and for what reason."""
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "withdraw", prefix.key, now, record)
        _check_person(found.name, record)
        if record.restriction is not None and record.restriction.reason == reason:
            return found.version
        restricted = msgspec.structs.replace(record, restriction=Restriction(reason, to_seconds(now)))
        return put(registry, tx, by, found, restricted, "restrict", reason)

    return await registry.store.write(work)


async def lift_restriction(
    registry: Registry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> int:
    """Show it again; that it was restricted, and why, stays in the history."""
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "withdraw", prefix.key, now, record)
        _check_person(found.name, record)
        if record.restriction is None:
            raise WrongState(found.name, "shown", "restricted")
        return put(
            registry, tx, by, found, msgspec.structs.replace(record, restriction=None), "lift restriction", reason
        )

    return await registry.store.write(work)


def _check_person(name: str, record: Record) -> None:
    if record.observation is None and record.reconstruction is None:
        raise InvalidInput("person", "name", f"{name} is no person: only what is said of persons is restricted")
