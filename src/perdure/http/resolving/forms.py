"""Which form of an answer a client prefers (RFC 9110, Accept), and whether it has it already."""

from functools import lru_cache
from typing import Final

from perdure.http.message import Request
from perdure.http.negotiation import MOST_RANGES, Range, ranges

_PAGES: Final = ("text/html", "application/xhtml+xml")
_RECORDS: Final = ("application/json",)
_PROBLEMS: Final = ("application/problem+json", "application/json")


def wants_record(request: Request) -> bool:
    """JSON, asked for by its name, and no less than a page. A client that takes anything is sent to the target."""
    return _is_preferred(request.header_list(b"accept"), _RECORDS)


def wants_problem(request: Request) -> bool:
    """Whether an error is told to a program."""
    return _is_preferred(request.header_list(b"accept"), _PROBLEMS)


def roles(request: Request) -> frozenset[str]:
    """What the locations of a record call such a client: `conneg` asks for a certain form, a `browser` for a page."""
    found = ranges(request.header_list(b"accept"))
    named = [one.media for one in found if one.quality > 0 and one.media != "*/*"]
    if any(media in _PAGES for media in named):
        return frozenset({"browser", "no_conneg"})
    return frozenset({"conneg"} if named else {"no_conneg"})


def has_already(request: Request, tag: str) -> bool:
    """Whether the client holds what bears this tag (If-None-Match, which compares weakly)."""
    held = request.header_list(b"if-none-match")
    if held is None:
        return False
    return held.strip() == "*" or tag in [one.strip().removeprefix("W/") for one in held.split(",")]


@lru_cache(maxsize=128)
def _is_preferred(accept: str | None, wanted: tuple[str, ...]) -> bool:
    """Whether one of these is named, and a page is not liked better; of two liked equally, the first said."""
    found = ranges(accept)
    ours = max((_liking(one) for one in found if one.media in wanted), default=(0.0, 0))
    return ours[0] > 0 and ours > _liking_of_pages(found)


def _liking_of_pages(named: tuple[Range, ...]) -> tuple[float, int]:
    for medias in (_PAGES, ("text/*",), ("*/*",)):  # the most exact range counts
        found = [_liking(one) for one in named if one.media in medias]
        if found:
            return max(found)
    return (0.0, -MOST_RANGES)


def _liking(one: Range) -> tuple[float, int]:
    return (one.quality, -one.place)
