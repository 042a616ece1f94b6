"""An item as JSON: where it lies, where it came from, and all its versions with their files."""

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Annotated

import msgspec
from msgspec import Meta

from perdure.collections.addresses import file_address
from perdure.collections.item import ItemVersion, StoredItem
from perdure.collections.label_path import canonical_label
from perdure.http.items.item_lookup import FoundItem
from perdure.http.items.item_urls import item_url
from perdure.records.record import About
from perdure.registry.holdings import Collection, Role
from perdure.registry.identifier_view import View


class FileDescription(msgspec.Struct, frozen=True):
    """A file of one version."""

    path: str
    size: int
    sha512: str
    media_type: str
    url: str


class AgentDescription(msgspec.Struct, frozen=True):
    """The agent that made a version."""

    name: str
    address: str | None


class VersionDescription(msgspec.Struct, frozen=True):
    """A version of an item. Its files keep their addresses when there are newer versions."""

    version: int
    created: str
    message: str
    agent: AgentDescription | None
    files: tuple[FileDescription, ...]


class HoldingDescription(msgspec.Struct, frozen=True):
    """Another collection of this server that holds the item."""

    collection: str
    role: Role
    version: int
    url: str


class ItemDocument(msgspec.Struct, frozen=True, kw_only=True):
    """An item in one collection."""

    label: Annotated[str, Meta(description="The label under which the item lies in the collection.")]
    names: Annotated[tuple[str, ...], Meta(description="All names of the item.")]
    identifier: Annotated[str, Meta(description="The URL to cite.")]
    url: str
    collection: str
    role: Annotated[Role, Meta(description="original or copy")]
    role_since: str
    put_at: str
    source: Annotated[str, Meta(description="Where the newest version came from.")]
    digest: Annotated[str, Meta(description="The digest of the list of files of the newest version.")]
    version: int
    main_file: str | None
    creator: Annotated[str | None, Meta(description="None if the identifier is registered at another server.")]
    owners: tuple[str, ...]
    about: About | None
    other_holdings: tuple[HoldingDescription, ...]
    versions: Annotated[tuple[VersionDescription, ...], Meta(description="The newest first.")]


def build_item_document(
    origin: str,
    found: FoundItem,
    item: StoredItem,
    view: View | None,
    identifier: str,
    collections: Mapping[str, Collection],
) -> ItemDocument:
    """Build the description of an item. It reads the size of every file from the disk."""
    holding = found.holding
    url = item_url(origin, found.collection, found.label)
    return ItemDocument(
        label=found.label,
        names=names_of(found, view),
        identifier=identifier,
        url=url,
        collection=holding.collection,
        role=holding.role,
        role_since=holding.role_since,
        put_at=holding.put_at,
        source=holding.source,
        digest=holding.digest,
        version=item.newest.number,
        main_file=holding.main_file,
        creator=None if view is None else view.authority.creator,
        owners=() if view is None else view.authority.owners,
        about=None if view is None else view.about,
        other_holdings=describe_other_holdings(origin, found, collections),
        versions=tuple(_describe_version(url, version) for version in item.versions),
    )


def names_of(found: FoundItem, view: View | None) -> tuple[str, ...]:
    """Return all names of an item."""
    if view is None:
        return tuple(dict.fromkeys([found.name, *map(canonical_label, found.holding.names)]))
    return view.names or (view.name,)


def format_time(instant: datetime) -> str:
    """Return an instant as text, in UTC.

    >>> format_time(datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc))
    '2026-01-02T03:04:05Z'
    """
    return instant.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"


def describe_other_holdings(
    origin: str, found: FoundItem, collections: Mapping[str, Collection]
) -> tuple[HoldingDescription, ...]:
    """Return the other collections that hold the item."""
    return tuple(
        HoldingDescription(
            one.collection, one.role, one.version, item_url(origin, collections[one.collection], one.label)
        )
        for one in found.others
        if one.collection in collections
    )


def _describe_version(url: str, version: ItemVersion) -> VersionDescription:
    files = tuple(
        FileDescription(
            path=file.path,
            size=file.size,
            sha512=file.sha512,
            media_type=file.media_type,
            url=file_address(url, file.path, version.number),
        )
        for file in version.files.values()
    )
    agent = None if version.agent is None else AgentDescription(*version.agent)
    return VersionDescription(version.number, format_time(version.created), version.message, agent, files)
