"""The entry point of /api/v1: bounds, authenticates and strictly parses each request before a handler sees it.

Handlers with the option DIRECT are called without the framework.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from litestar import Response as FrameworkResponse
from litestar.exceptions import HTTPException, LitestarException

from perdure.errors import InvalidInput, PerdureError
from perdure.http.api import swagger_ui
from perdure.http.api.agent_paths import is_agent_path, match_agent_path
from perdure.http.api.item_paths import is_item_path, match_item_path, path_parameters
from perdure.http.api.litestar_app import build_app, error_response, to_perdure_error
from perdure.http.api.litestar_bypass import to_response
from perdure.http.api.openapi import Operation, build_openapi, index_operations
from perdure.http.api.person_paths import parse_person_path
from perdure.http.api.request_context import CONTEXT_KEY, ApiContext
from perdure.http.api.schemas.requests import parse_body
from perdure.http.app_context import AppContext
from perdure.http.auth.transport_policy import missing_credentials_error
from perdure.http.items import tus
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.conditional import reject_if_match
from perdure.http.shared.cors import preflight_headers
from perdure.http.shared.http_errors import (
    ClientDisconnected,
    MethodNotAllowed,
    NotFound,
    UnsupportedMediaType,
)
from perdure.http.shared.media_type import body_media_type
from perdure.http.shared.query_string import parse_query
from perdure.http.shared.redirects import encode_location
from perdure.http.shared.request import SAFE_METHODS, Headers, Receive, Request, Response, Send
from perdure.http.shared.responses import MAX_AGE_DAY, NO_CACHE
from perdure.http.shared.semaphore import BulkLimiter

JSON: Final = "application/json"
_ACT: Final = re.compile(r"/([a-z-]+)/\{[a-z]+\}/([a-z-]+)")  # on one thing, whose id has no slash
_BULK_AT_ONCE: Final = 2
_BULK_OF_ONE_AGENT: Final = 8

OtherTypeHandler = Callable[[ApiContext], Awaitable[FrameworkResponse[Any]]]


class ApiRoute(NamedTuple):
    """An operation, with the method and the path that its handler declares for the OpenAPI document.

    `other_types` are handlers of bodies that are not JSON, by their media type. The time of a bulk operation is not
    limited as a whole. An operation of tus answers each request in the way of that protocol, also one that is refused.
    """

    method: str
    path: str
    handler: Any
    other_types: Mapping[str, OtherTypeHandler] = {}
    is_bulk: bool = False
    options: Callable[[AppContext], Headers] | None = None  # headers of the response to OPTIONS
    is_tus: bool = False


class ApiGateway:
    """All operations of /api/v1, behind the checks that come before the framework."""

    def __init__(self, app: AppContext, routes: Sequence[ApiRoute]) -> None:
        self._app = app
        self._framework = build_app([route.handler for route in routes])
        document = build_openapi(self._framework)
        self._document = msgspec.json.encode(document)
        self._operations = index_operations(self._framework, document)
        self._other_types = {
            (route.path, media): handler for route in routes for media, handler in route.other_types.items()
        }
        acts = ((path, _ACT.fullmatch(path)) for path in self._operations if not is_agent_path(path))
        self._acts = {match.groups(): path for path, match in acts if match is not None}
        roots = {
            path.partition("/{")[0]: path
            for path in self._operations
            if "{" in path and path not in self._acts.values() and not is_agent_path(path) and not is_item_path(path)
        }
        self._named = {root: path for root, path in roots.items() if root}
        self._tus = {route.path for route in routes if route.is_tus}
        self._options = {route.path: route.options for route in routes if route.options is not None}
        self._bulk_limiter = BulkLimiter("bulk bodies", at_once=_BULK_AT_ONCE, each=_BULK_OF_ONE_AGENT)

    async def redirect_to_docs(self, app: AppContext, request: Request) -> Response:
        """Return a redirect to the documentation."""
        return _read_only(request) or Response(307, b"", [(b"location", f"{API_ROOT}/docs".encode())])

    async def openapi_document(self, app: AppContext, request: Request) -> Response:
        """Return the OpenAPI document."""
        headers = [(b"content-type", JSON.encode()), NO_CACHE]
        return _read_only(request) or Response(200, self._document, headers)

    async def docs_page(self, app: AppContext, request: Request) -> Response:
        """Return the page on which the API can be tried."""
        return _read_only(request) or swagger_ui.page_response()

    async def docs_asset(self, app: AppContext, request: Request) -> Response:
        """Return a file that the page loads."""
        return _read_only(request) or swagger_ui.asset_response(request.rest.removeprefix("/"))

    async def respond(self, app: AppContext, request: Request) -> Response | None:
        """Return the response of an operation; None if the framework has written it."""
        context = ApiContext(app, request, None, self._bulk_limiter)
        request.state = context
        path, inner, canonical = self._match_path(request.path.removeprefix(API_ROOT))
        allowed = self._operations[path]
        if path in self._tus:
            context.error_headers = tus.OF_ERRORS
            request.method = tus.stated_method(request)
        if request.method == "OPTIONS":
            more = self._options.get(path)
            return _options_response(request, tuple(allowed)).with_headers([] if more is None else more(app))
        operation = allowed.get(request.method) or (allowed.get("GET") if request.method == "HEAD" else None)
        if operation is None:
            raise MethodNotAllowed(request.method, _allowed_methods(tuple(allowed)))
        if canonical is not None and request.method in SAFE_METHODS:
            return _canonical_redirect(canonical, request.query)
        context.caller = await app.authenticator.authenticate(request)
        if context.caller is None and request.method not in SAFE_METHODS:
            raise missing_credentials_error(request)
        _check_query(request, operation)
        if not operation.is_conditional and request.method not in SAFE_METHODS:
            reject_if_match(request)
        if operation.streamed is not None:
            return await operation.streamed(context, path_parameters(path, request.path.removeprefix(API_ROOT)))
        receive = request.receive
        if operation.body is not None:
            media = body_media_type(request)
            if media != JSON:
                return await self._respond_other_type(context, path, media)
            context.body = parse_body(operation.body, await request.body())
            if operation.direct is not None:
                context.path_name = inner.rpartition("/")[2]
                return await operation.direct(context, context.body)
            receive = _with_empty_body(request.receive)
        await self._call_framework(context, inner, receive)
        return None

    async def _respond_other_type(self, context: ApiContext, path: str, media: str) -> Response:
        handler = self._other_types.get((path, media))
        if handler is None:
            raise UnsupportedMediaType(" or ".join((JSON, *(other for at, other in self._other_types if at == path))))
        return to_response(await handler(context))

    async def _call_framework(self, context: ApiContext, path: str, receive: Receive) -> None:
        request = context.request
        assert request.send is not None  # noqa: S101  (the application sets it)
        context.is_in_framework = True
        scope: Any = {
            **request.scope,
            "method": "GET" if request.method == "HEAD" else request.method,
            "path": path,
            "raw_path": path.encode("latin-1"),
            "state": {**request.scope.get("state", {}), CONTEXT_KEY: context},
        }
        try:
            await self._framework(scope, receive, _with_cache_headers(context, request.send))  # type: ignore[arg-type]
        except HTTPException as problem:
            if problem.status_code >= 500:
                raise
            raise to_perdure_error(problem) from None
        except LitestarException as problem:  # after the response had started
            if isinstance(problem.__cause__, ClientDisconnected):
                raise problem.__cause__ from None
            raise

    def _match_path(self, below: str) -> tuple[str, str, str | None]:
        """Return the path template, the path for the framework with the name as one segment, and a redirect target.

        There is a redirect target only if the identifier of a person is not in its canonical spelling.
        """
        if below in self._operations and "{" not in below:
            return below, below, None
        of_agent = match_agent_path(below)
        if of_agent is not None:
            return of_agent, below, None
        of_item = match_item_path(below)
        if of_item is not None:
            return of_item, below, None
        root, _, rest = below[1:].partition("/")
        one, _, act = rest.partition("/")
        if one and (path := self._acts.get((root, act))) is not None:
            return path, below, None
        path = self._named.get(f"/{root}")
        if path is not None and rest:
            return path, f"/{root}/{rest.replace('/', '%2F')}", None
        person = parse_person_path(below)
        if person is None or person.path not in self._operations:
            raise NotFound()
        return person.path, below, person.canonical


def format_error(app: AppContext, request: Request, problem: PerdureError) -> Response:
    """Return an error as a problem document."""
    response = error_response(app, request, problem)
    context = request.state
    if isinstance(context, ApiContext):
        response = response.with_headers(context.error_headers)
    if isinstance(context, ApiContext) and context.is_in_framework:
        return response._replace(headers=_cache_headers(context, response.headers))
    return response


def _read_only(request: Request) -> Response | None:
    """Return the response to OPTIONS for a document that is only read, or None. Raise MethodNotAllowed for a write."""
    if request.method == "OPTIONS":
        return _options_response(request, ("GET",))
    if request.method not in SAFE_METHODS:
        raise MethodNotAllowed(request.method, _allowed_methods(("GET",)))
    return None


def _with_cache_headers(context: ApiContext, send: Send) -> Send:
    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.lower(), value) for name, value in message["headers"]]
            message = {**message, "headers": _cache_headers(context, headers)}
        await send(message)

    return send_with_headers


def _cache_headers(context: ApiContext, headers: Headers) -> Headers:
    """Return the headers of a response with those for caches.

    No cache may store a response to an authenticated caller. Any other response must be revalidated.
    """
    if context.caller is not None:
        headers = [header for header in headers if header[0] != b"cache-control"]
        headers.append((b"cache-control", b"private, no-store"))
    elif not any(name == b"cache-control" for name, _ in headers):
        headers = [*headers, NO_CACHE]
    if not any(name == b"vary" for name, _ in headers):
        headers = [*headers, (b"vary", b"authorization")]
    return headers


def _canonical_redirect(path: str, query: str) -> Response:
    """Redirect permanently to the canonical spelling."""
    address = encode_location(f"{path}?{query}" if query else path)
    return Response(308, b"", [(b"location", address), MAX_AGE_DAY])


def _check_query(request: Request, operation: Operation) -> None:
    """Reject unknown, repeated and missing parameters: a request with an ignored `dryrun` would write."""
    if not request.query and not operation.required:
        return
    names = Counter(name for name, _ in parse_query(request.query))
    for name, times in names.items():
        if name not in operation.parameters:
            supported = ", ".join(sorted(operation.parameters)) or "none"
            raise InvalidInput("request", name, f"unknown parameter {name!a}; supported: {supported}")
        if times > 1 and name not in operation.repeated:
            raise InvalidInput("request", name, f"the parameter {name} is given more than once")
    for name in sorted(operation.required.difference(names)):
        raise InvalidInput("request", name, f"the parameter {name} is required")


def _allowed_methods(allowed: tuple[str, ...]) -> tuple[str, ...]:
    reading = ("HEAD",) if "GET" in allowed and "HEAD" not in allowed else ()
    return (*allowed, *reading, "OPTIONS")


def _options_response(request: Request, allowed: tuple[str, ...]) -> Response:
    """Return the allowed methods, and those that a page of this origin may use."""
    methods = (b"allow", ", ".join(_allowed_methods(allowed)).encode())
    return Response(204, b"", [methods, *preflight_headers(request)])


def _with_empty_body(receive: Receive) -> Receive:
    """Return a placeholder for the body, which was read: the framework checks that one exists before it asks for it.

    After that, a response that is streamed waits for the client to disconnect.
    """
    is_first = True

    async def receive_placeholder() -> Any:
        nonlocal is_first
        if is_first:
            is_first = False
            return {"type": "http.request", "body": b"{}", "more_body": False}
        return await receive()

    return receive_placeholder
