"""Redirects: to the target of a name, and to another URL.

The fast path takes the parts of its redirects from here, so that they equal those of the application byte for byte.
"""

from typing import Final
from urllib.parse import quote

from perdure.http.shared.conditional import is_not_modified, version_etag
from perdure.http.shared.request import Headers, Request, Response
from perdure.http.shared.responses import VARY, VARY_ACCEPT
from perdure.records.web_address import PLAIN_ADDRESS, URL_SAFE, encode_web_address

REDIRECT_BODY_START: Final = b'<!doctype html><title>Found</title><a href="'
REDIRECT_BODY_END: Final = b'">It is here</a>'
is_plain_url: Final = PLAIN_ADDRESS.fullmatch  # nearly all targets, which need no encoding in a header
_SAFE_BYTES: Final = URL_SAFE.encode()
HTML: Final = (b"content-type", b"text/html; charset=utf-8")


def target_redirect(request: Request, url: bytes, etag: str, status: int = 302, vary: bytes = VARY) -> Response:
    """Return a redirect to a target of a name, or 304 if the client has it already.

    Targets change and names are withdrawn, so a browser may repeat a redirect only for as long as the operator allows.
    """
    caching = caching_headers(request.options.redirect_caching, vary)
    tag = (b"etag", etag.encode())
    if is_not_modified(request, etag):
        return Response(304, b"", [*caching, tag])
    return Response(status, redirect_body(url), [*caching, HTML, (b"location", url), tag])


def plain_redirect(request: Request, url: bytes, version: int) -> Response:
    """Return the redirect of a name that has one target for every client."""
    return target_redirect(request, url, version_etag(version))


def caching_headers(caching: bytes, vary: bytes = VARY) -> Headers:
    """Return the headers that all redirects to a target have in common."""
    return [(b"cache-control", caching), (b"vary", vary)]


def redirect_response(to: str, status: int, caching: bytes) -> Response:
    """Return a redirect to another URL of this server, or to another server."""
    url = encode_location(to)
    return Response(status, redirect_body(url), [(b"cache-control", caching), VARY_ACCEPT, HTML, (b"location", url)])


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
