"""Typed links in the headers of a landing page, for programs (FAIR Signposting, RFC 8288)."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from perdure.http.app_context import AppContext
from perdure.http.resolver.name_lookup import ResolvedName
from perdure.http.shared.redirects import encode_location
from perdure.http.shared.request import Headers, Request
from perdure.http.urls import absolute_url, citation_url, identifier_api_path, link_to, target_link
from perdure.registry.identifier_view import View

_MOST_ITEMS: Final = 4_096  # bytes of links to targets after the first, because clients limit the length of headers
_LANDING_PAGE: Final = "https://schema.org/AboutPage"


class TargetLink(NamedTuple):
    """A target of an identifier: the URL of a link, and the text as it was stored."""

    href: str
    text: str


def signpost_headers(app: AppContext, request: Request, view: View, target_links: Sequence[TargetLink]) -> Headers:
    """Return the links to the citation, the record, the targets and the creator."""
    origin = request.origin
    cited = view.names[0] if view.names else view.name  # the first of the two labels of an IBI, whichever was requested
    citation = citation_url(app, origin, cited, view.scheme)
    links = [
        *([] if citation is None else [_link(citation, "cite-as")]),
        _link(f"{origin}{identifier_api_path(view.name)}", "describedby", "application/json"),
        _link(_LANDING_PAGE, "type"),
    ]
    links.extend(_item_links(target_links))
    creator = link_to(app, view.authority.creator)
    if creator is not None:
        links.append(_link(absolute_url(origin, creator), "author"))
    return [(b"link", b", ".join(links))]


def find_target_links(
    app: AppContext, request: Request, resolved: ResolvedName, view: View, *, follows_aliases: bool = True
) -> list[TargetLink]:
    """Return the targets of an identifier: the name of an alias, or the locations, or the one target.

    A stored target that would be refused today is left out.
    """
    if resolved.alias is not None and follows_aliases:
        link = link_to(app, resolved.alias.text or "")
        address = None if link is None else absolute_url(request.origin, link)
        return [] if address is None else [TargetLink(address, address)]
    limits = app.registry.settings.limits
    targets = view.locations or ([] if view.target is None else [view.target])
    return [TargetLink(href, target) for target in targets if (href := target_link(target, limits, allows_blanks=True))]


def _item_links(targets: Sequence[TargetLink]) -> Iterator[bytes]:
    size = 0
    for number, target in enumerate(targets):
        item = _link(target.href, "item")
        size += len(item)
        if number and size > _MOST_ITEMS:
            return
        yield item


def _link(target: str, relation: str, media: str | None = None) -> bytes:
    kind = f'; type="{media}"' if media else ""
    return b"<%b>%b" % (encode_location(target), f'; rel="{relation}"{kind}'.encode())
