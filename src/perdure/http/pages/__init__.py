"""Pages for people: a few templates, one stylesheet inside them, and nothing from anywhere else.

Whatever a template is given is escaped. The browser is told to run no script and load nothing, and to take only the
very stylesheet that is written here.
"""

import base64
import hashlib
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from perdure.http.message import Headers, Response

_STYLE: Final = files(__name__).joinpath("style.css").read_text("utf-8")
_STYLE_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# A form may be sent here only, but the answer leads to wherever a name leads, and browsers count that too.
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_DIGEST}'; form-action 'self' https: http:; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_GUARDS: Final[Headers] = [(b"content-security-policy", _POLICY.encode())]

_templates: Final = Environment(
    loader=PackageLoader(__name__),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_templates.globals["style"] = Markup(_STYLE)  # noqa: S704  (a file of this package)


def page(template: str, status: int, headers: Headers, /, **said: Any) -> Response:
    """A whole page."""
    body = _templates.get_template(template).render(**said).encode()
    return Response(status, body, [(b"content-type", b"text/html; charset=utf-8"), *_GUARDS, *headers])


def document(body: bytes, kind: bytes, headers: Headers) -> Response:
    """Something else that a browser may show, under the same guard."""
    return Response(200, body, [(b"content-type", kind), *_GUARDS, (b"cache-control", b"no-cache"), *headers])
