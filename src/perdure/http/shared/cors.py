"""Cross-origin reading (CORS): pages of any origin may read what everyone may read, and nothing else."""

from typing import Final

from perdure.http.shared.request import Headers, Response

CORS_HEADERS: Final[Headers] = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", b"content-length, etag, link, location, memento-datetime"),
]
PREFLIGHT_HEADERS: Final[Headers] = [
    (b"access-control-allow-methods", b"GET, HEAD, OPTIONS"),
    (b"access-control-allow-headers", b"accept, accept-datetime, accept-language, if-none-match"),
    (b"access-control-max-age", b"86400"),
]


def preflight_response() -> Response:
    """Return the response to a preflight: a page of another origin may read, with the headers that reading needs."""
    return Response(204, b"", PREFLIGHT_HEADERS)
