"""What a server says of its stored items: which collections have one, and its versions with their files."""

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timezone
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import Meta

from perdure.cli.item_overview import CollectionEntry, HoldingOverview, ItemEntry, ItemOverview, VersionOverview
from perdure.cli.remote.api_client import ServerFailed
from perdure.cli.remote.remote_registry import PAGE, RemoteRegistry, path_to
from perdure.collections.held_items import choose_label
from perdure.collections.item import Agent, ItemFile
from perdure.collections.item_client import RemoteAgent
from perdure.errors import InvalidInput, NoSuchItem, NoSuchPrefix, NoSuchVersion, PerdureError
from perdure.names import handle
from perdure.registry.holdings import Role

_LOCAL_ONLY: Final = "works on the machine of the registry only"
_STATEMENT: Final = "/.well-known/perdure/item"

_Count = Annotated[int, Meta(ge=0)]
_Number = Annotated[int, Meta(ge=1)]


class RemoteFile(msgspec.Struct, frozen=True):
    """A file of a version. The size is -1 if the server has lost it."""

    path: str
    size: int
    sha512: Annotated[str, Meta(pattern=r"^[0-9a-f]{128}$")]
    media_type: str


class RemoteVersion(msgspec.Struct, frozen=True):
    """A version of an item, with its files."""

    version: _Number
    created: str
    message: str
    files: tuple[RemoteFile, ...]
    agent: RemoteAgent | None = None

    @property
    def size(self) -> int:
        return sum(one.size for one in self.files)


class _OtherHolding(msgspec.Struct, frozen=True):
    collection: str


class ItemDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An item in one collection of the server, with all its versions, the newest first."""

    label: str
    names: tuple[str, ...]
    url: str
    collection: str
    role: Role
    role_since: str
    put_at: str
    source: str
    digest: str
    main_file: str | None
    other_holdings: tuple[_OtherHolding, ...] = ()
    versions: Annotated[tuple[RemoteVersion, ...], Meta(min_length=1)]

    @property
    def newest(self) -> RemoteVersion:
        return max(self.versions, key=lambda one: one.version)

    def version(self, number: int | None) -> RemoteVersion:
        """Return a version by its number; the newest without one. Raise NoSuchVersion if there is none."""
        if number is None:
            return self.newest
        for one in self.versions:
            if one.version == number:
                return one
        raise NoSuchVersion(self.label, number)

    def holding_fields(self) -> dict[str, Any]:
        """Return the JSON object of what the collection holds."""
        newest = self.newest
        return {
            "collection": self.collection,
            "label": self.label,
            "role": self.role,
            "role_since": self.role_since,
            "version": newest.version,
            "files": len(newest.files),
            "size": newest.size,
            "digest": self.digest,
            "main_file": self.main_file,
            "put_at": self.put_at,
            "source": self.source,
            "url": self.url,
        }


class HeldItem(NamedTuple):
    """An item on the server: its label, and the names of the collections that have it, that of the original first."""

    label: str
    collections: tuple[str, ...]


class _StoredCopy(msgspec.Struct, frozen=True):
    collection: str
    state: Role


class _ItemStatement(msgspec.Struct, frozen=True):
    stored: tuple[_StoredCopy, ...] = ()
    owner: bool = False


class _KnownName(msgspec.Struct, frozen=True):
    name: str


class _ListedItem(msgspec.Struct, frozen=True):
    label: str
    url: str
    role: Role
    version: _Number
    files: _Count
    size: _Count
    digest: str
    original: str | None = None


class _Collection(msgspec.Struct, frozen=True):
    name: str
    url: str
    created: str
    items: _Count
    originals: _Count
    files: _Count
    size: _Count


class _CollectionList(msgspec.Struct, frozen=True):
    collections: tuple[_Collection, ...]


class _ListPage(msgspec.Struct, frozen=True):
    items: tuple[_ListedItem, ...]
    next: str | None = None


async def list_collections(remote: RemoteRegistry) -> list[CollectionEntry]:
    """Return all collections of the server, without their directories and without the results of checks."""
    return [
        CollectionEntry(
            name=one.name,
            items=one.items,
            originals=one.originals,
            size=one.size,
            problems=None,
            directory=None,
            url=one.url,
            fields=msgspec.structs.asdict(one),
        )
        for one in remote.get("/collections", _CollectionList).collections
    ]


async def list_items(remote: RemoteRegistry, collection: str, *, only_problems: bool) -> AsyncIterator[list[ItemEntry]]:
    """Yield the items of a collection. A server does not show which items were damaged at the last check."""
    if only_problems:
        raise InvalidInput("collection", "problems", f"--problems {_LOCAL_ONLY}: leave it out")
    for page in remote.pages(f"{path_to('collections', collection)}/items", _ListPage, limit=PAGE):
        yield [
            ItemEntry(
                label=one.label,
                role=one.role,
                version=one.version,
                files=one.files,
                size=one.size,
                outcome=None,
                verified_at=None,
                fields={"collection": collection, **msgspec.structs.asdict(one)},
            )
            for one in page.items
        ]


async def show_item(remote: RemoteRegistry, name: str) -> ItemOverview:
    """Return an item with the collections of the server that have it. They show their versions to everyone."""
    documents = list(describe_item(remote, find_item(remote, name)))
    first = documents[0]
    return ItemOverview(
        label=first.label,
        name=first.names[0] if first.names else first.label,
        holdings=[_describe_holding(one) for one in documents],
        versions=[_describe_version(remote, one) for one in sorted(first.versions, key=_number, reverse=True)],
    )


def find_item(remote: RemoteRegistry, name: str) -> HeldItem:
    """Return the collections that have an item, by a name in any form. Raise NoSuchItem if there is none."""
    item = look_up_item(remote, name)
    if not item.collections:
        raise NoSuchItem(item.label)
    return item


def look_up_item(remote: RemoteRegistry, name: str) -> HeldItem:
    """Return the collections that have an item without damage; none for an identifier that has no files yet."""
    stated = remote.get_document(_STATEMENT, _ItemStatement, name=name)
    is_of_another_server = bool(stated.stored) and not stated.owner
    label = choose_label([name]) if is_of_another_server else _find_registered(remote, name)
    ordered = sorted(stated.stored, key=lambda one: one.state != "original")
    return HeldItem(label, tuple(one.collection for one in ordered))


def require_collection(remote: RemoteRegistry, name: str) -> None:
    """Raise NoSuchCollection if the server has no collection with this name."""
    remote.get(f"{path_to('collections', name)}/items", _ListPage, limit=1)


def _find_registered(remote: RemoteRegistry, name: str) -> str:
    """Return the name of an identifier, or raise the error of the server. What is not a label is refused first."""
    try:
        return remote.get(path_to("identifiers", name), _KnownName).name
    except NoSuchPrefix:
        choose_label([name])
        raise


def describe_in(remote: RemoteRegistry, collection: str, label: str) -> ItemDocument:
    """Read the description of an item in one collection."""
    return remote.get_document(item_path(collection, label), ItemDocument)


def describe_item(remote: RemoteRegistry, item: HeldItem) -> Iterator[ItemDocument]:
    """Read the description of an item in all collections that have it, also in those where it was damaged.

    A collection that cannot be read is left out. If none can be read, raise the first error.
    """
    waiting, known, problems, count = list(item.collections), set(item.collections), list[PerdureError](), 0
    while waiting:
        try:
            document = describe_in(remote, waiting.pop(0), item.label)
        except ServerFailed:
            raise
        except PerdureError as problem:
            problems.append(problem)
            continue
        count += 1
        yield document
        others = [one.collection for one in document.other_holdings if one.collection not in known]
        waiting += others
        known.update(others)
    if not count:
        raise problems[0]


def item_path(collection: str, label: str, file: str = "") -> str:
    """Return the path of an item, or of one of its files, on the server."""
    return f"/items/{handle.escape(collection)}/{handle.escape(label)}/{handle.escape(file)}"


def _number(one: RemoteVersion) -> int:
    return one.version


def _describe_holding(document: ItemDocument) -> HoldingOverview:
    newest = document.newest
    return HoldingOverview(
        place=document.collection,
        role=document.role,
        role_since=document.role_since,
        version=newest.version,
        files=len(newest.files),
        size=newest.size,
        address=document.url,
        main_file=document.main_file,
        put_at=document.put_at,
        source=document.source,
        checked=None,
        fields=document.holding_fields(),
    )


def _describe_version(remote: RemoteRegistry, one: RemoteVersion) -> VersionOverview:
    try:
        created = datetime.fromisoformat(one.created).astimezone(timezone.utc)
    except ValueError:
        reason = f"its response is not what this version of perdure expects (created: {one.created[:40]!r})"
        raise ServerFailed(remote.server.url, reason) from None
    return VersionOverview(
        number=one.version,
        created=f"{created:%Y-%m-%dT%H:%M:%SZ}",
        agent=None if one.agent is None else Agent(one.agent.name, one.agent.address),
        message=one.message,
        file_count=len(one.files),
        list_files=lambda: [ItemFile(file.path, file.size, file.sha512, file.media_type) for file in one.files],
    )
