"""HTML pages: Jinja templates with one inline stylesheet, and no other resources.

All template variables are escaped. The content security policy forbids scripts, and allows no resource but this
stylesheet.
"""

import base64
import hashlib
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perdure.http.shared.request import Headers, Response

_STYLE: Final = files(__name__).joinpath("style.css").read_text("utf-8")
_STYLE_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# The form is sent to this server, but its redirect may lead anywhere, and browsers apply form-action to redirects too.
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_DIGEST}'; form-action 'self' https: http:; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_SECURITY_HEADERS: Final[Headers] = [(b"content-security-policy", _POLICY.encode())]

_templates: Final = Environment(
    loader=PackageLoader(__name__),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_templates.globals["style"] = Markup(_STYLE)  # noqa: S704  (a file of this package)


def render_page(template: str, status: int, headers: Headers, /, **variables: Any) -> Response:
    """Render a template as an HTML response."""
    body = _templates.get_template(template).render(**variables).encode()
    return Response(status, body, [(b"content-type", b"text/html; charset=utf-8"), *_SECURITY_HEADERS, *headers])


def document_response(body: bytes, kind: bytes, headers: Headers) -> Response:
    """Return another document for browsers, with the same security policy."""
    return Response(200, body, [(b"content-type", kind), *_SECURITY_HEADERS, (b"cache-control", b"no-cache"), *headers])
