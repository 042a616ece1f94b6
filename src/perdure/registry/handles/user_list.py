"""The users that the records of prefixes name, with the keys that they have here."""

from collections.abc import Iterator
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.records.record import Record
from perdure.records.value import PUBLIC_KEY, SECRET, VALUE_LIST, Admin, Reference, ValueList
from perdure.registry.handles.handle_slot import find_slot
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.hs_admin import active_record
from perdure.registry.prefixes.na_names import na_key
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

ELSEWHERE, NO_KEY = "elsewhere", "none"
_KEYS = {SECRET: "password", PUBLIC_KEY: "public key"}


class ListedUser(NamedTuple):
    """A user of a prefix: its identity, and the kind of its key."""

    prefix: str
    user: str
    key: str


async def list_handle_users(registry: Registry, prefix: str | None = None) -> list[ListedUser]:
    """Return the users of one prefix, or of all, in order. Records of prefixes are public."""

    def work(reader: Reader) -> list[ListedUser]:
        prefixes = reader.prefixes() if prefix is None else [require_prefix(reader, prefix)]
        found = []
        for one in prefixes:
            record = active_record(reader.find(na_key(reader, one))) if one.scheme == "handle" else None
            if record is not None:
                users = dict.fromkeys(_named_users(record))
                found += [ListedUser(one.name, f"{at.index}:{at.handle}", _key_kind(reader, at)) for at in users]
        return found

    return await registry.store.scan(work)


def _named_users(record: Record) -> Iterator[Reference]:
    """Yield the members of the lists in a record, and the administrators that are not such a list."""
    lists = [value for value in record.values if value.kind == VALUE_LIST and isinstance(value.data, ValueList)]
    for value in lists:
        if isinstance(value.data, ValueList):
            yield from value.data.value
    for value in record.values:
        if value.is_administrator and isinstance(value.data, Admin):
            stated = value.data.value
            if stated.index not in {one.index for one in lists}:
                yield Reference(stated.handle, stated.index)


def _key_kind(reader: Reader, at: Reference) -> str:
    try:
        record = find_slot(reader, at.handle).record
    except PerdureError:
        return ELSEWHERE
    if record is None or record.state != "active":
        return NO_KEY
    return next((_KEYS[one.kind] for one in record.values if one.index == at.index and one.kind in _KEYS), NO_KEY)
