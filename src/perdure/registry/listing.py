"""Lists of the identifiers of a prefix or of the whole registry, in the order of their keys."""

from collections.abc import AsyncIterator
from typing import Final, NamedTuple

from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.target import first_url
from perdure.records.validation import check_storable
from perdure.registry.entities import Agent, History, Identifier
from perdure.registry.identifier_query import EVERYTHING, LISTING_ACTIONS, IdentifierQuery, Selection
from perdure.registry.key_ranges import read_ranges
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_CHUNK: Final = 1000
MOST_SCANNED: Final = 10_000  # names, for one page


class HistoryPage(NamedTuple):
    """A page of identifiers with their newest revisions; `next` is as in IdentifierPage."""

    histories: list[History]
    next: str | None


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
            rows = read_ranges(reader.identifiers_after, after, limit + 1, selection.beginnings)
            return IdentifierPage(rows[:limit], rows[limit - 1].key if len(rows) > limit else None)
        page = _scan_page(reader, selection, after, limit)
        return IdentifierPage([stored.identifier for stored in page.histories], page.next)

    return await registry.store.scan(work)


class ListedIdentifier(NamedTuple):
    """What a list shows of an identifier."""

    name: str
    scheme: str
    state: str
    version: int
    created: str | None
    changed: str | None
    creator: str | None
    owners: tuple[str, ...]
    target: str | None


def describe_identifier(stored: History) -> ListedIdentifier:
    """Return what a list shows of an identifier, from its newest revision."""
    row, record = stored.identifier, records.decode(stored.identifier.record)
    changed = to_seconds(stored.revisions[-1].at) if stored.revisions else None
    target = first_url(record) if row.state == "active" else None
    cells = (row.name, row.scheme, row.state, row.version, row.created, changed)
    return ListedIdentifier(*cells, record.creator, record.owners, target)


async def list_histories(
    registry: Registry, by: Agent, query: IdentifierQuery, *, after: str = "", limit: int = 100
) -> HistoryPage:
    """List the identifiers after `after` as `list_identifiers` does, each with its newest revision."""
    check_storable(after, "after")

    def work(reader: Reader) -> HistoryPage:
        selection = Selection(reader, by, query, registry.current_time(), LISTING_ACTIONS)
        return _scan_page(reader, selection, after, limit)

    return await registry.store.scan(work)


def _scan_page(reader: Reader, selection: Selection, after: str, limit: int) -> HistoryPage:
    page: list[History] = []
    key, scanned = after, 0
    while scanned < MOST_SCANNED:
        chunk = read_ranges(reader.newest_histories, key, _CHUNK, selection.beginnings)
        for stored in chunk:
            if selection.includes(stored):
                if len(page) == limit:
                    return HistoryPage(page, key)
                page.append(stored)
            key = stored.identifier.key
        scanned += len(chunk)
        if len(chunk) < _CHUNK:
            return HistoryPage(page, None)
    return HistoryPage(page, key)


async def select_identifiers(
    registry: Registry, by: Agent, query: IdentifierQuery = EVERYTHING
) -> AsyncIterator[list[History]]:
    """Yield all identifiers that a query selects, each with its newest revision, in chunks and in constant memory."""
    key: str | None = ""
    while key is not None:

        def work(reader: Reader, key: str = key) -> tuple[list[History], str | None]:
            selection = Selection(reader, by, query, registry.current_time(), LISTING_ACTIONS)
            chunk = read_ranges(reader.newest_histories, key, _CHUNK, selection.beginnings)
            found = [stored for stored in chunk if selection.includes(stored)]
            return found, chunk[-1].identifier.key if len(chunk) == _CHUNK else None

        found, key = await registry.store.scan(work)
        if found:
            yield found
