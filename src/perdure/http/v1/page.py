"""A page to try it all: Swagger UI, which comes with this program, so that nothing is loaded from elsewhere."""

from functools import cache
from importlib.resources import files
from typing import Final

from perdure.http.message import Headers, Response
from perdure.http.refusals import NothingHere

_ASSETS: Final = {
    "swagger-ui.css": b"text/css; charset=utf-8",
    "swagger-ui-bundle.js": b"text/javascript; charset=utf-8",
    "try.js": b"text/javascript; charset=utf-8",
    "favicon.svg": b"image/svg+xml",
}
# Only from here; the style sheet has its icons inside itself.
_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE: Final[Headers] = [(b"content-security-policy", _POLICY), (b"referrer-policy", b"no-referrer")]
_PAGE: Final = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Perdure: try the API</title>
<link rel="icon" href="docs/favicon.svg">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<noscript>This page needs JavaScript; the <a href="openapi.json">document</a> behind it does not.</noscript>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/try.js"></script>
</body>
</html>
"""


def page() -> Response:
    return Response(200, _PAGE, [(b"content-type", b"text/html; charset=utf-8"), *_SAFE])


def asset(name: str) -> Response:
    if name not in _ASSETS:
        raise NothingHere()
    return Response(200, _read(name), [(b"content-type", _ASSETS[name]), (b"cache-control", b"max-age=86400"), *_SAFE])


@cache
def _read(name: str) -> bytes:
    return files("perdure.http.v1").joinpath("assets", name).read_bytes()
