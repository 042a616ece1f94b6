"""The records of prefixes: `0.NA/PREFIX` says who may create under a prefix, as in the Handle System.

Each is there without being written: what grants say is shown as HS_ADMIN values. What somebody states in it besides is
kept in an identifier of that name, and only that gives rights; the grants have their own.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.records import record as records
from perdure.records.authority import ADMIN_INDEX, as_handle, handle_values, to_seconds
from perdure.records.record import Record
from perdure.records.value import ADMIN, Admin, AdminRights, Value
from perdure.registry import change
from perdure.registry.administrators import ALL_RIGHTS, active_record, written
from perdure.registry.authority import GIVEN_BY_GRANT, has_lapsed
from perdure.registry.entities import (
    ACTIONS,
    EVERYWHERE,
    Agent,
    Event,
    Grant,
    HandleIdentity,
    Identifier,
    Prefix,
)
from perdure.registry.prefix_names import PREFIX_OF_RECORDS, RECORDS, record_key, record_name
from perdure.registry.protocol import Reader, Transaction

FIRST_INDEX: Final = 300  # of administrators, as prefixes of the Handle System have them
_POLICY: Final = "The records of the prefixes that are kept here: who may create under them."
_BEGINNING: Final = "1970-01-01T00:00:00Z"


def prefix_record(reader: Reader, prefix: Prefix, now: str, type_prefix: str) -> tuple[Value, ...]:
    """The record of a prefix as Handle clients see it: what is stated, and what grants say."""
    stated = stated_record(reader, prefix)
    values: list[Value] = []
    if stated is not None:
        is_administered = any(value.is_administrator for value in stated.values)
        shown = handle_values(stated, type_prefix)
        values = [value for value in shown if is_administered or not value.is_administrator]
    values += granted_administrators(reader, prefix, now, [value.index for value in values])
    return tuple(sorted(values, key=lambda value: value.index))


def stated_record(reader: Reader, prefix: Prefix) -> Record | None:
    """What somebody wrote into the record of a prefix, if anybody did and it was not withdrawn."""
    return active_record(reader.find(record_key(reader, prefix)))


def granted_administrators(reader: Reader, prefix: Prefix, now: str, taken: Iterable[int]) -> list[Value]:
    """An HS_ADMIN for every agent that is a handle and holds a grant here: for display, from 300 on."""
    used = set(taken)
    index = FIRST_INDEX
    found = []
    for agent in reader.agents():
        name = as_handle(agent.identifier)
        grants = [] if "://" in name else [one for one in reader.grants(agent.id) if _speaks_of(one, prefix, now)]
        rights = 0
        for grant in grants:
            rights |= ALL_RIGHTS if grant.action == "admin" else GIVEN_BY_GRANT[grant.action]
        if not rights:
            continue
        while index in used:
            index += 1
        used.add(index)
        since = max((to_seconds(grant.given_at) for grant in grants if grant.given_at), default=_BEGINNING)
        found.append(Value(index, ADMIN, Admin(AdminRights(name, ADMIN_INDEX, written(rights))), since))
    return found


def _speaks_of(grant: Grant, prefix: Prefix, now: str) -> bool:
    return grant.scope in (EVERYWHERE, prefix.key) and not grant.own and not has_lapsed(grant, now)


def kept_prefix_of_records(tx: Transaction, by: Agent, at: str) -> Prefix:
    """The prefix of these records, made the first time that one is written."""
    kept = tx.prefix(RECORDS)
    if kept is None:
        kept = Prefix(
            key=RECORDS,
            name=PREFIX_OF_RECORDS,
            scheme="handle",
            minter="chosen",
            case_sensitive=False,
            policy=_POLICY,
            created=at,
        )
        tx.put_prefix(kept)
        tx.put_event(Event(at, by.id, "prefix add", PREFIX_OF_RECORDS, "for the records of prefixes"))
    return kept


def write_prefix_record(
    tx: Transaction, row: Identifier | None, prefix: Prefix, record: Record, by: Agent, act: str, at: str, largest: int
) -> int:
    """Keep what is stated of a prefix from now on; the number of the version."""
    if row is not None:
        return change.revise(tx, row, record, by, act, at, largest=largest)
    kept_prefix_of_records(tx, by, at)
    key, encoded = record_key(tx, prefix), change.fitting(record, largest)
    tx.insert([change.first(record_name(prefix), key, "handle", record, by, act, at, encoded=encoded)])
    return 1


def let_administer(tx: Transaction, by: Agent, prefix: Prefix, at: str, largest: int, until: str | None = None) -> None:
    """Let the creator of a prefix do everything with it: an agent by grants, others by an HS_ADMIN in its record.

    The grants end when the authority ends by which the prefix was made.
    """
    if not isinstance(by, HandleIdentity):
        for action in ACTIONS:
            tx.put_grant(Grant(by.id, prefix.key, action, until=until, given_by=by.id, given_at=at))
        return
    row = tx.find(record_key(tx, prefix))
    second = to_seconds(at)
    record = (
        Record(state="active", creator=by.identifier, created=second) if row is None else records.decode(row.record)
    )
    before = record.values if record.tombstone is None else ()
    taken = {value.index for value in before}
    index = next(number for number in range(FIRST_INDEX, FIRST_INDEX + len(taken) + 1) if number not in taken)
    own = Value(index, ADMIN, Admin(AdminRights(by.name, by.index, written(ALL_RIGHTS))), second)
    values = tuple(sorted((*before, own), key=lambda value: value.index))
    stated = msgspec.structs.replace(record, state="active", tombstone=None, values=values)
    write_prefix_record(tx, row, prefix, stated, by, "home", at, largest)
