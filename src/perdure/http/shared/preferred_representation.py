"""The representation that a client prefers (Accept, RFC 9110, section 12.5.1)."""

from functools import lru_cache
from typing import Final

from perdure.http.shared.negotiation import MOST_RANGES, Range, parse_accept
from perdure.http.shared.request import Request

_PAGES: Final = ("text/html", "application/xhtml+xml")
_RECORDS: Final = ("application/json",)
_PROBLEMS: Final = ("application/problem+json", "application/json")


def wants_record(request: Request) -> bool:
    """Return whether the client names JSON and prefers it to a page. A client that accepts anything is redirected."""
    return _is_preferred(request.header_list(b"accept"), _RECORDS)


def wants_problem(request: Request) -> bool:
    """Return whether the client prefers an error as a problem document to a page."""
    return _is_preferred(request.header_list(b"accept"), _PROBLEMS)


def client_roles(request: Request) -> frozenset[str]:
    """Return the roles of the client in a list of locations.

    A `browser` accepts a page; `conneg` names another media type.
    """
    ranges = parse_accept(request.header_list(b"accept"))
    named = [accepted.media for accepted in ranges if accepted.quality > 0 and accepted.media != "*/*"]
    if any(media in _PAGES for media in named):
        return frozenset({"browser", "no_conneg"})
    return frozenset({"conneg"} if named else {"no_conneg"})


@lru_cache(maxsize=128)
def _is_preferred(accept: str | None, media_types: tuple[str, ...]) -> bool:
    """Return whether one of the media types is named and preferred to a page. Of equal ones, the first named wins."""
    ranges = parse_accept(accept)
    ours = max((_preference(accepted) for accepted in ranges if accepted.media in media_types), default=(0.0, 0))
    return ours[0] > 0 and ours > _page_preference(ranges)


def _page_preference(named: tuple[Range, ...]) -> tuple[float, int]:
    """Return the preference for a page, by the most specific range."""
    for medias in (_PAGES, ("text/*",), ("*/*",)):
        preferences = [_preference(accepted) for accepted in named if accepted.media in medias]
        if preferences:
            return max(preferences)
    return (0.0, -MOST_RANGES)


def _preference(accepted: Range) -> tuple[float, int]:
    return (accepted.quality, -accepted.position)
