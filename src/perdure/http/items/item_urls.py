"""The public addresses of items and of their files."""

from perdure.http.items.item_address import ITEMS_ROOT
from perdure.names import handle
from perdure.registry.holdings import Collection


def item_url(origin: str, collection: Collection, label: str) -> str:
    """Return the address of an item: at the address of its collection, or below that of this server."""
    base = collection.url or f"{origin}{ITEMS_ROOT}/{handle.escape(collection.name)}"
    return f"{base}/{handle.escape(label)}/"


def file_url(item: str, path: str, version: int | None = None) -> str:
    """Return the address of a file of an item, in its newest version or in another one."""
    address = item + handle.escape(path)
    return address if version is None else f"{address}?version={version}"


def description_url(item: str, ending: str) -> str:
    """Return the address of a description of an item, or of its zip file."""
    return f"{item.removesuffix('/')}.{ending}"
