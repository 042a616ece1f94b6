"""The documentation page: Swagger UI, bundled so that nothing is loaded from other servers."""

from functools import cache
from importlib.resources import files
from typing import Final

from perdure.http.shared.http_errors import NotFound
from perdure.http.shared.request import Headers, Response
from perdure.http.shared.responses import MAX_AGE_DAY

_ASSETS: Final = {
    "swagger-ui.css": b"text/css; charset=utf-8",
    "swagger-ui-bundle.js": b"text/javascript; charset=utf-8",
    "try.js": b"text/javascript; charset=utf-8",
    "favicon.svg": b"image/svg+xml",
}
# Only this origin; the style sheet contains its icons as data URLs.
_CONTENT_SECURITY_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS: Final[Headers] = [
    (b"content-security-policy", _CONTENT_SECURITY_POLICY),
    (b"referrer-policy", b"no-referrer"),
]
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
<noscript>This page needs JavaScript; the <a href="openapi.json">OpenAPI document</a> does not.</noscript>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/try.js"></script>
</body>
</html>
"""


def page_response() -> Response:
    return Response(200, _PAGE, [(b"content-type", b"text/html; charset=utf-8"), *_SECURITY_HEADERS])


def asset_response(name: str) -> Response:
    if name not in _ASSETS:
        raise NotFound()
    return Response(
        200,
        _read_asset(name),
        [(b"content-type", _ASSETS[name]), MAX_AGE_DAY, *_SECURITY_HEADERS],
    )


@cache
def _read_asset(name: str) -> bytes:
    return files("perdure.http.api").joinpath("assets", name).read_bytes()
