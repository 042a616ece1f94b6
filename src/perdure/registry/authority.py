"""Who may do what: by a grant, or by what an HS_ADMIN value of a record states. Nothing else is allowed.

Both are read anew in every transaction, so what is taken back is taken back at once.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from perdure.errors import InvalidInput, NotAuthorised, OutOfRange
from perdure.records.authority import to_seconds
from perdure.records.checks import storable
from perdure.records.record import Record
from perdure.records.value import ADMIN_WRITE, PROOFS, Value, same_statement
from perdure.registry.administrators import (
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
from perdure.registry.entities import ACTIONS, EVERYWHERE, Action, Agent, Grant, HandleIdentity, TemporaryAgent
from perdure.registry.prefix_names import RECORDS, prefix_of_key, record_key
from perdure.registry.protocol import Reader

# Beside the twelve permissions of Handle servers: to say by which keys administrators are known.
CHANGE_KEYS: Final = 0x1000

# What a record's own HS_ADMIN must allow, and what that of its prefix must. Nobody imports or administers by them.
_BY_RECORD: Final[dict[Action, int]] = {"edit": VALUES, "withdraw": DELETE_HANDLE, "transfer": ADMINS}
_BY_PREFIX: Final[dict[Action, int]] = {"mint": ADD_HANDLE, "derive": ADD_DERIVED}
# What a grant gives of the permissions that Handle clients know.
GIVEN_BY_GRANT: Final[dict[Action, int]] = {
    "mint": ADD_HANDLE,
    "edit": VALUES | READ_VALUE,
    "withdraw": DELETE_HANDLE,
    "transfer": ADMINS,
    "derive": ADD_DERIVED,
    "import": 0,
    "admin": LIST_HANDLES,
}
_NOBODY: Final = "nobody"


def require(
    reader: Reader,
    by: Agent,
    action: Action,
    scope: str,
    now: str,
    record: Record | None = None,
    name: str | None = None,
) -> None:
    """Refuse unless `by` may do this on this scope (a prefix, or the whole registry).

    A grant for what is one's `own` allows it for a record that the agent answers for. `name`, the key of the
    identifier, matters for the records of prefixes alone: without it they take an administrator of everything.
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
    """Whether some grant, or some HS_ADMIN, says so."""
    return is_granted(reader, by, action, scope, now, record, name) or _is_stated(reader, by, action, scope, record)


def is_granted(
    reader: Reader,
    by: Agent,
    action: Action,
    scope: str,
    now: str,
    record: Record | None = None,
    name: str | None = None,
) -> bool:
    """Whether some grant says so, whatever records say."""
    if scope == RECORDS or isinstance(by, HandleIdentity):
        return action in granted(reader, by, scope, now, record, name)
    return any(_covers(grant, by, scope, record) and not has_lapsed(grant, now) for grant in _of(reader, by, action))


def granted(
    reader: Reader, by: Agent, scope: str, now: str, record: Record | None = None, name: str | None = None
) -> Collection[Action]:
    """What the grants of an agent allow it on this scope.

    The record of a prefix says who may create under that prefix: any change of it takes `admin` on that prefix.
    """
    if isinstance(by, HandleIdentity):
        return ()
    live = [grant for grant in reader.grants(by.id) if not has_lapsed(grant, now)]
    if scope == RECORDS:
        named = prefix_of_key(reader, name)
        where = (EVERYWHERE,) if named is None else (EVERYWHERE, named.key)
        administers = any(grant.action == "admin" and not grant.own and grant.scope in where for grant in live)
        return ACTIONS if administers else ()
    return {grant.action for grant in live if _covers(grant, by, scope, record)}


def _of(reader: Reader, by: Agent, action: Action) -> Iterable[Grant]:
    return [grant for grant in reader.grants(by.id) if grant.action == action]


def _covers(grant: Grant, by: Agent, scope: str, record: Record | None) -> bool:
    """Whether a grant is about this scope, and about this record if it is for what is one's own."""
    if grant.scope not in (EVERYWHERE, scope):
        return False
    return not grant.own or (record is not None and by.identifier in record.responsible)


def _is_stated(reader: Reader, by: Agent, action: Action, scope: str, record: Record | None) -> bool:
    if (needed := _BY_PREFIX.get(action)) is not None:
        return needed & ~stated_for_prefix(reader, by, scope) == 0
    needed = _BY_RECORD.get(action)
    return needed is not None and record is not None and needed & ~Administrators(reader, by).rights(record) == 0


def stated_for_prefix(reader: Reader, by: Agent, scope: str) -> int:
    """The permissions that the record of a prefix states for this actor. Records of prefixes are nobody's to add."""
    if scope in (EVERYWHERE, RECORDS) or (not isinstance(by, HandleIdentity) and "://" in by.identifier):
        return 0
    prefix = reader.prefix(scope)
    if prefix is None or prefix.scheme != "handle":
        return 0
    record = active_record(reader.find(record_key(reader, prefix)))
    return 0 if record is None else Administrators(reader, by).rights(record)


def rights(reader: Reader, by: Agent, record: Record, scope: str, now: str, name: str | None = None) -> int:
    """All that this actor may do to this record, as permissions of Handle servers, and CHANGE_KEYS."""
    stated = Administrators(reader, by).rights(record)
    may = stated
    for action in granted(reader, by, scope, now, record, name):
        may |= GIVEN_BY_GRANT[action]
    is_named = ADMINS & ~stated == 0
    if _administers(reader, by, scope, now, name) or (is_named and _is_trusted(reader, by, scope, name)):
        may |= CHANGE_KEYS
    return may


def require_new(
    reader: Reader, by: Agent, values: Iterable[Value], scope: str, now: str, name: str | None = None
) -> None:
    """Refuse keys in a new record to who may only mint: the administrator that they speak of may be named already."""
    if not any(value.is_key for value in values):
        return
    if not _administers(reader, by, scope, now, name) and not _is_trusted(reader, by, scope, name):
        raise NotAuthorised(by.id, "admin", scope)


def _administers(reader: Reader, by: Agent, scope: str, now: str, name: str | None) -> bool:
    """Whether a grant says so of the whole prefix, and does not end: keys in a record do not end either.

    A grant for what is one's own is not enough for keys, and neither is a key that ends.
    """
    if isinstance(by, TemporaryAgent) or not is_granted(reader, by, "admin", scope, now, None, name):
        return False
    named = prefix_of_key(reader, name) if scope == RECORDS else None
    return grant_end(reader, by, "admin", scope if named is None else named.key, now) is None


def _is_trusted(reader: Reader, by: Agent, scope: str, name: str | None) -> bool:
    """Whether the record of the prefix lets an actor say by which keys administrators under it are known.

    What a record says of itself can never be enough for that: whoever makes one names its administrators, and could
    so make the key of somebody whom the prefix trusts already.
    """
    of_prefix = prefix_of_key(reader, name) if scope == RECORDS else None
    return (ADD_HANDLE | ADMINS) & ~stated_for_prefix(reader, by, scope if of_prefix is None else of_prefix.key) == 0


def own_key(reader: Reader, by: Agent, record: Record, name: str | None) -> int | None:
    """The index of the key by which this actor proved to be who it is, if it stands in this very record."""
    if not isinstance(by, HandleIdentity) or name is None or record.tombstone is not None:
        return None
    if Administrators(reader, by).key != name:
        return None
    return next((one.index for one in record.values if one.index == by.index and one.kind in PROOFS), None)


def require_changes(
    reader: Reader,
    by: Agent,
    record: Record,
    values: Iterable[Value],
    scope: str,
    now: str,
    name: str | None = None,
    *,
    said_again: Collection[int] = (),
    obey_values: bool | None = None,
) -> None:
    """Refuse what `by` may not change of the values of a record, one by one. Saying the same is no change.

    `said_again` are the indexes that count as changed though they look the same. A value that administrators may not
    write is left alone by who acts by an HS_ADMIN; `obey_values` says whether by who acts by a grant as well.
    """
    before = {value.index: value for value in record.values}
    after = {value.index: value for value in values}
    changed = [
        (before.get(index), after.get(index))
        for index in before.keys() | after.keys()
        if not _are_alike(before.get(index), after.get(index)) or index in said_again
    ]
    if not changed:
        return
    may = rights(reader, by, record, scope, now, name)
    own = own_key(reader, by, record, name)
    for old, new in changed:
        if old is not None and new is not None and old.index == own and old.kind == new.kind:
            continue  # whoever holds a key may put another in its place, for nobody else gains by that
        for needed, action in _needed(old, new):
            if needed & ~may:
                raise NotAuthorised(by.id, action, scope)
    locked = [old.index for old, _ in changed if old is not None and old.permissions[ADMIN_WRITE] == "0"]
    if locked and (obey_values or not is_granted(reader, by, "edit", scope, now, record, name)):
        raise NotAuthorised(by.id, f"change value {min(locked)}, which administrators may not write,", scope)


def _are_alike(old: Value | None, new: Value | None) -> bool:
    return old is not None and new is not None and same_statement(old, new)


def _needed(old: Value | None, new: Value | None) -> list[tuple[int, Action]]:
    """The rights that a change of a value takes; a value that becomes one of another kind is removed and added."""
    if old is not None and new is not None and _place(old) == _place(new):
        return [(_MODIFY[_place(new)], _ACTION[_place(new)])]
    needed = []
    if old is not None:
        needed.append((_REMOVE[_place(old)], _ACTION[_place(old)]))
    if new is not None:
        needed.append((_ADD[_place(new)], _ACTION[_place(new)]))
    return needed


_ACTION: Final[tuple[Action, ...]] = ("edit", "transfer", "admin")  # of plain values, of administrators, of keys
_ADD: Final = (ADD_VALUE, ADD_ADMIN, CHANGE_KEYS)
_REMOVE: Final = (REMOVE_VALUE, REMOVE_ADMIN, CHANGE_KEYS)
_MODIFY: Final = (MODIFY_VALUE, MODIFY_ADMIN, CHANGE_KEYS)


def _place(value: Value) -> int:
    if value.is_key:
        return 2
    return 1 if value.is_administrator else 0


def authenticated(by: Agent | None, action: str, scope: str) -> Agent:
    """Somebody; nobody may do nothing."""
    if by is None:
        raise NotAuthorised(_NOBODY, action, scope)
    return by


def has_lapsed(grant: Grant, now: str) -> bool:
    return grant.until is not None and grant.until <= to_seconds(now)


def grant_end(
    reader: Reader, by: Agent, action: Action, scope: str, now: str, record: Record | None = None
) -> str | None:
    """Return when the authority ends by which an agent may do this: its grant, or the key by which it acts.

    None if neither ends, or the authority is an HS_ADMIN value.
    """
    ends = [
        grant.until
        for grant in _of(reader, by, action)
        if _covers(grant, by, scope, record) and not has_lapsed(grant, now)
    ]
    end = latest_end(ends)
    return min(end or by.key_expires, by.key_expires) if isinstance(by, TemporaryAgent) else end


def latest_end(ends: Sequence[str | None]) -> str | None:
    """Return the latest of these ends; None if there are none, or one of them never comes."""
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def bound_end(wanted: str | None, end: str | None, part: str) -> str | None:
    """Return when what is given ends: as is wanted, and never after the authority by which it is given."""
    if wanted is not None and end is not None and wanted > end:
        reason = f"{wanted} is too late: the authority by which this is given ends at {end}"
        raise OutOfRange("agent", part, reason)
    return wanted or end


def refuse_derived_administrators(reader: Reader, by: Agent, prefix: str, parents: Iterable[str], now: str) -> None:
    """Refuse to derive a prefix under which a parent names administrators, unless the agent administers that parent.

    The owner of the derived prefix could create the administrator's name, and so gain authority over the parent.
    """
    for parent in parents:
        kept = reader.prefix(parent)
        record = None if kept is None else active_record(reader.find(record_key(reader, kept)))
        if record is None or is_granted(reader, by, "admin", parent, now):
            continue
        if AdministratorsUnder(reader, by, prefix).rights(record):
            raise NotAuthorised(by.id, f"derive {prefix}, under which administrators of {parent} are named,", parent)


def known_agent(reader: Reader, id: str) -> Agent:
    """The agent of that name."""
    agent = reader.agent(storable(id, "agent"))
    if agent is None:
        raise InvalidInput("agent", "agent", f"there is no agent {id!a}")
    return agent
