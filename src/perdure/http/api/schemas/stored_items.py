"""Response schemas of stored items."""

from typing import Annotated

import msgspec
from msgspec import Meta


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


ITEM_RESPONSE_SCHEMAS = (StoredItemResponse,)
