"""Whom the HS_ADMIN values of records name, and what those let them do.

An administrator is a value of a handle: a key, by which somebody proves to be that administrator, or a list of other
administrators. Only what a record states itself gives a right; what is derived for display gives none.
"""

from typing import Final

from perdure.names import handle
from perdure.records import record as records
from perdure.records.authority import as_handle
from perdure.records.record import Record
from perdure.records.value import VALUE_LIST, Admin, ValueList
from perdure.registry.entities import Agent, HandleIdentity, Identifier, Prefix
from perdure.registry.naming import handle_key
from perdure.registry.protocol import Reader

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
ALL_RIGHTS: Final = 0xFFF

ADMINS: Final = ADD_ADMIN | REMOVE_ADMIN | MODIFY_ADMIN
VALUES: Final = ADD_VALUE | REMOVE_VALUE | MODIFY_VALUE

_DEEPEST: Final = 10  # lists in lists
_MOST_REFERENCES: Final = 1000  # that are followed for one question, loops and all
_MOST_BYTES: Final = 16 << 20  # of the records that they lead to
_AT_ONCE: Final = 50  # records in memory


def written(rights: int) -> str:
    """Rights as an HS_ADMIN value writes them: twelve characters, "list" first."""
    return f"{rights:012b}"


class Administrators:
    """Answers for one actor, from one state of the registry. The bounds hold for all that it is asked together."""

    def __init__(self, reader: Reader, by: Agent) -> None:
        self._reader = reader
        self._prefixes: dict[str, Prefix | None] = {}
        self._answers: dict[tuple[str, int], bool] = {}
        self._left = _MOST_REFERENCES
        self._bytes_left = _MOST_BYTES
        self._index = by.index if isinstance(by, HandleIdentity) else None
        name = by.name if isinstance(by, HandleIdentity) else as_handle(by.identifier)
        self.key = None if "://" in name else self._key_of(name)  # what the actor's own record is kept under

    def rights(self, record: Record) -> int:
        """What the HS_ADMIN values that this record states let the actor do. A tombstone lets nobody do anything."""
        rights = 0
        if self.key is None or record.tombstone is not None:
            return rights
        for value in record.values:
            if value.is_administrator and isinstance(value.data, Admin):
                stated = value.data.value
                given = int(stated.permissions, 2)
                if given & ~rights and self._are_meant(self._key_of(stated.handle), stated.index):
                    rights |= given
        return rights

    def _are_meant(self, key: str, index: int) -> bool:
        """Whether this value of this handle is the actor, or a list that leads to the actor."""
        asked = key, index
        if asked not in self._answers:
            self._answers[asked] = self._lead_to_actor(asked)
        return self._answers[asked]

    def _lead_to_actor(self, asked: tuple[str, int]) -> bool:
        seen = {asked}
        waiting = [asked]
        for depth in range(_DEEPEST + 1):
            if any(self._is_actor(key, index) for key, index in waiting):
                return True
            if depth == _DEEPEST or self._left <= 0:
                return False
            waiting = [one for one in dict.fromkeys(self._listed(waiting)) if one not in seen]
            seen.update(waiting)
            if not waiting:
                return False
        return False

    def _is_actor(self, key: str, index: int) -> bool:
        return key == self.key and self._stands_for(index)

    def _stands_for(self, index: int) -> bool:
        """An agent stands for every value of its own handle; index 0 of a reference means any of them.

        Whoever did not say which of the handle's keys it holds is not taken for the holder of a certain one.
        """
        return self._index is None or index in (0, self._index)

    def _listed(self, references: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """What the lists at these values hold, as far as the bound allows; what is no list holds nothing."""
        followed = [one for one in references if self._is_here(one[0])][: self._left]
        self._left -= len(followed)
        found: list[tuple[str, int]] = []
        rows = self._records(list(dict.fromkeys(key for key, _ in followed)))
        for key, index in followed:
            record = rows.get(key)
            for value in () if record is None else record.values:
                if value.index == index and value.kind == VALUE_LIST and isinstance(value.data, ValueList):
                    kept = value.data.value[: max(self._left - len(found), 0)]
                    found.extend((self._key_of(one.handle), one.index) for one in kept)
        return found

    def _records(self, keys: list[str]) -> dict[str, Record | None]:
        """The active ones, a few at a time, until the bound on their bytes is met: a list may name very large ones."""
        found: dict[str, Record | None] = {}
        while keys and self._bytes_left > 0:
            asked, keys = keys[:_AT_ONCE], keys[_AT_ONCE:]
            for key, row in self._reader.find_many(asked).items():
                self._bytes_left -= len(row.record)
                found[key] = active_record(row) if self._bytes_left >= 0 else None
        return found

    def _is_here(self, key: str) -> bool:
        return self._prefix(key.partition("/")[0]) is not None

    def _key_of(self, name: str) -> str:
        """A name as it is compared: as its prefix says, or without case where the prefix is not kept here."""
        head, slash, suffix = name.partition("/")
        prefix = self._prefix(handle.fold(head)) if slash else None
        return handle.fold(name) if prefix is None else handle_key(prefix, suffix)

    def _prefix(self, key: str) -> Prefix | None:
        if key not in self._prefixes:
            if len(self._prefixes) > _MOST_REFERENCES:
                return None  # the actor's own is known by then
            found = self._reader.prefix(key)
            self._prefixes[key] = found if found is not None and found.scheme == "handle" else None
        return self._prefixes[key]


class AdministratorsUnder(Administrators):
    """Find the rights of all administrators whose names are under a prefix, even if it is not registered yet."""

    def __init__(self, reader: Reader, by: Agent, prefix: str) -> None:
        super().__init__(reader, by)
        self.key = prefix

    def _is_actor(self, key: str, index: int) -> bool:
        return key.startswith((f"{self.key}/", f"{self.key}."))


def active_record(row: Identifier | None) -> Record | None:
    """The record of an identifier that is there and was not withdrawn."""
    return records.decode(row.record) if row is not None and row.state == "active" else None
