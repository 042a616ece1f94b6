"""Read a handle: the record as Handle clients see it, whatever scheme its name is of."""

import msgspec

from perdure.records.authority import handle_values
from perdure.records.value import ADMIN_READ, Value
from perdure.registry.administrators import READ_VALUE
from perdure.registry.authority import is_granted, rights
from perdure.registry.entities import Agent
from perdure.registry.handles.place import Place, existing_record, find_place, record_of_prefix, refuse_gone
from perdure.registry.prefix_records import prefix_record
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry


class HandleView(msgspec.Struct, frozen=True):
    """A record for one reader. `withheld` counts the values that were kept back; a version 0 was never written."""

    name: str
    values: tuple[Value, ...]
    state: str
    version: int
    key: str
    withheld: int = 0


async def read_handle(registry: Registry, text: str, *, by: Agent | None = None, wants_all: bool = False) -> HandleView:
    """The values, in the order of their indexes, with the authority metadata among them.

    With `wants_all` also those that are not public, if `by` may read them and their own permissions let administrators.
    """
    return await registry.store.read(lambda reader: _read(registry, reader, text, by if wants_all else None))


def _read(registry: Registry, reader: Reader, text: str, by: Agent | None) -> HandleView:
    place = find_place(reader, text)
    now = registry.now()
    if place.of_prefix is None:
        record = existing_record(reader, place, text)
        refuse_gone(place, record)
        if record.restriction is not None and not (
            by is not None and is_granted(reader, by, "edit", place.scope, now, record, place.key)
        ):
            record = msgspec.structs.replace(record, values=(), about=None)
        values = handle_values(record, registry.settings.type_prefix)
    else:
        record = record_of_prefix(place, "", now)
        values = prefix_record(reader, place.of_prefix, now, registry.settings.type_prefix)
    seen = tuple(value for value in values if value.is_public)
    is_partial = len(seen) < len(values)
    if is_partial and by is not None and rights(reader, by, record, place.scope, now, place.key) & READ_VALUE:
        seen = tuple(value for value in values if value.is_public or value.permissions[ADMIN_READ] == "1")
    return HandleView(place.name, seen, "active", _version(place), place.key, len(values) - len(seen))


def _version(place: Place) -> int:
    return 0 if place.row is None else place.row.version
