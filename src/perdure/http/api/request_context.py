"""The context of an API request: the request, its caller and the application; and helpers for handlers."""

from contextlib import AbstractAsyncContextManager
from typing import Annotated, Final

from litestar import Response
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, PathParameter, QueryParameter
from litestar.types import Scope

from perdure.http.api.schemas.responses import IdentifierResponse, ProblemDocument
from perdure.http.api.schemas.values import RequestSchema
from perdure.http.api.views import build_identifier
from perdure.http.app_context import AppContext
from perdure.http.auth.transport_policy import missing_credentials_error
from perdure.http.shared.conditional import version_etag
from perdure.http.shared.problem_json import PROBLEM_JSON
from perdure.http.shared.request import Headers, Request
from perdure.http.shared.semaphore import BulkLimiter
from perdure.names import handle
from perdure.registry import Agent, Registry, show
from perdure.registry.identifier_view import View

CONTEXT_KEY: Final = "context"  # its key in the state of the ASGI scope

Name = Annotated[
    str,
    PathParameter(
        description="An identifier in any common notation: percent-encoded as one segment, or as the rest of the path.",
        examples=[Example(value="12345/Y35XYS0QH")],
    ),
]
IfMatch = Annotated[
    str | None,
    HeaderParameter(
        name="If-Match",
        description='The ETag of the version that you have read, as in "3"; or * for any version. Required for '
        "every change.",
        examples=[Example(value='"1"')],
    ),
]
PageLimit = Annotated[int, QueryParameter(ge=1, le=1000, description="The maximum number of results.")]

CREDENTIALS_REQUIRED: Final[list[dict[str, list[str]]]] = [{"bearer": []}, {"basic": []}]
CREDENTIALS_OPTIONAL: Final[list[dict[str, list[str]]]] = [{}, *CREDENTIALS_REQUIRED]
CREDENTIALS_UNUSED: Final[list[dict[str, list[str]]]] = [{}]

STATUS_DESCRIPTIONS: Final = {
    304: "Not modified: you have the current version.",
    308: "The identifier has another canonical spelling: see `Location`.",
    400: "The request, or a name in it, is malformed.",
    401: "Credentials are required, or are invalid.",
    403: "Permission is missing.",
    404: "Not found.",
    408: "The body was not received in time.",
    409: "The state of the resource does not allow this, or the name is taken.",
    410: "The identifier was withdrawn.",
    412: "The precondition failed: the resource has changed.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
    416: "No byte of the file is in the requested range.",
    422: "A field, a parameter or a header is invalid; `part` names it.",
    423: "Another request has this open.",
    428: "If-Match is required.",
    429: "Too many failed logins, or too many concurrent requests of one client.",
    460: "The checksum does not match: the part was discarded.",
    502: "Another server gave no usable answer.",
    503: "Temporarily unavailable: try again later.",
    507: "The disk of the server is full, or a quota is exceeded.",
}
_COMMON_STATUSES: Final = (400, 401, 403, 422, 429, 503, 507)


class ApiContext:
    """The context of one API request."""

    __slots__ = ("app", "body", "bulk_limiter", "caller", "error_headers", "is_in_framework", "path_name", "request")

    def __init__(self, app: AppContext, request: Request, caller: Agent | None, bulk_limiter: BulkLimiter) -> None:
        self.app = app
        self.request = request
        self.caller = caller
        self.bulk_limiter = bulk_limiter  # limits concurrent bulk requests
        self.body: RequestSchema | None = None  # the parsed body
        self.path_name = ""  # the name in the path, percent-encoded
        self.error_headers: Headers = []  # in addition to those of every error
        self.is_in_framework = False  # from then on, errors have the same caching headers as other responses

    @property
    def registry(self) -> Registry:
        return self.app.registry

    @property
    def agent(self) -> Agent:
        """The authenticated caller. Raise CredentialsRequired for an anonymous request."""
        if self.caller is None:
            raise missing_credentials_error(self.request)
        return self.caller

    def acquire_search_slot(self) -> AbstractAsyncContextManager[None]:
        return self.app.search_limiter.slot(self.request.client)

    def clamp_limit(self, limit: int) -> int:
        """Return the limit, at most the page size of the settings."""
        return min(limit, self.app.options.page_size)


def decode_name(escaped: str) -> str:
    """Decode a name from a path, once and strictly."""
    return handle.unescape(escaped)


async def identifier_response(context: ApiContext, name: str, status: int = 200) -> Response[IdentifierResponse]:
    """Respond with the current state of an identifier."""
    return view_response(await show(context.registry, name, by=context.caller), status)


def validator_headers(etag: str) -> dict[str, str]:
    """Return the headers of a resource that clients revalidate, and that depends on the permissions of the caller."""
    return {"etag": etag, "cache-control": "no-cache", "vary": "authorization"}


def view_response(view: View, status: int = 200, *, with_handle_record: bool = False) -> Response[IdentifierResponse]:
    return Response(
        build_identifier(view, with_handle_record=with_handle_record),
        status_code=status,
        headers=validator_headers(version_etag(view.version)),
    )


def error_responses(*statuses: int) -> dict[int, ResponseSpec]:
    """Return the error responses of an operation, for the OpenAPI document."""
    return {
        status: ResponseSpec(
            None if status < 400 else ProblemDocument,
            generate_examples=False,
            description=STATUS_DESCRIPTIONS[status],
            media_type=PROBLEM_JSON.decode(),
        )
        for status in sorted({*_COMMON_STATUSES, *statuses})
    }


def get_context(scope: Scope) -> ApiContext:
    context: ApiContext = scope["state"][CONTEXT_KEY]
    return context


InjectedContext = NamedDependency[ApiContext]
