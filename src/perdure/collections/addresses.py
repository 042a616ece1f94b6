"""The public addresses of collections, of their items and of single files, to which identifiers point.

>>> main = Collection("main", "/srv/main", "https://id.example.org/items/main", "2026-02-10T12:00:00.000000Z")
>>> item_address(main, "sid.inpe.br/mtc-m18/2009/02.16.17.46")
'https://id.example.org/items/main/sid.inpe.br/mtc-m18/2009/02.16.17.46/'
>>> file_address(item_address(main, "8JMKD3MGP8W/34PGRBS"), "maps/a b.tif", 2)
'https://id.example.org/items/main/8JMKD3MGP8W/34PGRBS/maps/a%20b.tif?version=2'
>>> default_address("https://id.example.org", "main")
'https://id.example.org/items/main'
"""

from typing import Final
from urllib.parse import urlsplit

from perdure.errors import InvalidInput, quote_text
from perdure.names import handle
from perdure.records.validation import Limits, check_target
from perdure.registry.holdings import Collection

ITEMS_PATH: Final = "items"
_SCHEMES: Final = ("http", "https")


def default_address(public_url: str, name: str) -> str:
    """Return the address of a collection that the registry's own server serves."""
    if not public_url:
        reason = (
            "the items of a collection need a public address: set public_url in the settings of the registry, or give "
            "the address of the collection with --url"
        )
        raise InvalidInput("collection", "url", reason)
    return check_address(f"{public_url.rstrip('/')}/{ITEMS_PATH}/{name}")


def check_address(url: str) -> str:
    """Return the address of a collection without a slash at its end. Raise InvalidInput if it is not one."""
    text = check_target(url, Limits()).rstrip("/")
    try:
        parts = urlsplit(text)
        is_base = parts.scheme.lower() in _SCHEMES and bool(parts.hostname) and not (parts.query or parts.fragment)
        is_base = is_base and parts.username is None and "?" not in text and "#" not in text
    except ValueError:
        is_base = False
    if not is_base:
        reason = f"the address must be an http or https URL without query and fragment, not {quote_text(url)}"
        raise InvalidInput("collection", "url", reason)
    return text


def collection_address(collection: Collection) -> str:
    """Return the address of a collection."""
    if collection.url is None:
        reason = f"{collection.name} has no public address: give it one (perdure collection change --url)"
        raise InvalidInput("collection", "url", reason)
    return collection.url


def item_address(collection: Collection, label: str) -> str:
    """Return the address of an item. It ends with a slash: its files are below it.

    On another server, it is the URL of its resolver, so that the item can move there from one collection to another.
    """
    address = f"{collection_address(collection)}/{handle.escape(label)}"
    return address if collection.is_elsewhere else f"{address}/"


def file_address(item: str, path: str, version: int | None = None) -> str:
    """Return the address of a file of an item, in its newest version or in another one."""
    address = item + handle.escape(path)
    return address if version is None else f"{address}?version={version}"


def item_target(collection: Collection, label: str, main_file: str | None) -> str:
    """Return the address to which the identifier points: that of the main file, or of the item."""
    item = item_address(collection, label)
    return item if main_file is None or collection.is_elsewhere else file_address(item, main_file)
