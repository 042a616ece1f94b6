"""Redirects: to the target of a name, and to another URL.

The fast path takes the parts of its redirects from here, so that they equal those of the application byte for byte.
"""

import time
from datetime import datetime
from typing import Final
from urllib.parse import quote

from perdure.http.shared.conditional import version_etag
from perdure.http.shared.request import Headers, Response
from perdure.http.shared.responses import VARY, VARY_ACCEPT, http_date
from perdure.records.value import DEFAULT_TTL
from perdure.records.web_address import PLAIN_ADDRESS, URL_SAFE, encode_web_address

REDIRECT_BODY_START: Final = b'<!doctype html><title>Found</title><a href="'
REDIRECT_BODY_END: Final = b'">It is here</a>'
is_plain_url: Final = PLAIN_ADDRESS.fullmatch  # nearly all targets, which need no encoding in a header
_SAFE_BYTES: Final = URL_SAFE.encode()
_HTML: Final = (b"content-type", b"text/html; charset=utf-8")


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


def ttl_seconds(ttl: int | str) -> int:
    """Return for how many seconds from now caches may store a value; 0 after a TTL that is an instant has passed."""
    if isinstance(ttl, int):
        return ttl
    return max(0, int(datetime.fromisoformat(ttl).timestamp() - time.time()))
