"""Response schemas of stored items."""

from typing import Annotated

import msgspec
from msgspec import Meta

from perdure.registry.holdings import Role


class StoredItemResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The newest version of an item after files were stored in it."""

    label: Annotated[str, Meta(description="The label under which the item lies in the collection.")]
    collection: str
    version: int
    url: Annotated[str, Meta(description="The public address of the item.")]
    files: Annotated[int, Meta(description="The number of files of this version.")]
    size: Annotated[int, Meta(description="Their bytes together.")]
    digest: Annotated[str, Meta(description="The digest of the list of files.")]
    main_file: Annotated[str | None, Meta(description="The file to which the identifier leads; null: to the page.")]


class ListedItemResponse(msgspec.Struct, frozen=True, kw_only=True):
    """An item of a collection, in its newest version there."""

    label: str
    url: str
    role: Role
    version: int
    files: int
    size: int
    digest: Annotated[str, Meta(description="The digest of the list of files.")]
    original: Annotated[
        str | None, Meta(description="The identity of the server that has the original, if that is another one.")
    ]


class ItemListResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the items of a collection."""

    items: tuple[ListedItemResponse, ...]
    next: Annotated[str | None, Meta(description="The value of `after` for the next page; null: this is the last.")]


class CollectionResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A collection of items, in numbers."""

    name: str
    url: Annotated[str, Meta(description="The public address of the collection.")]
    created: str
    items: int
    originals: Annotated[int, Meta(description="The number of items whose original is in this collection.")]
    files: Annotated[int, Meta(description="The number of files of the newest versions.")]
    size: Annotated[int, Meta(description="Their bytes together.")]


class CollectionListResponse(msgspec.Struct, frozen=True, kw_only=True):
    """All collections of this server."""

    collections: tuple[CollectionResponse, ...]


ITEM_RESPONSE_SCHEMAS = (
    StoredItemResponse,
    ListedItemResponse,
    ItemListResponse,
    CollectionResponse,
    CollectionListResponse,
)
