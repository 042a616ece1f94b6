"""Typed links in the headers of items and of their files, for programs (FAIR Signposting, RFC 8288)."""

from typing import Final

from perdure.http.app_context import AppContext
from perdure.http.items.item_document import names_of
from perdure.http.items.item_lookup import FoundItem
from perdure.http.items.item_urls import description_url
from perdure.http.shared.redirects import encode_location
from perdure.http.shared.request import Headers, Request
from perdure.http.urls import absolute_url, link_to, path_of
from perdure.registry.identifier_view import View

_DESCRIPTIONS: Final = {
    "bib": "application/x-bibtex",
    "ris": "application/x-research-info-systems",
    "csl.json": "application/vnd.citationstyles.csl+json",
}
_LANDING_PAGE: Final = "https://schema.org/AboutPage"


def item_links(app: AppContext, request: Request, found: FoundItem, url: str, view: View | None) -> Headers:
    """Return the links of an item: its citation, its descriptions, its zip file and its creator."""
    origin = request.origin
    links = [
        format_link(f"{origin}{path_of(names_of(found, view)[0])}", "cite-as"),
        format_link(description_url(url, "json"), "describedby", "application/json"),
        *(
            format_link(f"{origin}{path_of(found.name)}.{ending}", "describedby", media)
            for ending, media in _DESCRIPTIONS.items()
        ),
        format_link(description_url(url, "zip"), "item", "application/zip"),
        format_link(_LANDING_PAGE, "type"),
    ]
    creator = None if view is None else link_to(app, view.authority.creator)
    if creator is not None:
        links.append(format_link(absolute_url(origin, creator), "author"))
    return [(b"link", b", ".join(links))]


def file_links(request: Request, found: FoundItem, url: str) -> Headers:
    """Return the links of a file: the citation and the page of its item."""
    links = [
        format_link(f"{request.origin}{path_of(found.name)}", "cite-as"),
        format_link(url, "collection", "text/html"),
        format_link(description_url(url, "json"), "describedby", "application/json"),
    ]
    return [(b"link", b", ".join(links))]


def format_link(target: str, relation: str, media: str | None = None) -> bytes:
    """Return one link of the header Link."""
    kind = f'; type="{media}"' if media else ""
    return b"<%b>%b" % (encode_location(target), f'; rel="{relation}"{kind}'.encode())
