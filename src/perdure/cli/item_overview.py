"""What the commands show of stored items: the same for a registry in a folder and for one on a server."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from perdure.cli.terminal import print_error
from perdure.collections import collection_admin
from perdure.collections.addresses import item_address
from perdure.collections.held_items import HeldItem, find_item, require_known_collection
from perdure.collections.item import Agent, ItemFile, StoredItem
from perdure.collections.item_records import require_known_item
from perdure.collections.storage_root import StorageRoot
from perdure.errors import NoSuchVersion, PerdureError
from perdure.registry import Registry
from perdure.registry.holdings import Collection, Holding, Role
from perdure.registry.store_interface import Reader

_CHUNK: Final = 1000


class CollectionEntry(NamedTuple):
    """A collection in the list of all. A server shows neither its directory nor the result of its checks."""

    name: str
    items: int
    originals: int
    size: int
    problems: int | None
    directory: str | None
    url: str | None
    fields: dict[str, Any]


class ItemEntry(NamedTuple):
    """An item in the list of a collection. `outcome` is that of the last check; a server does not show it."""

    label: str
    role: Role
    version: int
    files: int
    size: int
    outcome: str | None
    verified_at: str | None
    fields: dict[str, Any]


class HoldingOverview(NamedTuple):
    """One place that holds an item. `checked` is None if a server does not show when it was checked."""

    place: str
    role: Role
    role_since: str
    version: int
    files: int
    size: int
    address: str | None
    main_file: str | None
    put_at: str
    source: str
    checked: str | None
    fields: dict[str, Any]


class VersionOverview(NamedTuple):
    """A version of an item. Its files may be read from the disk only when they are listed."""

    number: int
    created: str
    agent: Agent | None
    message: str
    file_count: int
    list_files: Callable[[], Sequence[ItemFile]]


class ItemOverview(NamedTuple):
    """An item with the collections that hold it, and its versions, the newest first; none if they cannot be read."""

    label: str
    name: str
    holdings: Sequence[HoldingOverview]
    versions: Sequence[VersionOverview]

    def list_files(self, number: int | None) -> Sequence[ItemFile] | None:
        """Return the files of a version, of the newest without a number; None if no version can be read."""
        if not self.versions:
            return None
        wanted = self.versions[0].number if number is None else number
        for one in self.versions:
            if one.number == wanted:
                return one.list_files()
        raise NoSuchVersion(self.label, wanted)


async def list_collections(registry: Registry) -> list[CollectionEntry]:
    """Return all collections, and the other servers that have originals of items."""
    return [
        CollectionEntry(
            name=one.collection.name,
            items=one.totals.items,
            originals=one.totals.originals,
            size=one.totals.size,
            problems=one.totals.problems,
            directory="(another server)" if one.collection.is_elsewhere else one.collection.path,
            url=one.collection.url,
            fields=msgspec.to_builtins(one.collection) | one.totals._asdict(),
        )
        for one in await collection_admin.list_collections(registry)
    ]


async def list_items(registry: Registry, collection: str, *, only_problems: bool) -> AsyncIterator[list[ItemEntry]]:
    """Yield the items of a collection. `only_problems` leaves out those that were valid at the last check."""
    name = (await collection_admin.find_collection(registry, collection)).collection.name
    key = ""
    while holdings := await registry.store.scan(
        lambda reader, key=key: reader.holdings_after(name, key, _CHUNK)  # type: ignore[misc]
    ):
        yield [_list_entry(one) for one in holdings if not only_problems or one.outcome not in (None, "valid")]
        key = holdings[-1].subject


async def show_item(registry: Registry, name: str) -> ItemOverview:
    """Return an item, with its versions from the first collection where they can be read."""

    def work(reader: Reader) -> tuple[HeldItem, dict[str, Collection]]:
        item = require_known_item(find_item(reader, name))
        return item, {one.collection: require_known_collection(reader, one.collection) for one in item.holdings}

    item, collections = await registry.store.read(work)
    stored = _read_stored(item, collections)
    return ItemOverview(
        label=item.label,
        name=item.name,
        holdings=[_describe_holding(one, collections[one.collection]) for one in item.holdings],
        versions=() if stored is None else _describe_versions(stored),
    )


def _list_entry(one: Holding) -> ItemEntry:
    return ItemEntry(
        one.label, one.role, one.version, one.files, one.size, one.outcome, one.verified_at, msgspec.to_builtins(one)
    )


def _describe_holding(one: Holding, collection: Collection) -> HoldingOverview:
    address = None if collection.url is None else item_address(collection, one.label)
    return HoldingOverview(
        place=(collection.url or "") if one.is_elsewhere else one.collection,
        role=one.role,
        role_since=one.role_since,
        version=one.version,
        files=one.files,
        size=one.size,
        address=address,
        main_file=one.main_file,
        put_at=one.put_at,
        source=one.source,
        checked=f"{one.outcome} at {one.verified_at[:19]}Z" if one.verified_at else "not yet",
        fields=msgspec.to_builtins(one) | {"url": address},
    )


def _read_stored(item: HeldItem, collections: dict[str, Collection]) -> StoredItem | None:
    problem: PerdureError | None = None
    for one in item.holdings:
        if not one.is_elsewhere:
            try:
                return StorageRoot.open(collections[one.collection].path).read_item(one.label)
            except PerdureError as found:
                problem = problem or found
    if problem is not None:
        print_error(f"the versions cannot be shown: {problem}")
    return None


def _describe_versions(stored: StoredItem) -> list[VersionOverview]:
    return [
        VersionOverview(
            number=one.number,
            created=f"{one.created:%Y-%m-%dT%H:%M:%SZ}",
            agent=one.agent,
            message=one.message,
            file_count=len(one.inventory.list_files(one.number)),
            list_files=lambda one=one: list(one.files.values()),  # type: ignore[misc]
        )
        for one in stored.versions
    ]
