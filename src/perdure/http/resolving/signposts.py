"""Signposts for programs that meet a landing page: typed links in its headers (FAIR Signposting, RFC 8288)."""

from typing import Final

from perdure.http.answers import location
from perdure.http.message import Headers, Request
from perdure.http.resolving.places import absolute, link_to, path_of, record_path
from perdure.http.service import Service
from perdure.registry.looking import View

_LANDING_PAGE: Final = "https://schema.org/AboutPage"


def signposts(service: Service, request: Request, view: View) -> Headers:
    """How to cite it, where its record is, what it is about, and who made it."""
    origin = request.origin
    links = [
        _link(f"{origin}{path_of(view.name)}", "cite-as"),
        _link(f"{origin}{record_path(view.name)}", "describedby", "application/json"),
        _link(_LANDING_PAGE, "type"),
    ]
    if view.target is not None:
        links.append(_link(view.target, "item"))
    creator = link_to(service, view.authority.creator)
    if creator is not None:
        links.append(_link(absolute(origin, creator), "author"))
    return [(b"link", b", ".join(links))]


def _link(target: str, relation: str, media: str | None = None) -> bytes:
    kind = f'; type="{media}"' if media else ""
    return b"<%b>%b" % (location(target), f'; rel="{relation}"{kind}'.encode())
