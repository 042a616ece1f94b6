"""The address of a collection of another server."""

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from perdure.collections.addresses import ITEMS_PATH
from perdure.errors import InvalidInput, quote_text

_ITEMS: Final = f"/{ITEMS_PATH}/"


class CollectionAddress(NamedTuple):
    """A collection of another server: the URL of the server, and the name of the collection there."""

    server: str
    collection: str

    @property
    def url(self) -> str:
        return f"{self.server}{_ITEMS}{self.collection}"


def parse_collection_address(text: str) -> CollectionAddress | None:
    """Return the collection of another server with this address; None if the text is the name of a collection.

    >>> parse_collection_address("https://id.example.org/items/archive/").collection
    'archive'
    """
    if "://" not in text:
        return None
    server, found, name = text.rstrip("/").partition(_ITEMS)
    try:
        parts = urlsplit(server)
        is_address = bool(found and name and "/" not in name and parts.hostname) and parts.scheme in ("http", "https")
        is_address = is_address and parts.username is None and not (parts.query or parts.fragment)
    except ValueError:
        is_address = False
    if not is_address:
        reason = (
            f"{quote_text(text)} is not the address of a collection: write it as in https://id.example.org/items/NAME"
        )
        raise InvalidInput("collection", "from", reason)
    return CollectionAddress(server, name)
