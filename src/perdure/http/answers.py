"""The two answers that are given most: a redirect, and a record as Handle clients read it.

The express lane writes them straight to the connection, the application through its framework; both take them from
here, so that nobody can tell which one answered.
"""

import time
from collections.abc import Iterable
from datetime import datetime
from email.utils import formatdate
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import msgspec

from perdure.http.message import Headers, Response
from perdure.records.value import DEFAULT_TTL, ShownValue, Value, shown_value
from perdure.records.web_address import PLAIN_ADDRESS, URL_SAFE, outgoing_address

SUCCESS: Final = 1
READABLE_ANYWHERE: Final[Headers] = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"content-length, etag, link, location, memento-datetime"),
]
# What a page of another origin is told before it asks: it may read, with the headers that reading needs.
PREFLIGHT: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, HEAD, OPTIONS"),
    (b"access-control-allow-headers", b"accept, accept-datetime, accept-language, if-none-match"),
    (b"access-control-max-age", b"86400"),
]
EVERYWHERE: Final[Headers] = [(b"x-content-type-options", b"nosniff")]
VARY: Final = b"accept"  # the headers that have a say in every answer of the resolver
HANDLE_JSON: Final = b"application/json;charset=utf-8"
RECORD_HEADERS: Final[Headers] = [(b"content-type", HANDLE_JSON), (b"cache-control", b"no-cache")]
NOTE_BEFORE: Final = b'<!doctype html><title>Found</title><a href="'
NOTE_AFTER: Final = b'">It is here</a>'

is_plain: Final = PLAIN_ADDRESS.fullmatch  # nearly all targets: they stand in a header as they are
_SAFE_BYTES: Final = URL_SAFE.encode()
_encode: Final = msgspec.json.Encoder().encode
_TERSE: Final = b'{"responseCode":%d,"handle":' % SUCCESS


class ShownRecord(msgspec.Struct, gc=False):
    responseCode: int  # noqa: N815  (Handle clients look for it under this name)
    handle: str
    values: list[ShownValue]


def redirect(
    target: str, version: int, ttl: int | str = DEFAULT_TTL, status: int = 302, vary: bytes = VARY
) -> Response:
    """To where a name leads, for as long as its value says that it will. The target has been checked."""
    place = outgoing_address(target).encode("ascii")
    headers = [*redirect_headers(lifetime(ttl), vary), (b"location", place), (b"etag", b'"%d"' % version)]
    return Response(status, redirect_note(place), headers)


def redirect_headers(seconds: int, vary: bytes = VARY) -> Headers:
    """What all redirects of one second have in common."""
    now = int(time.time())
    return [
        (b"cache-control", b"max-age=%d" % seconds),
        (b"expires", http_date(now + seconds)),
        (b"vary", vary),
        (b"content-type", b"text/html; charset=utf-8"),
    ]


def target_location(target: str) -> bytes | None:
    """Return a stored target as a header holds it; None if it names no real host."""
    try:
        return outgoing_address(target).encode("ascii")
    except ValueError:  # from before such a target was refused
        return None


def location(place: str) -> bytes:
    """A place of this server as a header may hold it: what is not ASCII, or could end the line, is percent-encoded."""
    if place.isascii() and not (plain := place.encode()).translate(None, _SAFE_BYTES):
        return plain
    return quote(place, safe=URL_SAFE).encode("ascii")


def redirect_note(location: bytes) -> bytes:
    """For the few who do not follow by themselves. Quotation marks and brackets are percent-encoded by now."""
    return b"".join((NOTE_BEFORE, location.replace(b"&", b"&amp;"), NOTE_AFTER))


def record(asked: str, values: Iterable[Value], version: int) -> Response:
    """A record; the name is told as it was asked for, as Handle clients compare it."""
    return Response(200, record_body(asked, values), [*RECORD_HEADERS, record_tag(version)])


def record_body(asked: str, values: Iterable[Value]) -> bytes:
    return _encode(ShownRecord(SUCCESS, asked, [shown_value(value) for value in values]))


def terse_body(asked: bytes, values: bytes) -> bytes:
    """The same, of values that are written down already and a name of plain ASCII."""
    return b"".join((_TERSE, _encode(asked.decode("ascii")), b',"values":', values, b"}"))


def record_tag(version: int) -> tuple[bytes, bytes]:
    return b"etag", b'"%d-record"' % version


def lifetime(ttl: int | str) -> int:
    """For how many seconds from now a value may be kept elsewhere; an instant that has passed gives none."""
    if isinstance(ttl, int):
        return ttl
    return max(0, int(datetime.fromisoformat(ttl).timestamp() - time.time()))


@lru_cache(maxsize=64)
def http_date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
