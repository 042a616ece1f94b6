"""Requests of web pages of other origins (CORS).

Pages of any origin may read what everyone may read. Pages of the origins in the settings may also write, with
credentials that they put into `Authorization`. Credentials that a browser adds by itself are never allowed.
"""

from typing import Final

from perdure.http.shared.request import Headers, Request, Response

CORS_HEADERS: Final[Headers] = [
    (b"access-control-allow-origin", b"*"),
    (
        b"access-control-expose-headers",
        b"content-length, content-location, etag, link, location, memento-datetime, perdure-answer",
    ),
]
_READ_HEADERS: Final = b"accept, accept-datetime, accept-language, if-none-match, if-range, range"
_TUS: Final = b", tus-resumable, upload-checksum, upload-length, upload-metadata, upload-offset, x-http-method-override"
_PREFLIGHT_OF_READS: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, HEAD, OPTIONS"),
    (b"access-control-allow-headers", _READ_HEADERS),
    (b"access-control-max-age", b"86400"),
    (b"vary", b"origin"),
]
_PREFLIGHT_OF_WRITES: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, HEAD, OPTIONS, POST, PUT, PATCH, DELETE"),
    (
        b"access-control-allow-headers",
        _READ_HEADERS + b", authorization, content-type, idempotency-key, if-match, repr-digest, content-digest" + _TUS,
    ),
    (b"access-control-max-age", b"600"),  # an origin may be removed from the settings
    (b"vary", b"origin"),
]


def is_from_listed_origin(request: Request) -> bool:
    """Return whether a page of an origin in the settings has sent the request."""
    listed = request.options.cors_origins
    if not listed:
        return False
    origins = [value.decode("latin-1").lower() for name, value in request.headers if name == b"origin"]
    return len(origins) == 1 and origins[0] in listed


def preflight_headers(request: Request) -> Headers:
    """Return the headers of a response to a preflight, which depend on the origin of the page."""
    return _PREFLIGHT_OF_WRITES if is_from_listed_origin(request) else _PREFLIGHT_OF_READS


def preflight_response(request: Request) -> Response:
    """Return the response to a preflight."""
    return Response(204, b"", preflight_headers(request))
