"""The choice of one of several locations (type 10320/loc) for a client.

The methods of `chooseby` are applied in their order. Each narrows the result of the one before; a method that would
leave nothing is skipped. If the client does not name its country, none is assumed.
"""

import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from perdure.http.shared.negotiation import Range, language_preference, media_preference
from perdure.records.locations import BY_ATTRIBUTE, BY_COUNTRY, BY_WEIGHT, ROLE, Location, Locations

_NO_PREFERENCE: Final = (0.0, 0, 0)
_random: Final = random.SystemRandom()


class LocationChooser(msgspec.Struct, frozen=True):
    """The attributes that a client requests, and the preferences in its headers."""

    attributes: tuple[tuple[str, str], ...]
    roles: frozenset[str]
    medias: tuple[Range, ...] = ()
    languages: tuple[Range, ...] = ()

    def choose(self, locations: Locations) -> Location | None:
        """Return the chosen location; None if there is none."""
        remaining: Sequence[Location] = locations.all
        for method in locations.chooseby:
            if method == BY_ATTRIBUTE:
                remaining = self._with_attributes(remaining)
            elif method == BY_COUNTRY:
                remaining = self._in_country(remaining)
            elif method == BY_WEIGHT:
                break
        return _choose_by_weight(remaining)

    def _with_attributes(self, remaining: Sequence[Location]) -> Sequence[Location]:
        matching = [
            location
            for location in remaining
            if all(location.attributes.get(name) == value for name, value in self.attributes)
        ]
        if self.attributes and matching:
            return matching  # named explicitly, so the client's headers do not matter
        matching = [location for location in remaining if location.attributes.get(ROLE) in self.roles]
        remaining = matching or [location for location in remaining if ROLE not in location.attributes] or remaining
        remaining = _keep_preferred(
            remaining, lambda location: location.media_type, partial(media_preference, _specific_ranges(self.medias))
        )
        return _keep_preferred(
            remaining,
            lambda location: location.language,
            partial(language_preference, _specific_ranges(self.languages)),
        )

    def _in_country(self, remaining: Sequence[Location]) -> Sequence[Location]:
        countries = {value.lower() for name, value in self.attributes if name == BY_COUNTRY}
        matching = [location for location in remaining if location.attributes.get(BY_COUNTRY, "").lower() in countries]
        return matching or [location for location in remaining if not location.attributes.get(BY_COUNTRY)] or remaining


def _specific_ranges(accepted: Sequence[Range]) -> list[Range]:
    """Return the ranges without wildcards, which express no preference."""
    return [one for one in accepted if one.media not in ("*/*", "*")]


def _keep_preferred(
    remaining: Sequence[Location],
    attribute_of: Callable[[Location], str],
    preference_of: Callable[[str], tuple[float, int, int]],
) -> Sequence[Location]:
    """Return the locations that the client prefers; else those without the attribute; else all."""
    if not any(map(attribute_of, remaining)):
        return remaining  # nearly always
    preferences = [
        (preference_of(attribute_of(location)), location) for location in remaining if attribute_of(location)
    ]
    best = max((preference for preference, _ in preferences), default=_NO_PREFERENCE)
    matching = [location for preference, location in preferences if preference == best and best[0] > 0]
    return matching or [location for location in remaining if not attribute_of(location)] or remaining


def _choose_by_weight(remaining: Sequence[Location]) -> Location | None:
    """Return one location at random. A weight of 0 excludes a location while there are others."""
    if not remaining:
        return None
    weights = [location.weight for location in remaining]
    return _random.choices(remaining, weights if any(weights) else None)[0]


def format_locations_xml(locations: Sequence[Location]) -> bytes:
    """Return a list of locations as XML."""
    root = ElementTree.Element("locations")
    for location in locations:
        ElementTree.SubElement(root, "location", {"href": location.href, **location.attributes})
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text
