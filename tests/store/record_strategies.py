"""Sample values for the stores, as the registry builds them."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from perdure.records import record as records
from perdure.records.record import Record
from perdure.registry.entities import Agent, Change, Identifier, Revision
from perdure.registry.store_interface import Reader, Store, Transaction

T = TypeVar("T")
AT = "2027-01-15T08:00:00.000000Z"
RECORD = records.encode(Record(state="active", creator="https://example.org/jan", created="2027-01-15T08:00:00Z"))
JAN = Agent("jan", "Jan", "https://example.org/jan", AT)


def identifier(key: str, **fields: Any) -> Identifier:
    defaults = {
        "name": key.upper(),
        "scheme": "handle",
        "state": "active",
        "target": "https://example.org/",
        "version": 1,
        "record": RECORD,
        "subject": key,
        "created": "2027-01-15T08:00:00Z",
    }
    return Identifier(key=key, **(defaults | fields))


def change(key: str, *, words: str = "words", reverse: tuple[tuple[str, str], ...] = (), **fields: Any) -> Change:
    """Build a new name, at its first version."""
    row = identifier(key, **fields)
    return Change(row, (Revision(1, AT, "jan", "mint", row.record),), words, reverse)


def revise(key: str, version: int, record: bytes, **fields: Any) -> Change:
    """Build the next version of a name."""
    options = {name: fields.pop(name) for name in ("words", "reverse", "reverse_before") if name in fields}
    row = identifier(key, version=version, record=record, **fields)
    return Change(row, (Revision(version, AT, "jan", "set", record, "a note"),), **({"words": "words"} | options))


class Desk:
    """A store with synchronous calls."""

    def __init__(self, runner: asyncio.Runner, store: Store) -> None:
        self.runner, self.store = runner, store

    def write(self, work: Callable[[Transaction], T]) -> T:
        async def writing() -> T:
            return await self.store.write(work)

        return self.runner.run(writing())

    def read(self, work: Callable[[Reader], T]) -> T:
        async def reading() -> T:
            return await self.store.read(work)

        return self.runner.run(reading())

    def lookup(self, key: str) -> Identifier | None:
        async def look_up() -> Identifier | None:
            return await self.store.lookup(key)

        return self.runner.run(look_up())

    def insert(self, *changes: Change) -> None:
        self.write(lambda tx: tx.insert(changes))

    def update(self, *changes: Change) -> None:
        self.write(lambda tx: tx.update(changes))

    def names(self) -> list[str]:
        return [row.key for row in self.read(lambda reader: reader.identifiers_after("", 10_000))]

    def contradictions(self) -> list[str]:
        return self.read(lambda reader: list(reader.contradictions()))
