"""Redirects to stored items: from a label to the page of its item, and from a label and a path to a file."""

from perdure.collections.held_items import HeldItem, find_item
from perdure.errors import InvalidInput, InvalidName, NoSuchName
from perdure.http.app_context import AppContext
from perdure.http.items.item_address import read_label
from perdure.http.items.item_urls import item_url
from perdure.http.shared.request import Request
from perdure.names import handle
from perdure.registry.store_interface import Reader


async def find_item_address(app: AppContext, request: Request, name: str) -> str | None:
    """Return the address of the item with a name; None if no collection holds it."""
    origin = request.origin
    return await app.registry.store.read(lambda reader: _find_address(reader, origin, name))


async def find_file_address(app: AppContext, request: Request, text: str) -> str | None:
    """Return the address of a file, from the label of its item and its path; None if this is no such text.

    The item itself says whether it has this file.
    """
    readings = [reading for reading in read_label(text) if reading.path is not None]
    if not readings:
        return None
    origin = request.origin

    def work(reader: Reader) -> str | None:
        for reading in readings:
            item = _find_address(reader, origin, reading.label)
            if item is not None:
                return f"{item.removesuffix('/')}/{handle.escape(reading.path or '')}"
        return None

    return await app.registry.store.read(work)


def _find_address(reader: Reader, origin: str, name: str) -> str | None:
    """Return the address of the original; of a copy, if the original is not here."""
    try:
        item: HeldItem = find_item(reader, name)
    except (InvalidInput, InvalidName, NoSuchName):
        return None
    if not item.holdings:
        return None
    best = item.original or item.holdings[0]
    collection = reader.collection(best.collection)
    return None if collection is None else item_url(origin, collection, best.label)
