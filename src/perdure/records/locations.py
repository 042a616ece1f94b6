"""Several locations in one value (type 10320/loc): read with care, for anybody may have written them."""

import math
from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.errors import PerdureError
from perdure.records.checks import Limits, check_target
from perdure.records.location_xml import LOCATIONS, read_addresses, read_list
from perdure.records.value import Value

BY_ATTRIBUTE: Final = "locatt"
BY_COUNTRY: Final = "country"
BY_WEIGHT: Final = "weighted"
ROLE: Final = "http_role"
_USUAL: Final = (BY_ATTRIBUTE, BY_COUNTRY, BY_WEIGHT)
_STATUSES: Final = {"301": 301, "302": 302, "303": 303, "307": 307, "308": 308}


class Location(msgspec.Struct, frozen=True):
    """One place, with everything that was said of it."""

    href: str
    attributes: dict[str, str]

    @property
    def status(self) -> int:
        return _STATUSES.get(self.attributes.get("http_sc", ""), 302)

    @property
    def media(self) -> str:
        """The form of what is there (`media-type`, or `ctype`), without its parameters; empty if nothing is said."""
        said = self.attributes.get("media-type") or self.attributes.get("ctype", "")
        return said.partition(";")[0].strip().lower()

    @property
    def language(self) -> str:
        """As `en` or `pt-BR`, in lower case; empty if nothing is said."""
        return self.attributes.get("language", "").lower()

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
        """Whether there is a place for clients that ask for a certain form, whichever."""
        return BY_ATTRIBUTE in self.chooseby and any(one.attributes.get(ROLE) == "conneg" for one in self.all)

    @property
    def medias(self) -> tuple[str, ...]:
        """The forms that there are places for."""
        found = dict.fromkeys(one.media for one in self.all if one.media)
        return tuple(found) if BY_ATTRIBUTE in self.chooseby else ()

    @property
    def speak(self) -> bool:
        """Whether there are places for readers of certain languages."""
        return BY_ATTRIBUTE in self.chooseby and any(one.language for one in self.all)


def places(values: Iterable[Value], limits: Limits) -> tuple[str, ...]:
    """All places of the first list that everybody may read: one of these is where a reader is sent, and no other."""
    for value in values:
        found = read_locations(value, limits) if value.is_public else None
        if found is not None:
            return tuple(dict.fromkeys(one.href for one in found.all))
    return ()


def read_locations(value: Value, limits: Limits) -> Locations | None:
    """The locations that a value holds, those that nobody may be sent to left out; None if it holds none."""
    root = read_list(value.text or "") if value.kind == LOCATIONS else None
    if root is None:
        return None
    found = []
    for href, attributes in read_addresses(root):
        try:
            check_target(href, limits)
        except PerdureError:
            continue
        found.append(Location(href, {name: said.strip() for name, said in attributes.items() if name != "href"}))
    methods = tuple(method.strip() for method in root.attrib.get("chooseby", "").split(",") if method.strip())
    return Locations(methods or _USUAL, tuple(found)) if found else None
