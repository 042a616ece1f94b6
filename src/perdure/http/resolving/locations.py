"""Several locations in one value (type 10320/loc): read with care, for anybody may have written them, and chosen from.

The methods of `chooseby` are applied in their order. Each narrows what the one before it left; one that would leave
nothing is passed over. Where nobody said which country a reader is in, none is assumed.
"""

import math
import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.errors import PerdureError
from perdure.records.checks import Limits, check_target
from perdure.records.value import Value

LOCATIONS: Final = "10320/LOC"
_LARGEST: Final = 65_536  # characters
_MOST: Final = 1_000
_BY_ATTRIBUTE: Final = "locatt"
_USUAL: Final = (_BY_ATTRIBUTE, "country", "weighted")
_STATUSES: Final = {"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}
_COUNTRY: Final = "country"
_ROLE: Final = "http_role"
_random: Final = random.SystemRandom()


class Location(msgspec.Struct, frozen=True):
    """One place, with everything that was said of it."""

    href: str
    attributes: dict[str, str]

    @property
    def status(self) -> int:
        return _STATUSES.get(self.attributes.get("http_sc", ""), 302)

    @property
    def weight(self) -> float:
        """1 where nothing sensible is said."""
        try:
            weight = float(self.attributes.get("weight", "1"))
        except ValueError:
            return 1.0
        return max(0.0, weight) if math.isfinite(weight) else 1.0


class Locations(msgspec.Struct, frozen=True):
    chooseby: tuple[str, ...]
    all: tuple[Location, ...]

    @property
    def serve_forms(self) -> bool:
        """Whether there is a place for clients that ask for a certain form."""
        return _BY_ATTRIBUTE in self.chooseby and any(one.attributes.get(_ROLE) == "conneg" for one in self.all)


class Chooser(msgspec.Struct, frozen=True):
    """Who has to be served: the attributes asked for, and what a client's headers make of it."""

    attributes: tuple[tuple[str, str], ...]
    roles: frozenset[str]

    def choose(self, locations: Locations) -> Location | None:
        remaining: Sequence[Location] = locations.all
        for method in locations.chooseby:
            if method == _BY_ATTRIBUTE:
                remaining = self._with_attributes(remaining)
            elif method == _COUNTRY:
                remaining = self._in_country(remaining)
            elif method == "weighted":
                break
        return _weighted(remaining)

    def _with_attributes(self, remaining: Sequence[Location]) -> Sequence[Location]:
        asked = [one for one in remaining if all(one.attributes.get(name) == value for name, value in self.attributes)]
        if self.attributes and asked:
            return asked  # named outright, so the client's headers do not matter
        suited = [one for one in remaining if one.attributes.get(_ROLE) in self.roles]
        return suited or [one for one in remaining if _ROLE not in one.attributes] or remaining

    def _in_country(self, remaining: Sequence[Location]) -> Sequence[Location]:
        wanted = {value.lower() for name, value in self.attributes if name == _COUNTRY}
        there = [one for one in remaining if one.attributes.get(_COUNTRY, "").lower() in wanted]
        return there or [one for one in remaining if not one.attributes.get(_COUNTRY)] or remaining


def _weighted(remaining: Sequence[Location]) -> Location | None:
    """By chance. A weight of 0 keeps a location out of it, as long as there are others."""
    if not remaining:
        return None
    weights = [one.weight for one in remaining]
    return _random.choices(remaining, weights if any(weights) else None)[0]


def read_locations(value: Value, limits: Limits) -> Locations | None:
    """The locations that a value holds, those that nobody may be sent to left out; None if it holds none."""
    text = value.text
    if value.kind != LOCATIONS or text is None or len(text) > _LARGEST or "<!DOCTYPE" in text:
        return None  # a document type could define entities that grow without bound, or that are files of this machine
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  (there are no entities in it)
    except (ElementTree.ParseError, ValueError):
        return None
    found = []
    for element in root.findall("location")[:_MOST]:
        href = element.attrib.get("href", "").strip()
        try:
            check_target(href, limits)
        except PerdureError:
            continue
        found.append(Location(href, {name: said.strip() for name, said in element.attrib.items() if name != "href"}))
    methods = tuple(method.strip() for method in root.attrib.get("chooseby", "").split(",") if method.strip())
    return Locations(methods or _USUAL, tuple(found)) if root.tag == "locations" and found else None


def written(locations: Sequence[Location]) -> bytes:
    """The list as XML."""
    root = ElementTree.Element("locations")
    for one in locations:
        ElementTree.SubElement(root, "location", {"href": one.href, **one.attributes})
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text
