"""Several locations in one value (type 10320/loc). The value is untrusted: any client may have written it."""

import math
from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.errors import PerdureError
from perdure.records.location_xml import LOCATIONS, read_addresses, read_list
from perdure.records.validation import Limits, check_target
from perdure.records.value import Value

BY_ATTRIBUTE: Final = "locatt"
BY_COUNTRY: Final = "country"
BY_WEIGHT: Final = "weighted"
ROLE: Final = "http_role"
_USUAL: Final = (BY_ATTRIBUTE, BY_COUNTRY, BY_WEIGHT)
_STATUSES: Final = {"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}


class Location(msgspec.Struct, frozen=True):
    """One location with its attributes."""

    href: str
    attributes: dict[str, str]

    @property
    def status(self) -> int:
        return _STATUSES.get(self.attributes.get("http_sc", ""), 302)

    @property
    def media_type(self) -> str:
        """Return the media type (`media-type`, or `ctype`) without its parameters, or an empty text."""
        attribute = self.attributes.get("media-type") or self.attributes.get("ctype", "")
        return attribute.partition(";")[0].strip().lower()

    @property
    def language(self) -> str:
        """Return the language, such as `en` or `pt-br`, in lower case, or an empty text."""
        return self.attributes.get("language", "").lower()

    @property
    def weight(self) -> float:
        """Return the weight, or 1 if it is missing or invalid."""
        try:
            weight = float(self.attributes.get("weight", "1"))
        except ValueError:
            return 1.0
        return max(0.0, weight) if math.isfinite(weight) else 1.0


class Locations(msgspec.Struct, frozen=True):
    """The locations of one value, and the methods to choose between them."""

    chooseby: tuple[str, ...]
    all: tuple[Location, ...]

    @property
    def has_negotiated_locations(self) -> bool:
        """Return whether a location is meant for clients that negotiate content."""
        return BY_ATTRIBUTE in self.chooseby and any(each.attributes.get(ROLE) == "conneg" for each in self.all)

    @property
    def media_types(self) -> tuple[str, ...]:
        """Return the media types of the locations."""
        types = dict.fromkeys(each.media_type for each in self.all if each.media_type)
        return tuple(types) if BY_ATTRIBUTE in self.chooseby else ()

    @property
    def has_languages(self) -> bool:
        """Return whether there are locations for readers of certain languages."""
        return BY_ATTRIBUTE in self.chooseby and any(each.language for each in self.all)


def public_location_urls(values: Iterable[Value], limits: Limits) -> tuple[str, ...]:
    """Return all locations of the first public list. A reader is redirected to one of these, and no other."""
    for value in values:
        locations = read_locations(value, limits) if value.is_public else None
        if locations is not None:
            return tuple(dict.fromkeys(location.href for location in locations.all))
    return ()


def read_locations(value: Value, limits: Limits) -> Locations | None:
    """Return the locations of a value without invalid targets, or None if there are none."""
    root = read_list(value.text or "") if value.kind == LOCATIONS else None
    if root is None:
        return None
    found = []
    for href, attributes in read_addresses(root):
        try:
            check_target(href, limits, allows_blanks=True)
        except PerdureError:
            continue
        found.append(Location(href, {name: text.strip() for name, text in attributes.items() if name != "href"}))
    methods = tuple(method.strip() for method in root.attrib.get("chooseby", "").split(",") if method.strip())
    return Locations(methods or _USUAL, tuple(found)) if found else None
