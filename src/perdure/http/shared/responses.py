"""Responses that several handlers build: redirects, and records as Handle clients read them.

The fast path writes the most frequent ones straight to the connection. It takes their parts from here, so that its
responses equal those of the application byte for byte.
"""

import time
from collections.abc import Iterable
from datetime import datetime
from email.utils import formatdate
from functools import lru_cache
from typing import Final
from urllib.parse import quote

import msgspec

from perdure.http.shared.conditional import record_etag, version_etag
from perdure.http.shared.request import Headers, Response
from perdure.records.value import DEFAULT_TTL, JsonValue, Value, to_json_value
from perdure.records.web_address import PLAIN_ADDRESS, URL_SAFE, encode_web_address

SUCCESS: Final = 1
COMMON_HEADERS: Final[Headers] = [(b"x-content-type-options", b"nosniff")]  # of every response
NO_CACHE: Final = (b"cache-control", b"no-cache")
NO_STORE: Final = (b"cache-control", b"no-store")
MAX_AGE_DAY: Final = (b"cache-control", b"max-age=86400")
VARY: Final = b"accept"  # the headers that every response of the resolver depends on
VARY_ACCEPT: Final = (b"vary", VARY)
HANDLE_JSON: Final = b"application/json;charset=utf-8"
RECORD_HEADERS: Final[Headers] = [(b"content-type", HANDLE_JSON), NO_CACHE]
REDIRECT_BODY_START: Final = b'<!doctype html><title>Found</title><a href="'
REDIRECT_BODY_END: Final = b'">It is here</a>'

is_plain_url: Final = PLAIN_ADDRESS.fullmatch  # nearly all targets, which need no encoding in a header
_SAFE_BYTES: Final = URL_SAFE.encode()
_HTML: Final = (b"content-type", b"text/html; charset=utf-8")
_encode: Final = msgspec.json.Encoder().encode
_RECORD_START: Final = b'{"responseCode":%d,"handle":' % SUCCESS
# All bytes that a header may contain. Without them, only the line ends of a head may be left.
_HEADER_BYTES: Final = bytes(byte for byte in range(256) if byte == 9 or (byte >= 32 and byte != 127))
_LINE_END: Final = b"\r\n"


class HandleRecord(msgspec.Struct, gc=False):
    """A record in the JSON of Handle servers."""

    responseCode: int  # noqa: N815  (the name that Handle clients know)
    handle: str
    values: list[JsonValue]


def target_redirect(
    target: str, version: int, ttl: int | str = DEFAULT_TTL, status: int = 302, vary: bytes = VARY
) -> Response:
    """Return a redirect to the target of a name, which caches may store for its TTL. The target has been checked."""
    url = encode_web_address(target).encode("ascii")
    headers = [
        *redirect_headers(ttl_seconds(ttl), vary),
        (b"location", url),
        (b"etag", version_etag(version).encode()),
    ]
    return Response(status, redirect_body(url), headers)


def redirect_headers(seconds: int, vary: bytes = VARY) -> Headers:
    """Return the headers that all redirects to a target have in common within one second."""
    now = int(time.time())
    return [(b"cache-control", b"max-age=%d" % seconds), (b"expires", http_date(now + seconds)), (b"vary", vary), _HTML]


def redirect_response(to: str, status: int, caching: bytes) -> Response:
    """Return a redirect to another URL of this server, or to another server."""
    url = encode_location(to)
    return Response(status, redirect_body(url), [(b"cache-control", caching), VARY_ACCEPT, _HTML, (b"location", url)])


def redirect_body(url: bytes) -> bytes:
    """Return a page for clients that do not follow redirects. Quotation marks and brackets are already encoded."""
    return b"".join((REDIRECT_BODY_START, url.replace(b"&", b"&amp;"), REDIRECT_BODY_END))


def encode_target(target: str) -> bytes | None:
    """Return a stored target as a header holds it; None if it has no valid host."""
    try:
        return encode_web_address(target).encode("ascii")
    except ValueError:  # stored before such targets were refused
        return None


def encode_location(url: str) -> bytes:
    """Return a URL of this server as a header holds it. What is not ASCII, or could end the line, is encoded."""
    if url.isascii() and not (plain := url.encode()).translate(None, _SAFE_BYTES):
        return plain
    return quote(url, safe=URL_SAFE).encode("ascii")


def record_response(name: str, values: Iterable[Value], version: int) -> Response:
    """Return a record under the name as the client wrote it, because Handle clients compare it."""
    etag = (b"etag", record_etag(version).encode())
    return Response(200, record_body(name, values), [*RECORD_HEADERS, etag])


def record_body(name: str, values: Iterable[Value]) -> bytes:
    """Return the JSON of a record."""
    return _encode(HandleRecord(SUCCESS, name, [to_json_value(value) for value in values]))


def record_body_from_json(name: bytes, values: bytes) -> bytes:
    """Return the JSON of a record from values that are JSON already, and a name in plain ASCII."""
    return b"".join((_RECORD_START, _encode(name.decode("ascii")), b',"values":', values, b"}"))


def ttl_seconds(ttl: int | str) -> int:
    """Return for how many seconds from now caches may store a value; 0 after a TTL that is an instant has passed."""
    if isinstance(ttl, int):
        return ttl
    return max(0, int(datetime.fromisoformat(ttl).timestamp() - time.time()))


def format_head(headers: Headers) -> bytes:
    """Return the lines of a head. Raise RuntimeError if a header would break its line."""
    head = b"".join([b"%b: %b\r\n" % header for header in headers])
    if head.translate(None, _HEADER_BYTES) != _LINE_END * len(headers):
        raise RuntimeError("a header would have broken its line")
    return head


@lru_cache(maxsize=64)
def http_date(second: int) -> bytes:
    """Return an instant as HTTP headers write it."""
    return formatdate(second, usegmt=True).encode()
