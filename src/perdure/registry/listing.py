"""Lists of the identifiers of a prefix or of the whole registry, in the order of their keys."""

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from perdure.records.validation import check_storable
from perdure.registry.entities import Agent, History, Identifier
from perdure.registry.identifier_query import EVERYTHING, LISTING_ACTIONS, IdentifierQuery, Selection
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_CHUNK: Final = 1000
MOST_SCANNED: Final = 10_000  # names, for one page


class IdentifierPage(NamedTuple):
    """A page of identifiers, and the key after which the next page begins; None after the last page."""

    identifiers: list[Identifier]
    next: str | None


async def list_identifiers(
    registry: Registry,
    by: Agent,
    prefix: str | None = None,
    *,
    query: IdentifierQuery | None = None,
    after: str = "",
    limit: int = 100,
) -> IdentifierPage:
    """List the identifiers after `after`. Looking up one name needs no permission; listing needs `edit` or `admin`.

    With filters, a page ends after 10,000 names have been scanned: it may have fewer identifiers, or none, and `next`.
    """
    check_storable(after, "after")
    chosen = query or IdentifierQuery(prefix=prefix)

    def work(reader: Reader) -> IdentifierPage:
        selection = Selection(reader, by, chosen, registry.current_time(), LISTING_ACTIONS)
        if selection.is_everything:
            rows = reader.identifiers_after(after, limit + 1, selection.beginning)
            return IdentifierPage(rows[:limit], rows[limit - 1].key if len(rows) > limit else None)
        return _scan_page(reader, selection, after, limit)

    return await registry.store.scan(work)


def _scan_page(reader: Reader, selection: Selection, after: str, limit: int) -> IdentifierPage:
    page: list[Identifier] = []
    key, scanned = after, 0
    while scanned < MOST_SCANNED:
        chunk = reader.newest_histories(key, _CHUNK, selection.beginning)
        for stored in chunk:
            if selection.includes(stored):
                if len(page) == limit:
                    return IdentifierPage(page, key)
                page.append(stored.identifier)
            key = stored.identifier.key
        scanned += len(chunk)
        if len(chunk) < _CHUNK:
            return IdentifierPage(page, None)
    return IdentifierPage(page, key)


async def select_identifiers(
    registry: Registry, by: Agent, query: IdentifierQuery = EVERYTHING
) -> AsyncIterator[list[History]]:
    """Yield all identifiers that a query selects, each with its newest revision, in chunks and in constant memory."""
    key: str | None = ""
    while key is not None:

        def work(reader: Reader, key: str = key) -> tuple[list[History], str | None]:
            selection = Selection(reader, by, query, registry.current_time(), LISTING_ACTIONS)
            chunk = reader.newest_histories(key, _CHUNK, selection.beginning)
            found = [stored for stored in chunk if selection.includes(stored)]
            return found, chunk[-1].identifier.key if len(chunk) == _CHUNK else None

        found, key = await registry.store.scan(work)
        if found:
            yield found
