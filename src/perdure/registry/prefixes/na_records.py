"""The records of prefixes: `0.NA/PREFIX` says who may create under a prefix, as in the Handle System.

Each exists without being written: grants are shown in it as HS_ADMIN values. What an administrator writes into it is
stored in an identifier of that name, and only that gives rights; the grants have their own.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.records import record as records
from perdure.records.authority_metadata import party_handle, to_seconds
from perdure.records.derived_values import ADMIN_INDEX, handle_values
from perdure.records.record import Record
from perdure.records.value import ADMIN, Admin, AdminRights, Value
from perdure.registry import revisions
from perdure.registry.entities import (
    ACTIONS,
    WHOLE_REGISTRY,
    Action,
    Agent,
    Event,
    Grant,
    HandleIdentity,
    Identifier,
    Prefix,
)
from perdure.registry.permissions.hs_admin import (
    ADD_DERIVED,
    ADD_HANDLE,
    ADMINS,
    LIST_HANDLES,
    PREFIX_RIGHTS,
    READ_VALUE,
    VALUES,
    active_record,
    format_rights,
)
from perdure.registry.permissions.permissions import has_expired
from perdure.registry.prefixes.na_names import NA_KEY, NA_PREFIX, na_key, na_name
from perdure.registry.store_interface import Reader, Transaction

FIRST_INDEX: Final = 300  # of administrators, as in prefixes of the Handle System
_POLICY: Final = "The records of the prefixes of this registry: who may create under them."
_EPOCH: Final = "1970-01-01T00:00:00Z"
_RIGHTS_SHOWN: Final[dict[Action, int]] = {
    "mint": ADD_HANDLE,
    "edit": LIST_HANDLES,
    "derive": ADD_DERIVED,
    "admin": LIST_HANDLES | READ_VALUE | VALUES | ADMINS,
}


def prefix_record(reader: Reader, prefix: Prefix, now: str, type_prefix: str) -> tuple[Value, ...]:
    """Build the record of a prefix as Handle clients see it: the stored values and those derived from grants."""
    row = reader.find(na_key(reader, prefix))
    stated = active_record(row)
    values: list[Value] = []
    if row is not None and stated is not None:
        newest = reader.newest_revision(row.subject)
        revised = None if newest is None else newest.at
        values = list(handle_values(stated, type_prefix, revised, names_creator=False))
    values += granted_administrators(reader, prefix, now, [value.index for value in values])
    return tuple(sorted(values, key=lambda value: value.index))


def granted_administrators(reader: Reader, prefix: Prefix, now: str, taken: Iterable[int]) -> list[Value]:
    """Build an HS_ADMIN value, from index 300 on, for every agent that is a handle and has a grant here.

    For display only. It has the rights that the agent has on the record of the prefix, and to create under the prefix.
    """
    used = set(taken)
    index = FIRST_INDEX
    values = []
    for agent in reader.agents():
        name = party_handle(agent.identifier)
        if name is None:
            continue
        grants = [one for one in reader.grants(agent.id) if _applies_to(one, prefix, now)]
        rights = 0
        for grant in grants:
            rights |= _RIGHTS_SHOWN.get(grant.action, 0)
        if not rights:
            continue
        while index in used:
            index += 1
        used.add(index)
        since = max((to_seconds(grant.given_at) for grant in grants if grant.given_at), default=_EPOCH)
        values.append(Value(index, ADMIN, Admin(AdminRights(name, ADMIN_INDEX, format_rights(rights))), since))
    return values


def _applies_to(grant: Grant, prefix: Prefix, now: str) -> bool:
    return grant.scope in (WHOLE_REGISTRY, prefix.key) and not grant.own and not has_expired(grant, now)


def build_na_prefix(at: str) -> Prefix:
    """Build the prefix of these records. Prefixes are compared without case, and so are their records."""
    return Prefix(
        key=NA_KEY,
        name=NA_PREFIX,
        scheme="handle",
        minter="chosen",
        case_sensitive=False,
        policy=_POLICY,
        created=at,
    )


def ensure_na_prefix(tx: Transaction, by: Agent, at: str) -> Prefix:
    """Return the prefix of these records. Create it when the first of them is written."""
    na_prefix = tx.prefix(NA_KEY)
    if na_prefix is None:
        na_prefix = build_na_prefix(at)
        tx.put_prefix(na_prefix)
        tx.put_event(Event(at, by.id, "prefix add", NA_PREFIX, "for the records of prefixes"))
    return na_prefix


def write_prefix_record(
    tx: Transaction, row: Identifier | None, prefix: Prefix, record: Record, by: Agent, act: str, at: str, largest: int
) -> int:
    """Write the record of a prefix. Return the version number."""
    if row is not None:
        return revisions.append_revision(tx, row, record, by, act, at, largest=largest)
    ensure_na_prefix(tx, by, at)
    key, encoded = na_key(tx, prefix), revisions.encode_within_limit(record, largest)
    tx.insert([revisions.first_revision(na_name(prefix), key, "handle", record, by, act, at, encoded=encoded)])
    return 1


def grant_creator_rights(
    tx: Transaction, by: Agent, prefix: Prefix, at: str, largest: int, until: str | None = None
) -> None:
    """Let the creator of a prefix do everything with it: an agent by grants, others by an HS_ADMIN in its record.

    The grants expire with the permission of the creator.
    """
    if not isinstance(by, HandleIdentity):
        for action in ACTIONS:
            tx.put_grant(Grant(by.id, prefix.key, action, until=until, given_by=by.id, given_at=at))
        return
    row = tx.find(na_key(tx, prefix))
    second = to_seconds(at)
    record = (
        Record(state="active", creator=by.identifier, created=second) if row is None else records.decode(row.record)
    )
    before = record.values if record.tombstone is None else ()
    taken = {value.index for value in before}
    index = next(number for number in range(FIRST_INDEX, FIRST_INDEX + len(taken) + 1) if number not in taken)
    own = Value(index, ADMIN, Admin(AdminRights(by.name, by.index, format_rights(PREFIX_RIGHTS))), second)
    values = tuple(sorted((*before, own), key=lambda value: value.index))
    stated = msgspec.structs.replace(record, state="active", tombstone=None, values=values)
    write_prefix_record(tx, row, prefix, stated, by, "home", at, largest)
