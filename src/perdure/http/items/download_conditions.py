"""Preconditions of a download, in the order of RFC 9110, section 13.2.2."""

from calendar import timegm
from email.utils import parsedate
from enum import Enum
from typing import Final

from perdure.collections.item import ItemFile
from perdure.http.items.ranges import ByteRange, parse_ranges
from perdure.http.shared.conditional import ANY_ETAG, digest_etag, if_none_match_has, parse_etags
from perdure.http.shared.http_errors import PreconditionFailed
from perdure.http.shared.request import Request

_TAG_DIGITS: Final = 64  # of the digest: enough for a tag


class Freshness(Enum):
    """Whether the client needs the file."""

    SEND = "the client does not have this version"
    NOT_MODIFIED = "the client has this version"


def file_etag(file: ItemFile) -> str:
    """Return the tag of a stored file: the same in every collection and version that has this content."""
    return digest_etag(file.sha512[:_TAG_DIGITS])


def check_preconditions(request: Request, etag: str, modified: int) -> Freshness:
    """Return whether the file must be sent. Raise PreconditionFailed if a required condition does not hold."""
    if (header := request.header_list(b"if-match")) is not None:
        if not matches_strongly(header, etag):
            raise PreconditionFailed(request.path, header, etag)
    elif (since := parse_http_date(request.header(b"if-unmodified-since"))) is not None and modified > since:
        raise PreconditionFailed(request.path, request.header(b"if-unmodified-since") or "", etag)
    if (header := request.header_list(b"if-none-match")) is not None:
        return Freshness.NOT_MODIFIED if if_none_match_has(header, etag) else Freshness.SEND
    since = parse_http_date(request.header(b"if-modified-since"))
    return Freshness.NOT_MODIFIED if since is not None and modified <= since else Freshness.SEND


def requested_ranges(request: Request, etag: str, modified: int, size: int) -> tuple[ByteRange, ...] | None:
    """Return the ranges that the client requests of this very version; None for the whole file.

    Raise RangeNotSatisfiable if none of them has a byte of the file.
    """
    header = request.header_list(b"range")
    if header is None or request.method != "GET":
        return None
    condition = request.header(b"if-range")
    if condition is not None and not _is_same_version(condition.strip(), etag, modified):
        return None
    return parse_ranges(header, size)


def parse_http_date(text: str | None) -> int | None:
    """Return a date of a header as seconds since 1970; None if there is none, or if it must be ignored.

    >>> parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), parse_http_date("yesterday")
    (784111777, None)
    """
    try:
        parts = None if text is None else parsedate(text)
        return None if parts is None else timegm(parts)
    except (ValueError, OverflowError):
        return None


def matches_strongly(header: str, etag: str) -> bool:
    """Return whether If-Match contains this tag. A header that cannot be parsed contains none."""
    try:
        tags = parse_etags(header)
    except ValueError:
        return False
    return tags is ANY_ETAG or etag[1:-1] in tags


def _is_same_version(condition: str, etag: str, modified: int) -> bool:
    """Return whether If-Range names this version. A weak tag never does (section 13.1.5)."""
    if condition.startswith('"'):
        return condition == etag
    return not condition.startswith("W/") and parse_http_date(condition) == modified
