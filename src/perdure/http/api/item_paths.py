"""Paths of stored items and uploads in the API."""

from typing import Final

from perdure.http.api.request_context import decode_name
from perdure.http.items.item_address import parse_item_address
from perdure.http.shared.http_errors import NotFound

ITEMS: Final = "/items"
COLLECTION: Final = f"{ITEMS}/{{collection}}"
ITEM_FILE: Final = f"{COLLECTION}/{{label}}/{{path}}"


def is_item_path(template: str) -> bool:
    """Return whether a path template is one of `match_item_path`."""
    return template.startswith(f"{ITEMS}/")


def match_item_path(below: str) -> str | None:
    """Return the path template of a collection or of a file of an item; None for another path."""
    match below.split("/"):
        case ["", "items", collection] if collection:
            return COLLECTION
        case ["", "items", collection, _, *_] if collection:
            return ITEM_FILE
    return None


def path_parameters(template: str, below: str) -> dict[str, str]:
    """Return the parameters of a path, decoded."""
    if template == ITEM_FILE:
        address = parse_item_address(below.removeprefix(ITEMS))
        for reading in address.readings:
            if reading.path:
                return {"collection": address.collection, "label": reading.label, "path": reading.path}
        raise NotFound()
    pairs = zip(template.split("/"), below.split("/"), strict=True)
    return {name[1:-1]: decode_name(text) for name, text in pairs if name.startswith("{")}
