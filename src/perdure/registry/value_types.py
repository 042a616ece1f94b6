"""The types of values that this registry defines: handles under its type prefix, which resolve to a description.

Those of authority metadata are built in. An administrator mints others there like any name.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from perdure.errors import NameTaken, StoreUnavailable
from perdure.names import handle
from perdure.records import record as records
from perdure.records.authority_metadata import CREATION_DATE, DESCRIPTIONS, to_seconds
from perdure.records.record import Record
from perdure.records.value import Text, Value
from perdure.registry import revisions
from perdure.registry.entities import Agent, Change, Prefix
from perdure.registry.name_keys import handle_key, key_beginning
from perdure.registry.permissions.keys import MACHINE_AGENT
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

DESCRIPTION: Final = "DESC"
MOST_TYPES: Final = 1000  # in one list
_CHUNK: Final = 1000


class ValueType(NamedTuple):
    """A type with its description; empty if its record has none."""

    name: str
    description: str
    created: str | None


def description_record(creator: str, text: str, at: str) -> Record:
    """Return the record of a name that resolves to a description."""
    second = to_seconds(at)
    return Record(state="active", creator=creator, created=second, values=(Value(1, DESCRIPTION, Text(text), second),))


def type_change(prefix: Prefix, kind: str, creator: str, by: Agent, at: str) -> Change:
    """Return the first revision of a built-in type."""
    record = description_record(creator, DESCRIPTIONS[kind], at)
    return revisions.first_revision(f"{prefix.name}/{kind}", handle_key(prefix, kind), "handle", record, by, "mint", at)


async def register_missing_types(registry: Registry) -> None:
    """Register the built-in types that an earlier release did not know, so that all of them resolve.

    Nothing is written if all are there, if their prefix is not registered here, or if nothing can be written now.
    """
    if not await registry.store.read(lambda reader: _find_missing(registry, reader)):
        return

    def work(tx: Transaction) -> None:
        at = registry.current_time()
        for prefix, kind, creator in _find_missing(registry, tx):
            by = Agent(MACHINE_AGENT, MACHINE_AGENT, creator, at)
            tx.insert([type_change(prefix, kind, creator, by, at)])

    with suppress(NameTaken, StoreUnavailable):  # another process has registered them, or a later opening does
        await registry.store.write(work)


def _find_missing(registry: Registry, reader: Reader) -> list[tuple[Prefix, str, str]]:
    """Return the prefix, the kind and the creator of each built-in type that is not registered."""
    prefix = reader.prefix(handle.fold(registry.settings.type_prefix))
    if prefix is None:
        return []
    keys = {kind: handle_key(prefix, kind) for kind in DESCRIPTIONS}
    rows = reader.find_many(list(keys.values()))
    first = rows.get(keys[CREATION_DATE])
    if first is None:
        return []
    creator = records.decode(first.record).creator
    return [(prefix, kind, creator) for kind, key in keys.items() if key not in rows]


async def list_types(registry: Registry) -> list[ValueType]:
    """List the active types that this registry defines, in the order of their names. They are public."""
    return await registry.store.read(lambda reader: _read_types(registry, reader))


def _read_types(registry: Registry, reader: Reader) -> list[ValueType]:
    prefix = reader.prefix(handle.fold(registry.settings.type_prefix))
    if prefix is None:
        return []
    found: list[ValueType] = []
    key, under = "", key_beginning(prefix)
    while len(found) < MOST_TYPES:
        rows = reader.identifiers_after(key, _CHUNK, under)
        if not rows:
            break
        key = rows[-1].key
        for row in rows:
            if row.state == "active":
                record = records.decode(row.record)
                found.append(ValueType(row.name, _description(record), record.created))
    return found[:MOST_TYPES]


def _description(record: Record) -> str:
    texts = (value.text for value in record.values if value.is_public and value.kind == DESCRIPTION and value.text)
    about = record.about.what if record.about is not None else None
    return next(texts, None) or about or ""


def find_defined_types(registry: Registry, reader: Reader, types: Sequence[str]) -> dict[str, str]:
    """Return the names of those types that are registered here, by the type as a value has it.

    A type without a prefix is also looked for under the type prefix: `102.100.TYPE/ISBN` defines the type `ISBN`.
    """
    keys: dict[str, str] = {}
    for kind in types:
        name = kind if "/" in kind else f"{registry.settings.type_prefix}/{kind}"
        head, _, suffix = name.partition("/")
        prefix = reader.prefix(handle.fold(head))
        if prefix is not None and prefix.scheme == "handle" and suffix:
            keys[kind] = handle_key(prefix, suffix)
    rows = reader.find_many(list(set(keys.values())))
    return {kind: rows[key].name for kind, key in keys.items() if key in rows and rows[key].state == "active"}
