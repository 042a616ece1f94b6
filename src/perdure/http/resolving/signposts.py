"""Signposts for programs that meet a landing page: typed links in its headers (FAIR Signposting, RFC 8288)."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from perdure.http.answers import location
from perdure.http.message import Headers, Request
from perdure.http.resolving.finding import Finding
from perdure.http.resolving.places import absolute, link_to, path_of, record_path, target_link
from perdure.http.service import Service
from perdure.registry.looking import View

_MOST_ITEMS: Final = 4_096  # bytes of links to places, beyond the first: clients do not bear headers of any length
_LANDING_PAGE: Final = "https://schema.org/AboutPage"


class LinkedPlace(NamedTuple):
    """A place that a reader may be sent to: the address of a link, and the text as it was stored."""

    href: str
    text: str


def signposts(service: Service, request: Request, view: View, leads_to: Sequence[LinkedPlace]) -> Headers:
    """How to cite it, where its record is, where it leads, and who made it."""
    origin = request.origin
    cited = view.names[0] if view.names else view.name  # one of the two labels of an IBI, whichever was asked for
    links = [
        _link(f"{origin}{path_of(cited)}", "cite-as"),
        _link(f"{origin}{record_path(view.name)}", "describedby", "application/json"),
        _link(_LANDING_PAGE, "type"),
    ]
    links.extend(_items(leads_to))
    creator = link_to(service, view.authority.creator)
    if creator is not None:
        links.append(_link(absolute(origin, creator), "author"))
    return [(b"link", b", ".join(links))]


def places_of(
    service: Service, request: Request, finding: Finding, view: View, *, follows_aliases: bool = True
) -> list[LinkedPlace]:
    """Where a reader of this is sent, or may be: the name that an alias stands for, one of several places, or one.

    A target that was stored before such targets were refused is no place.
    """
    if finding.alias is not None and follows_aliases:
        link = link_to(service, finding.alias.text or "")
        address = None if link is None else absolute(request.origin, link)
        return [] if address is None else [LinkedPlace(address, address)]
    limits = service.registry.settings.limits
    places = view.locations or ([] if view.target is None else [view.target])
    return [LinkedPlace(href, place) for place in places if (href := target_link(place, limits)) is not None]


def _items(places: Sequence[LinkedPlace]) -> Iterator[bytes]:
    size = 0
    for number, place in enumerate(places):
        item = _link(place.href, "item")
        size += len(item)
        if number and size > _MOST_ITEMS:
            return
        yield item


def _link(target: str, relation: str, media: str | None = None) -> bytes:
    kind = f'; type="{media}"' if media else ""
    return b"<%b>%b" % (location(target), f'; rel="{relation}"{kind}'.encode())
