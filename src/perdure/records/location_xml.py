"""Parser of the XML of a list of locations (type 10320/loc). It is untrusted: any client may have written it."""

import xml.etree.ElementTree as ElementTree
from typing import Final
from xml.etree.ElementTree import Element

LOCATIONS: Final = "10320/LOC"
_LARGEST: Final = 65_536  # characters
_MOST: Final = 1_000


def read_list(text: str) -> Element | None:
    """Return the root of a list, or None if the text is not a supported list."""
    if len(text) > _LARGEST or "<!DOCTYPE" in text:
        return None  # a document type could define entities that expand without limit, or that read local files
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  (there are no entities in it)
    except (ElementTree.ParseError, ValueError):
        return None
    return root if root.tag == "locations" else None


def read_addresses(root: Element) -> list[tuple[str, dict[str, str]]]:
    """Return the address and the attributes of each location, in their order."""
    locations = root.findall("location")[:_MOST]
    return [(location.attrib.get("href", "").strip(), location.attrib) for location in locations]
