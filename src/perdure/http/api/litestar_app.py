"""The Litestar application: routing, conversion of parameters, responses, and the OpenAPI document."""

from collections.abc import Sequence
from typing import Any, Final

from litestar import Litestar, Request, Response
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme, Server, Tag

from perdure import __version__
from perdure.errors import InvalidInput, PerdureError
from perdure.http.api.request_context import CONTEXT_KEY, ApiContext, get_context
from perdure.http.app_context import AppContext
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.http_errors import CredentialsRequired, MalformedRequest
from perdure.http.shared.problem_json import problem_response
from perdure.http.shared.request import Headers
from perdure.http.shared.request import Request as HttpRequest
from perdure.http.shared.request import Response as HttpResponse

_BEARER: Final = b'Bearer realm="perdure"'

_DESCRIPTION: Final = """
Mint, bind, change, withdraw, look up and search identifiers of every scheme that this registry supports.

- A name in a path is percent-encoded as one segment (`12345%2Fabc`), or the rest of the path (`12345/abc`).
- Every change of an existing identifier requires `If-Match`, with the `ETag` of the version that you have read, or `*`.
- Errors are problem documents (RFC 9457). The meaning of a `code` never changes: see `/api/v1/errors`.
- A closed padlock marks operations that require credentials. With an open one they are optional: some show more to \
authenticated agents.
- Times are ISO 8601 in UTC. Fields and parameters that are not documented here are rejected.
"""


class StrictRequest(Request[Any, Any, Any]):
    """A request whose body has been parsed strictly before: the framework would accept "1" for 1."""

    async def json(self) -> Any:
        context: ApiContext = self.scope["state"][CONTEXT_KEY]
        return context.body


def build_app(handlers: Sequence[Any]) -> Litestar:
    """Return the framework with these handlers. Their errors are raised to the caller."""
    return Litestar(
        route_handlers=handlers,
        request_class=StrictRequest,
        dependencies={"context": Provide(get_context, sync_to_thread=False)},
        exception_handlers={Exception: _raise},
        openapi_config=OpenAPIConfig(
            title="Perdure",
            use_handler_docstrings=True,
            version=__version__,
            description=_DESCRIPTION.strip(),
            servers=[Server(url=API_ROOT)],
            components=Components(
                security_schemes={
                    "bearer": SecurityScheme(
                        type="http", scheme="bearer", description="A key of this registry: perdure_…"
                    ),
                    "basic": SecurityScheme(
                        type="http",
                        scheme="basic",
                        description="An agent's short name and key, or index:handle (percent-encoded) and secret key.",
                    ),
                }
            ),
            tags=[
                Tag(name="identifiers", description="Their content, and changes to it."),
                Tag(name="history", description="Earlier versions."),
                Tag(name="finding", description="Search by content, and follow changes."),
                Tag(
                    name="persons",
                    description="Observations from sources (POID), and reconstructions by curators (PRID).",
                ),
                Tag(name="statistics", description="How often identifiers were resolved."),
                Tag(name="prefixes", description="The namespaces of this registry."),
                Tag(name="pools", description="IBI subsystems that share the requests to mint."),
                Tag(name="items", description="Files that are stored under the labels of their items."),
                Tag(name="bulk", description="Import and export of many records."),
                Tag(
                    name="agents",
                    description="People and programs, their keys and their permissions. `me` is the caller.",
                ),
                Tag(name="errors", description="The meaning of error codes."),
            ],
        ),
        logging_config=None,
        debug=False,
    )


def _raise(request: Request[Any, Any, Any], problem: Exception) -> Response[Any]:
    raise problem


def to_perdure_error(problem: HTTPException) -> PerdureError:
    """Return an error of the framework in the terms of this API."""
    if isinstance(problem, ValidationException):
        first = problem.extra[0] if isinstance(problem.extra, list) and problem.extra else {}
        part = str(first.get("key", "request"))
        return InvalidInput("request", part, f"{part}: {first.get('message', 'invalid')}")
    return MalformedRequest(problem.detail)


def error_response(app: AppContext, request: HttpRequest, problem: PerdureError) -> HttpResponse:
    """Return a problem document. A response with status 401 names the authentication schemes."""
    response = problem_response(problem)
    if response.status != 401:
        return response
    is_wrong = not isinstance(problem, CredentialsRequired)
    ours: Headers = [(b"www-authenticate", _BEARER + (b', error="invalid_token"' if is_wrong else b""))]
    return response.with_headers([*ours, *app.authenticator.challenges()])
