"""The public addresses of items, as this server writes them into its responses."""

from perdure.collections.addresses import default_address, item_address
from perdure.registry.holdings import Collection


def item_url(origin: str, collection: Collection, label: str) -> str:
    """Return the address of an item: at the address of its collection, or below that of this server."""
    if collection.url is None:
        collection = Collection(
            collection.name, collection.path, default_address(origin, collection.name), collection.created
        )
    return item_address(collection, label)


def description_url(item: str, ending: str) -> str:
    """Return the address of a description of an item, or of its zip file."""
    return f"{item.removesuffix('/')}.{ending}"
