"""Permissions: what an agent may do, by a grant or by an HS_ADMIN value of a record. Nothing else is allowed.

Both are read in every transaction, so a revoked permission is gone at once.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from perdure.errors import InvalidInput, NoSuchAgent, NotAuthorised, OutOfRange
from perdure.records.authority_metadata import to_seconds
from perdure.records.record import Record
from perdure.records.validation import check_storable
from perdure.records.value import ADMIN_WRITE, PROOFS, Value, equals_ignoring_timestamp
from perdure.registry.entities import ACTIONS, WHOLE_REGISTRY, Action, Agent, Grant, HandleIdentity, TemporaryAgent
from perdure.registry.permissions.hs_admin import (
    ADD_ADMIN,
    ADD_DERIVED,
    ADD_HANDLE,
    ADD_VALUE,
    ADMINS,
    DELETE_HANDLE,
    LIST_HANDLES,
    MODIFY_ADMIN,
    MODIFY_VALUE,
    READ_VALUE,
    REMOVE_ADMIN,
    REMOVE_VALUE,
    VALUES,
    Administrators,
    AdministratorsUnder,
    active_record,
)
from perdure.registry.prefixes.na_names import NA_KEY, na_key, prefix_of_key
from perdure.registry.store_interface import Reader

# In addition to the twelve permissions of Handle servers: to change the keys of administrators.
CHANGE_KEYS: Final = 0x1000

# The rights that an HS_ADMIN must give, in the record or in that of its prefix. None of them allows import or admin.
_RIGHTS_IN_RECORD: Final[dict[Action, int]] = {"edit": VALUES, "withdraw": DELETE_HANDLE, "transfer": ADMINS}
_RIGHTS_IN_PREFIX: Final[dict[Action, int]] = {"mint": ADD_HANDLE, "derive": ADD_DERIVED}
# The Handle permissions that each grant gives.
RIGHTS_BY_GRANT: Final[dict[Action, int]] = {
    "mint": ADD_HANDLE,
    "edit": VALUES | READ_VALUE,
    "withdraw": DELETE_HANDLE,
    "transfer": ADMINS,
    "derive": ADD_DERIVED,
    "import": 0,
    "admin": LIST_HANDLES,
}
_ANONYMOUS: Final = "an anonymous caller"


def require_permission(
    reader: Reader,
    by: Agent,
    action: Action,
    scope: str,
    now: str,
    record: Record | None = None,
    name: str | None = None,
) -> None:
    """Raise NotAuthorised unless `by` may do this on this scope (a prefix, or the whole registry).

    A grant for `own` identifiers allows it for a record that the agent is responsible for. `name`, the key of the
    identifier, matters for the records of prefixes alone: without it they need an administrator of the whole registry.
    """
    if not is_allowed(reader, by, action, scope, now, record, name):
        raise NotAuthorised(by.id, action, scope)


def is_allowed(
    reader: Reader,
    by: Agent,
    action: Action,
    scope: str,
    now: str,
    record: Record | None = None,
    name: str | None = None,
) -> bool:
    """Return whether a grant or an HS_ADMIN value allows this."""
    return is_granted(reader, by, action, scope, now, record, name) or _is_allowed_by_hs_admin(
        reader, by, action, scope, record
    )


def is_granted(
    reader: Reader,
    by: Agent,
    action: Action,
    scope: str,
    now: str,
    record: Record | None = None,
    name: str | None = None,
) -> bool:
    """Return whether a grant allows this, without regard to HS_ADMIN values."""
    if scope == NA_KEY or isinstance(by, HandleIdentity):
        return action in granted_actions(reader, by, scope, now, record, name)
    return any(
        _covers(grant, by, scope, record) and not has_expired(grant, now) for grant in _grants_for(reader, by, action)
    )


def granted_actions(
    reader: Reader, by: Agent, scope: str, now: str, record: Record | None = None, name: str | None = None
) -> Collection[Action]:
    """Return the actions that the grants of an agent allow on this scope.

    The record of a prefix controls who may create under that prefix: any change of it needs `admin` on that prefix.
    """
    if isinstance(by, HandleIdentity):
        return ()
    live = [grant for grant in reader.grants(by.id) if not has_expired(grant, now)]
    if scope == NA_KEY:
        described_prefix = prefix_of_key(reader, name)
        where = (WHOLE_REGISTRY,) if described_prefix is None else (WHOLE_REGISTRY, described_prefix.key)
        administers = any(grant.action == "admin" and not grant.own and grant.scope in where for grant in live)
        return ACTIONS if administers else ()
    return {grant.action for grant in live if _covers(grant, by, scope, record)}


def _grants_for(reader: Reader, by: Agent, action: Action) -> Iterable[Grant]:
    return [grant for grant in reader.grants(by.id) if grant.action == action]


def _covers(grant: Grant, by: Agent, scope: str, record: Record | None) -> bool:
    """Return whether a grant applies to this scope and, if it is for own identifiers only, to this record."""
    if grant.scope not in (WHOLE_REGISTRY, scope):
        return False
    return not grant.own or (record is not None and by.identifier in record.responsible_parties)


def _is_allowed_by_hs_admin(reader: Reader, by: Agent, action: Action, scope: str, record: Record | None) -> bool:
    if (needed := _RIGHTS_IN_PREFIX.get(action)) is not None:
        return needed & ~prefix_rights(reader, by, scope) == 0
    needed = _RIGHTS_IN_RECORD.get(action)
    return needed is not None and record is not None and needed & ~Administrators(reader, by).rights(record) == 0


def prefix_rights(reader: Reader, by: Agent, scope: str) -> int:
    """Return the rights that the record of a prefix gives this actor. On the records of prefixes, it gives none."""
    if scope in (WHOLE_REGISTRY, NA_KEY) or (not isinstance(by, HandleIdentity) and "://" in by.identifier):
        return 0
    prefix = reader.prefix(scope)
    if prefix is None or prefix.scheme != "handle":
        return 0
    record = active_record(reader.find(na_key(reader, prefix)))
    return 0 if record is None else Administrators(reader, by).rights(record)


def rights(reader: Reader, by: Agent, record: Record, scope: str, now: str, name: str | None = None) -> int:
    """Return all that this actor may do to this record, as permissions of Handle servers, and CHANGE_KEYS."""
    stated = Administrators(reader, by).rights(record)
    allowed = stated
    for action in granted_actions(reader, by, scope, now, record, name):
        allowed |= RIGHTS_BY_GRANT[action]
    is_named = ADMINS & ~stated == 0
    is_permanent = _is_permanent_administrator(reader, by, scope, now, name)
    if is_permanent or (is_named and _is_trusted_by_prefix(reader, by, scope, name)):
        allowed |= CHANGE_KEYS
    if scope == NA_KEY and not is_permanent:  # an administrator in the record of a prefix would outlast a grant
        allowed &= ~ADMINS | (0 if isinstance(by, TemporaryAgent) else stated)
    return allowed


def require_key_permission(
    reader: Reader, by: Agent, values: Iterable[Value], scope: str, now: str, name: str | None = None
) -> None:
    """Refuse keys in a new record if the actor may only mint. The key may be that of an administrator named already.

    The same holds for administrators in the record of a prefix: they too would outlast an agent whose key expires.
    """
    if not any(value.is_key or (scope == NA_KEY and value.is_administrator) for value in values):
        return
    if not _is_permanent_administrator(reader, by, scope, now, name) and not _is_trusted_by_prefix(
        reader, by, scope, name
    ):
        raise NotAuthorised(by.id, "admin", scope)


def _is_permanent_administrator(reader: Reader, by: Agent, scope: str, now: str, name: str | None) -> bool:
    """Return whether a grant gives `admin` on the whole prefix and does not expire.

    Keys in a record do not expire either.

    A grant for own identifiers is not enough for keys, and neither is an agent's key that expires.
    """
    if isinstance(by, TemporaryAgent) or not is_granted(reader, by, "admin", scope, now, None, name):
        return False
    described_prefix = prefix_of_key(reader, name) if scope == NA_KEY else None
    return grant_end(reader, by, "admin", scope if described_prefix is None else described_prefix.key, now) is None


def _is_trusted_by_prefix(reader: Reader, by: Agent, scope: str, name: str | None) -> bool:
    """Return whether the record of the prefix lets an actor set the keys of administrators under it.

    The record itself can never be enough for that: its creator names its administrators, and could thereby create
    a key for an administrator that the prefix already trusts. An agent whose own key expires cannot set keys.
    """
    if isinstance(by, TemporaryAgent):
        return False
    of_prefix = prefix_of_key(reader, name) if scope == NA_KEY else None
    return (ADD_HANDLE | ADMINS) & ~prefix_rights(reader, by, scope if of_prefix is None else of_prefix.key) == 0


def own_key(reader: Reader, by: Agent, record: Record, name: str | None) -> int | None:
    """Return the index of the key by which this actor authenticated, if that key is in this record."""
    if not isinstance(by, HandleIdentity) or name is None or record.tombstone is not None:
        return None
    if Administrators(reader, by).key != name:
        return None
    return next((one.index for one in record.values if one.index == by.index and one.kind in PROOFS), None)


def require_change_permission(
    reader: Reader,
    by: Agent,
    record: Record,
    values: Iterable[Value],
    scope: str,
    now: str,
    name: str | None = None,
    *,
    rewritten: Collection[int] = (),
    obey_values: bool | None = None,
) -> None:
    """Refuse what `by` may not change in the values of a record, one by one. An equal value is not a change.

    `rewritten` are the indexes that count as changed though they look equal. A value that administrators may not write
    cannot be changed by an HS_ADMIN; with `obey_values`, not by a grant either.
    """
    before = {value.index: value for value in record.values}
    after = {value.index: value for value in values}
    changed = [
        (before.get(index), after.get(index))
        for index in before.keys() | after.keys()
        if not _is_unchanged(before.get(index), after.get(index)) or index in rewritten
    ]
    if not changed:
        return
    allowed = rights(reader, by, record, scope, now, name)
    own = own_key(reader, by, record, name)
    for old, new in changed:
        if old is not None and new is not None and old.index == own and old.kind == new.kind:
            continue  # the holder of a key may replace it: that gives nothing to anyone else
        for needed, action in _required_rights(old, new):
            if needed & ~allowed:
                raise NotAuthorised(by.id, action, scope)
    locked = [old.index for old, _ in changed if old is not None and old.permissions[ADMIN_WRITE] == "0"]
    if locked and (obey_values or not is_granted(reader, by, "edit", scope, now, record, name)):
        raise NotAuthorised(by.id, f"change value {min(locked)}, which administrators may not write,", scope)


def _is_unchanged(old: Value | None, new: Value | None) -> bool:
    return old is not None and new is not None and equals_ignoring_timestamp(old, new)


def _required_rights(old: Value | None, new: Value | None) -> list[tuple[int, Action]]:
    """Return the rights for a change of a value. A value that changes its class is removed and added."""
    if old is not None and new is not None and _value_class(old) == _value_class(new):
        return [(_MODIFY[_value_class(new)], _ACTION[_value_class(new)])]
    needed = []
    if old is not None:
        needed.append((_REMOVE[_value_class(old)], _ACTION[_value_class(old)]))
    if new is not None:
        needed.append((_ADD[_value_class(new)], _ACTION[_value_class(new)]))
    return needed


_ACTION: Final[tuple[Action, ...]] = ("edit", "transfer", "admin")  # for plain values, administrators, keys
_ADD: Final = (ADD_VALUE, ADD_ADMIN, CHANGE_KEYS)
_REMOVE: Final = (REMOVE_VALUE, REMOVE_ADMIN, CHANGE_KEYS)
_MODIFY: Final = (MODIFY_VALUE, MODIFY_ADMIN, CHANGE_KEYS)


def _value_class(value: Value) -> int:
    if value.is_key:
        return 2
    return 1 if value.is_administrator else 0


def require_authenticated(by: Agent | None, action: str, scope: str) -> Agent:
    """Return the agent. Raise NotAuthorised for an anonymous caller."""
    if by is None:
        raise NotAuthorised(_ANONYMOUS, action, scope)
    return by


def has_expired(grant: Grant, now: str) -> bool:
    return grant.until is not None and grant.until <= to_seconds(now)


def grant_end(
    reader: Reader, by: Agent, action: Action, scope: str, now: str, record: Record | None = None
) -> str | None:
    """Return when the permission of an agent for this expires: with its grant, or with its key if that is earlier.

    None if neither ends, or the authority is an HS_ADMIN value.
    """
    ends = [
        grant.until
        for grant in _grants_for(reader, by, action)
        if _covers(grant, by, scope, record) and not has_expired(grant, now)
    ]
    end = latest_end(ends)
    return min(end or by.key_expires, by.key_expires) if isinstance(by, TemporaryAgent) else end


def authority_end(reader: Reader, by: Agent, now: str) -> str | None:
    """Return when all that an agent may do ends: the last of its grants, or its key if that is earlier.

    None if neither ends. An agent without grants may have permissions of HS_ADMIN values, which do not end. An agent
    whose grants have all expired is refused.
    """
    grants = reader.grants(by.id)
    live = [grant.until for grant in grants if not has_expired(grant, now)]
    if grants and not live:
        raise NotAuthorised(by.id, "create keys (all its grants have expired)", WHOLE_REGISTRY)
    end = latest_end(live)
    return min(end or by.key_expires, by.key_expires) if isinstance(by, TemporaryAgent) else end


def latest_end(ends: Sequence[str | None]) -> str | None:
    """Return the latest of these ends; None if there are none, or one of them is unlimited."""
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def limit_end(requested: str | None, end: str | None, part: str) -> str | None:
    """Return when a new grant or key ends: as requested, but not after the giver's own key or grant."""
    if requested is not None and end is not None and requested > end:
        reason = f"{requested} is too late: your own key or grant expires at {end}"
        raise OutOfRange("agent", part, reason)
    return requested or end


def refuse_derived_administrators(reader: Reader, by: Agent, prefix: str, parents: Iterable[str], now: str) -> None:
    """Refuse to derive a prefix under which a parent names administrators, unless the agent administers that parent.

    The owner of the derived prefix could create the administrator's name, and so gain authority over the parent.
    """
    for parent in parents:
        parent_prefix = reader.prefix(parent)
        record = None if parent_prefix is None else active_record(reader.find(na_key(reader, parent_prefix)))
        if record is None or is_granted(reader, by, "admin", parent, now):
            continue
        if AdministratorsUnder(reader, by, prefix).rights(record):
            raise NotAuthorised(by.id, f"derive {prefix}, under which administrators of {parent} are named,", parent)


def require_agent(reader: Reader, id: str) -> Agent:
    """Return the agent with this id."""
    agent = reader.agent(check_storable(id, "agent"))
    if agent is None:
        raise NoSuchAgent("agent", "agent", f"agent not found: {id!a}")
    return agent


def require_active_agent(reader: Reader, id: str) -> Agent:
    """Return the agent with this id, which is to get something: a key, a grant, an identifier. Refuse a retired one."""
    agent = require_agent(reader, id)
    if agent.retired is not None:
        reason = f"{agent.id} was retired at {agent.retired}: choose another agent, or reinstate it first"
        raise InvalidInput("agent", "agent", reason)
    return agent
