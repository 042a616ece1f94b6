"""Harvesting: every identifier once, in the order of its newest change, for services that copy descriptions.

A change may become visible some time after its number: a transaction may take that long. So its date is this time
later than its number, and a harvester that asks again from the date of an answer misses nothing.
"""

import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from perdure.errors import InvalidName, NoSuchName
from perdure.names import ibi, instant
from perdure.registry.entities import History, KeyChange, Scheme
from perdure.registry.holdings import Holding
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.identifier_view import View, is_hidden, newest_view
from perdure.registry.name_keys import label_prefix_key
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

SETTLING: Final = 90_000_000  # microseconds, longer than a store holds a change back
_MICROSECONDS: Final = 1_000_000
_CHUNK: Final = 500  # changes, in one query
_MOST_SCANNED: Final = 10_000  # changes, in one transaction
_PERSON_KIND: Final = 4  # characters of POID and PRID
_GONE: Final = frozenset({"withdrawn", "merged"})


class HarvestSelection(NamedTuple):
    """What is harvested: all, or one scheme, one prefix (by its key), or what a collection holds (empty: any)."""

    scheme: Scheme | None = None
    prefix: str | None = None
    collection: str | None = None


class HarvestedIdentifier(NamedTuple):
    """An identifier as everyone may see it, with the number of its newest change, its prefix and its holdings."""

    number: int
    view: View
    prefix: str
    holdings: tuple[Holding, ...]

    @property
    def is_deleted(self) -> bool:
        """Return whether only its name may be shown: it was withdrawn or merged, or is a person who is hidden."""
        return self.view.state in _GONE or is_hidden(self.view.scheme, self.view)

    @property
    def date(self) -> str:
        """Return the date of its newest change, for harvesters."""
        return change_date(self.number)


class HarvestPage(NamedTuple):
    """A page, and the number after which the next one begins; None after the last."""

    identifiers: list[HarvestedIdentifier]
    next: int | None


def change_date(number: int) -> str:
    """Return the date of a change for harvesters, to the second.

    >>> change_date(1736418600000001)
    '2025-01-09T10:31:30Z'
    """
    return instant.to_iso((number + SETTLING) // _MICROSECONDS)


def first_number_of(second: int) -> int:
    """Return the lowest number of a change that has the date of this second, since 1970."""
    return second * _MICROSECONDS - SETTLING


async def harvest_page(
    registry: Registry, selection: HarvestSelection, after: int, before: int | None, limit: int, patience: float
) -> HarvestPage:
    """Return the identifiers whose newest changes have a number after `after` and before `before`, in their order.

    After `patience`, in seconds, the page ends as it is, even if it is empty.
    """
    deadline = time.monotonic() + patience
    found: list[KeyChange] = []
    position: int | None = after
    while position is not None and not found:
        start = position

        def work(reader: Reader, start: int = start) -> tuple[list[KeyChange], int | None, list[HarvestedIdentifier]]:
            changes, onward = _scan(reader, selection, start, before, limit)
            return changes, onward, list(_read_identifiers(registry, reader, changes))

        found, position, identifiers = await registry.store.scan(work)
        if found or position is None or time.monotonic() > deadline:
            return HarvestPage(identifiers, position)
    return HarvestPage([], None)


async def harvest_one(registry: Registry, name: str) -> HarvestedIdentifier:
    """Return one identifier by any of its names. Raise NoSuchName if it is not registered, or reserved."""

    def work(reader: Reader) -> HarvestedIdentifier:
        row = require_identifier(reader, name)[0]
        stored = reader.newest_histories_of([row.subject]).get(row.subject)
        if stored is None or not stored.revisions or stored.identifier.state == "reserved":
            raise NoSuchName(name)
        newest = stored.revisions[-1]
        near = instant.from_iso(newest.at, "harvest", "at") * _MICROSECONDS
        number = reader.change_number(row.subject, newest.version, near.numerator // near.denominator)
        if number is None:
            raise NoSuchName(name)
        return _build(registry, reader, stored, number, tuple(reader.holdings(row.subject)))

    return await registry.store.scan(work)


async def earliest_date(registry: Registry) -> str:
    """Return the date of the first change."""

    def work(reader: Reader) -> int:
        first = reader.key_changes(0, 1)
        return first[0].number if first else 0

    return change_date(await registry.store.read(work))


def _scan(
    reader: Reader, selection: HarvestSelection, after: int, before: int | None, limit: int
) -> tuple[list[KeyChange], int | None]:
    """Return up to `limit` newest changes that match, and the number of the last one read; None if none follows.

    Changes with the same number stay together.
    """
    found: list[KeyChange] = []
    last, scanned = after, 0
    beginnings = _beginnings(reader, selection)
    while scanned < _MOST_SCANNED:
        chunk = reader.key_changes(last, _CHUNK)
        matching = _select(reader, selection, beginnings, chunk)
        for change in chunk:
            if before is not None and change.number >= before:
                return found, None
            if change.key not in matching or not change.is_newest:
                last = change.number
                continue
            if len(found) >= limit and change.number > last:
                return found, last
            found.append(change)
            last = change.number
        if len(chunk) < _CHUNK:
            return found, None
        scanned += len(chunk)
    return found, last


def _select(
    reader: Reader, selection: HarvestSelection, beginnings: tuple[str, ...], chunk: list[KeyChange]
) -> set[str]:
    """Return the keys that are harvested, of those that changed."""
    keys = {
        change.key
        for change in chunk
        if change.is_newest
        and change.state != "reserved"
        and selection.scheme in (None, change.scheme)
        and (not beginnings or change.key.startswith(beginnings))
    }
    if selection.collection is None or not keys:
        return keys
    held = reader.holdings_of(sorted(keys))
    wanted = selection.collection
    return {key for key, holdings in held.items() if not wanted or any(one.collection == wanted for one in holdings)}


def _beginnings(reader: Reader, selection: HarvestSelection) -> tuple[str, ...]:
    """Return how the keys of a prefix begin: under all its labels for a subsystem."""
    if selection.prefix is None:
        return ()
    if selection.scheme == "ppid":
        return (f"{selection.prefix}-",)
    prefix = reader.prefix(selection.prefix)
    labels = (selection.prefix,) if prefix is None else prefix.lookup_keys
    return tuple(f"{label}/" for label in labels)


def _read_identifiers(registry: Registry, reader: Reader, changes: list[KeyChange]) -> Iterator[HarvestedIdentifier]:
    keys = [change.key for change in changes]
    if not keys:
        return
    stored, held = reader.newest_histories_of(keys), reader.holdings_of(keys)
    for change in changes:
        history = stored.get(change.key)
        if history is not None and history.revisions:
            yield _build(registry, reader, history, change.number, tuple(held.get(change.key, ())))


def _build(
    registry: Registry, reader: Reader, stored: History, number: int, holdings: tuple[Holding, ...]
) -> HarvestedIdentifier:
    row = stored.identifier
    view = newest_view(registry, reader, stored, "", None)
    return HarvestedIdentifier(number, view, _prefix_key(reader, row.scheme, row.key), holdings)


def _prefix_key(reader: Reader, scheme: Scheme, key: str) -> str:
    """Return the key of the prefix of a name."""
    if scheme == "ppid":
        return key[:_PERSON_KIND]
    head = key.partition("/")[0]
    if scheme == "ibi":
        try:
            head = label_prefix_key(ibi.parse_any(ibi.split_document_type(key)[0]))
        except InvalidName:
            return head
    prefix = reader.prefix(head)
    return head if prefix is None else prefix.key
