"""Choose one of several locations (type 10320/loc) for whoever asks.

The methods of `chooseby` are applied in their order. Each narrows what the one before it left; one that would leave
nothing is passed over. Where nobody said which country a reader is in, none is assumed.
"""

import random
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from perdure.http.negotiation import Range, liking, liking_of_language
from perdure.records.locations import BY_ATTRIBUTE, BY_COUNTRY, BY_WEIGHT, ROLE, Location, Locations

_UNLIKED: Final = (0.0, 0, 0)
_random: Final = random.SystemRandom()


class Chooser(msgspec.Struct, frozen=True):
    """Who has to be served: the attributes asked for, and what a client's headers make of it."""

    attributes: tuple[tuple[str, str], ...]
    roles: frozenset[str]
    medias: tuple[Range, ...] = ()
    languages: tuple[Range, ...] = ()

    def choose(self, locations: Locations) -> Location | None:
        remaining: Sequence[Location] = locations.all
        for method in locations.chooseby:
            if method == BY_ATTRIBUTE:
                remaining = self._with_attributes(remaining)
            elif method == BY_COUNTRY:
                remaining = self._in_country(remaining)
            elif method == BY_WEIGHT:
                break
        return _weighted(remaining)

    def _with_attributes(self, remaining: Sequence[Location]) -> Sequence[Location]:
        asked = [one for one in remaining if all(one.attributes.get(name) == value for name, value in self.attributes)]
        if self.attributes and asked:
            return asked  # named outright, so the client's headers do not matter
        suited = [one for one in remaining if one.attributes.get(ROLE) in self.roles]
        remaining = suited or [one for one in remaining if ROLE not in one.attributes] or remaining
        remaining = _liked_best(remaining, lambda one: one.media, partial(liking, _named(self.medias)))
        return _liked_best(remaining, lambda one: one.language, partial(liking_of_language, _named(self.languages)))

    def _in_country(self, remaining: Sequence[Location]) -> Sequence[Location]:
        wanted = {value.lower() for name, value in self.attributes if name == BY_COUNTRY}
        there = [one for one in remaining if one.attributes.get(BY_COUNTRY, "").lower() in wanted]
        return there or [one for one in remaining if not one.attributes.get(BY_COUNTRY)] or remaining


def _named(taken: Sequence[Range]) -> list[Range]:
    """Who takes anything has not said which."""
    return [one for one in taken if one.media not in ("*/*", "*")]


def _liked_best(
    remaining: Sequence[Location], said: Callable[[Location], str], like: Callable[[str], tuple[float, int, int]]
) -> Sequence[Location]:
    """Those that say what the client likes best; or else those that say nothing of the kind, or else all of them."""
    if not any(map(said, remaining)):
        return remaining  # nearly all
    liked = [(like(said(one)), one) for one in remaining if said(one)]
    best = max((liking for liking, _ in liked), default=_UNLIKED)
    suited = [one for liking, one in liked if liking == best and best[0] > 0]
    return suited or [one for one in remaining if not said(one)] or remaining


def _weighted(remaining: Sequence[Location]) -> Location | None:
    """By chance. A weight of 0 keeps a location out of it, as long as there are others."""
    if not remaining:
        return None
    weights = [one.weight for one in remaining]
    return _random.choices(remaining, weights if any(weights) else None)[0]


def written(locations: Sequence[Location]) -> bytes:
    """The list as XML."""
    root = ElementTree.Element("locations")
    for one in locations:
        ElementTree.SubElement(root, "location", {"href": one.href, **one.attributes})
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text
