"""The administrators that HS_ADMIN values of records name, and their rights.

An administrator is a value of a handle: a key, by which a client proves to be that administrator, or a list of other
administrators. Only values in the stored record give rights; values derived for display give none.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.names import handle
from perdure.records import record as records
from perdure.records.authority_metadata import to_handle, to_seconds
from perdure.records.derived_values import FIRST_ADMIN, USUAL_RIGHTS
from perdure.records.record import Record
from perdure.records.value import ADMIN, VALUE_LIST, Admin, AdminRights, Value, ValueList
from perdure.registry.entities import Agent, HandleIdentity, Identifier, Prefix
from perdure.registry.name_keys import handle_key
from perdure.registry.store_interface import Reader

# The twelve permissions of an HS_ADMIN value, as numbers.
LIST_HANDLES: Final = 0x800
READ_VALUE: Final = 0x400
ADD_ADMIN: Final = 0x200
REMOVE_ADMIN: Final = 0x100
MODIFY_ADMIN: Final = 0x080
ADD_VALUE: Final = 0x040
REMOVE_VALUE: Final = 0x020
MODIFY_VALUE: Final = 0x010
DELETE_DERIVED: Final = 0x008
ADD_DERIVED: Final = 0x004
DELETE_HANDLE: Final = 0x002
ADD_HANDLE: Final = 0x001
# All rights that work in the record of a prefix. A prefix is never deleted, and neither is its record.
PREFIX_RIGHTS: Final = 0xFFF & ~(DELETE_DERIVED | DELETE_HANDLE)

ADMINS: Final = ADD_ADMIN | REMOVE_ADMIN | MODIFY_ADMIN
VALUES: Final = ADD_VALUE | REMOVE_VALUE | MODIFY_VALUE

_MOST_LEVELS: Final = 10  # lists in lists
_MOST_REFERENCES: Final = 1000  # followed for one actor, including loops
_MOST_BYTES: Final = 16 << 20  # of the records that they refer to
_BATCH_SIZE: Final = 50  # records in memory


def format_rights(rights: int) -> str:
    """Format rights as in an HS_ADMIN value: twelve characters, "list" first."""
    return f"{rights:012b}"


def with_administrators(by: Agent, values: Sequence[Value], at: str, before: Sequence[Value] = ()) -> list[Value]:
    """Return the values that a Handle client writes as a whole record, with an administrator.

    If it names none, the administrators in `before`, the values until now, stay. If there are none, as in a new record,
    the client becomes the administrator: otherwise it could not change the name again. An agent has its grants.
    """
    if not isinstance(by, HandleIdentity) or any(value.is_administrator for value in values):
        return list(values)
    rights = AdminRights(by.name, by.index, USUAL_RIGHTS)
    own = Value(FIRST_ADMIN, ADMIN, Admin(rights), to_seconds(at))
    taken = {value.index for value in values}
    administered = list(values)
    for value in [value for value in before if value.is_administrator] or [own]:
        index = value.index
        while index in taken:
            index += 1
        taken.add(index)
        administered.append(msgspec.structs.replace(value, index=index))
    return sorted(administered, key=lambda value: value.index)


class Administrators:
    """The rights of one actor, in one state of the registry. The bounds apply to all its queries together."""

    def __init__(self, reader: Reader, by: Agent) -> None:
        self._reader = reader
        self._prefixes: dict[str, Prefix | None] = {}
        self._answers: dict[tuple[str, int], bool] = {}
        self._references_left = _MOST_REFERENCES
        self._bytes_left = _MOST_BYTES
        self._index = by.index if isinstance(by, HandleIdentity) else None
        name = by.name if isinstance(by, HandleIdentity) else to_handle(by.identifier)
        self.key = None if "://" in name else self._key_of(name)  # the key of the actor's own record

    def rights(self, record: Record) -> int:
        """Return the rights that the HS_ADMIN values of this record give the actor. A tombstone gives none."""
        rights = 0
        if self.key is None or record.tombstone is not None:
            return rights
        for value in record.values:
            if value.is_administrator and isinstance(value.data, Admin):
                stated = value.data.value
                given = int(stated.permissions, 2)
                if given & ~rights and self._includes_actor(self._key_of(stated.handle), stated.index):
                    rights |= given
        return rights

    def _includes_actor(self, key: str, index: int) -> bool:
        """Return whether this value of this handle is the actor, or a list that leads to the actor."""
        reference = key, index
        if reference not in self._answers:
            self._answers[reference] = self._leads_to_actor(reference)
        return self._answers[reference]

    def _leads_to_actor(self, reference: tuple[str, int]) -> bool:
        seen = {reference}
        waiting = [reference]
        for depth in range(_MOST_LEVELS + 1):
            if any(self._is_actor(key, index) for key, index in waiting):
                return True
            if depth == _MOST_LEVELS or self._references_left <= 0:
                return False
            waiting = [one for one in dict.fromkeys(self._list_members(waiting)) if one not in seen]
            seen.update(waiting)
            if not waiting:
                return False
        return False

    def _is_actor(self, key: str, index: int) -> bool:
        return key == self.key and self._matches_index(index)

    def _matches_index(self, index: int) -> bool:
        """Return whether a reference to this index includes the actor; index 0 of a reference means any value.

        An agent matches every index of its own handle. A client that did not say which of the handle's keys it holds is
        not taken for the holder of a certain one.
        """
        return self._index is None or index in (0, self._index)

    def _list_members(self, references: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return the members of the lists at these values, as far as the bound allows. Other values have no members."""
        followed = [one for one in references if self._is_local(one[0])][: self._references_left]
        self._references_left -= len(followed)
        members: list[tuple[str, int]] = []
        rows = self._records(list(dict.fromkeys(key for key, _ in followed)))
        for key, index in followed:
            record = rows.get(key)
            for value in () if record is None else record.values:
                if value.index == index and value.kind == VALUE_LIST and isinstance(value.data, ValueList):
                    listed = value.data.value[: max(self._references_left - len(members), 0)]
                    members.extend((self._key_of(one.handle), one.index) for one in listed)
        return members

    def _records(self, keys: list[str]) -> dict[str, Record | None]:
        """Read active records, a few at a time, up to the bound on their bytes: a list may name very large ones."""
        active: dict[str, Record | None] = {}
        while keys and self._bytes_left > 0:
            batch, keys = keys[:_BATCH_SIZE], keys[_BATCH_SIZE:]
            for key, row in self._reader.find_many(batch).items():
                self._bytes_left -= len(row.record)
                active[key] = active_record(row) if self._bytes_left >= 0 else None
        return active

    def _is_local(self, key: str) -> bool:
        return self._prefix(key.partition("/")[0]) is not None

    def _key_of(self, name: str) -> str:
        """Return the key of a name: by the rules of its prefix, or without case if the prefix is unknown."""
        head, slash, suffix = name.partition("/")
        prefix = self._prefix(handle.fold(head)) if slash else None
        return handle.fold(name) if prefix is None else handle_key(prefix, suffix)

    def _prefix(self, key: str) -> Prefix | None:
        if key not in self._prefixes:
            if len(self._prefixes) > _MOST_REFERENCES:
                return None  # the actor's own prefix was looked up first
            prefix = self._reader.prefix(key)
            self._prefixes[key] = prefix if prefix is not None and prefix.scheme == "handle" else None
        return self._prefixes[key]


class AdministratorsUnder(Administrators):
    """The rights of all administrators whose names are under a prefix, even if it is not registered yet."""

    def __init__(self, reader: Reader, by: Agent, prefix: str) -> None:
        super().__init__(reader, by)
        self.key = prefix

    def _is_actor(self, key: str, index: int) -> bool:
        return key.startswith((f"{self.key}/", f"{self.key}."))


def active_record(row: Identifier | None) -> Record | None:
    """Return the record of an identifier that exists and is active."""
    return records.decode(row.record) if row is not None and row.state == "active" else None
