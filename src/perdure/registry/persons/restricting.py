"""Restrict: a living person's record still resolves, and shows nothing of what is said of them."""

from collections.abc import Iterable

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.authority import to_seconds
from perdure.records.checks import one_line
from perdure.records.person import Restriction
from perdure.records.record import Record
from perdure.registry.authority import is_granted, require
from perdure.registry.entities import Agent, Identifier
from perdure.registry.existing import existing
from perdure.registry.naming import known_prefix
from perdure.registry.persons.putting import put
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry


async def restrict(
    registry: Registry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> int:
    """From now on only who may edit it sees what is said; everybody sees that, since when, and for what reason.

    An observation whose claims a reconstruction shows is restricted after that one.
    """
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "withdraw", prefix.key, now, record)
        _check_person(found.name, record)
        if record.restriction is not None and record.restriction.reason == reason:
            return found.version
        if record.observation is not None and (showing := shown_by(tx, found.key)):
            raise WrongState(found.name, f"shown by {', '.join(showing)}", "shown by none: restrict these first")
        if record.state == "merged" and (showing := [one for one, said in heirs(tx, record) if not said.restriction]):
            raise WrongState(found.name, f"taken up by {', '.join(showing)}", "restricted after that one")
        restricted = msgspec.structs.replace(record, restriction=Restriction(reason, to_seconds(now)))
        return put(registry, tx, by, found, restricted, "restrict", reason)

    return await registry.store.write(work)


async def lift_restriction(
    registry: Registry, by: Agent, name: str, reason: str, *, expected_version: int | None = None
) -> int:
    """Show it again; that it was restricted, and why, stays in the history.

    A reconstruction that holds claims of what is still restricted is shown after that.
    """
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "withdraw", prefix.key, now, record)
        _check_person(found.name, record)
        if record.restriction is None:
            raise WrongState(found.name, "shown", "restricted")
        if hidden := restricted_in(tx, _history(tx, found.key)):
            raise WrongState(
                found.name, f"made from {', '.join(hidden)}", "made from nothing restricted: lift these first"
            )
        lifted = msgspec.structs.replace(record, restriction=None)
        return put(registry, tx, by, found, lifted, "lift restriction", reason)

    return await registry.store.write(work)


def may_know(reader: Reader, by: Agent, now: str, found: Identifier | None) -> bool:
    """Whether somebody may know what is said of a person."""
    record = None if found is None else records.decode(found.record)
    if found is None or record is None or record.restriction is None:
        return True
    return is_granted(reader, by, "edit", known_prefix(reader, found.name[:4]).key, now, record)


def heirs(reader: Reader, record: Record) -> list[tuple[str, Record]]:
    """Who holds what a person's record said: whoever took it up, or the parts that it was split into."""
    stone = record.tombstone
    if stone is None or record.reconstruction is None:
        return []
    names = stone.successors or ((stone.replaced_by,) if record.state == "merged" and stone.replaced_by else ())
    return [(name, records.decode(row.record)) for name, row in reader.find_many(names).items()]


def shown_by(reader: Reader, poid: str) -> list[str]:
    """The reconstructions that show claims of an observation to everybody, now or in an old version."""
    names = reader.derived_from(poid)
    rows = reader.find_many(names)
    return [
        name
        for name in names
        if records.decode(rows[name].record).restriction is None and poid in _chosen_from(_history(reader, name))
    ]


def restricted_in(reader: Reader, versions: Iterable[Record]) -> list[str]:
    """What these versions of a reconstruction took from, and everybody may not see: observations, and persons."""
    history = list(versions)
    named = _chosen_from(history)
    named.update(one for record in history if record.reconstruction for one in record.reconstruction.replaces)
    rows = reader.find_many(sorted(named))
    return [name for name, row in rows.items() if records.decode(row.record).restriction is not None]


def _chosen_from(versions: Iterable[Record]) -> set[str]:
    return {
        chosen.observation_id
        for record in versions
        if record.reconstruction is not None
        for chosen in record.reconstruction.claims
    }


def _history(reader: Reader, name: str) -> list[Record]:
    return [records.decode(revision.record) for revision in reader.revisions(name)]


def _check_person(name: str, record: Record) -> None:
    if record.is_redacted:
        raise WrongState(name, "redacted", "whole")
    if record.observation is None and record.reconstruction is None:
        raise InvalidInput("person", "name", f"{name} is no person: only what is said of persons is restricted")
