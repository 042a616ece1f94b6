"""The change of a collection's address: the items that it concerns, and whether one is unfinished."""

from collections.abc import AsyncIterator
from typing import Final

from perdure.registry.bulk_changes.bulk_edits import BulkEdit
from perdure.registry.bulk_changes.sources import CHUNK, SourceChunk
from perdure.registry.entities import Agent, History
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

_FACT: Final = "collection address "


def pending_address(reader: Reader, name: str) -> str | None:
    """Return the old address of a collection, if some targets may still have it."""
    return reader.fact(_FACT + name) or None


def put_pending_address(tx: Transaction, name: str, url: str | None) -> None:
    """Store the old address of a collection, until no target has it any more."""
    tx.put_fact(_FACT + name, url or "")


class CollectionSource:
    """The identifiers of a bulk change: those whose original is in a collection, in the order of their keys."""

    def __init__(self, collection: str) -> None:
        self._collection = collection

    async def chunks(self, registry: Registry, by: Agent, edit: BulkEdit, after: str) -> AsyncIterator[SourceChunk]:
        key = after
        while True:

            def work(reader: Reader, key: str = key) -> SourceChunk | None:
                holdings = reader.holdings_after(self._collection, key, CHUNK)
                if not holdings:
                    return None
                keys = [one.subject for one in holdings if one.role == "original"]
                histories = list(reader.newest_histories_of(keys).values()) if keys else []
                concerned = [stored for stored in histories if edit.concerns(stored.identifier)]
                return SourceChunk(holdings[-1].subject, len(histories), concerned)

            chunk = await registry.store.scan(work)
            if chunk is None:
                return
            key = chunk.cursor
            yield chunk

    def select_again(self, registry: Registry, by: Agent, edit: BulkEdit, reader: Reader, stored: History) -> bool:
        return True
