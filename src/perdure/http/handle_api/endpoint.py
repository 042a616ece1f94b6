"""The parts that all endpoints share: their methods, and errors as Handle servers write them."""

from collections.abc import Awaitable, Callable
from typing import Final

from perdure.errors import PerdureError
from perdure.http.app_context import AppContext
from perdure.http.handle_api.parameters import read_parameters
from perdure.http.handle_api.request_context import HandleContext
from perdure.http.handle_api.response_codes import NOT_SUPPORTED, PROTOCOL_ERROR
from perdure.http.shared.http_errors import MethodNotAllowed
from perdure.http.shared.request import Request, Response

Endpoint = Callable[[HandleContext], Awaitable[Response | None]]
Handler = Callable[[AppContext, Request], Awaitable[Response | None]]

_KNOWN: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


def allow_methods(*methods: str) -> Callable[[Endpoint], Handler]:
    """Return a decorator for an endpoint with these methods. Other methods, and OPTIONS, are answered here."""

    def decorate(endpoint: Endpoint) -> Handler:
        async def handler(app: AppContext, request: Request) -> Response | None:
            context = HandleContext(app, request)
            request.state = context
            if request.method not in methods:
                return _respond_other_method(context, methods)
            if request.query or request.method == "POST":
                context.parameters = await read_parameters(request)
            return await endpoint(context)

        return handler

    return decorate


def format_error(app: AppContext, request: Request, problem: PerdureError) -> Response:
    """Return an error as Handle servers write it."""
    context = request.state if isinstance(request.state, HandleContext) else HandleContext(app, request)
    return _error_response(context, problem)


def unknown_endpoint_response(context: HandleContext) -> Response:
    """Return the response of Handle servers to an unknown endpoint."""
    request = context.request
    message = f"Unknown HTTP API endpoint {request.method} {request.path}"
    return context.json_response(404, {"responseCode": PROTOCOL_ERROR, "message": message})


@allow_methods("GET", "HEAD", "POST", "PUT", "DELETE")
async def respond_unknown(context: HandleContext) -> Response:
    """Return an error for any other path below /api."""
    return unknown_endpoint_response(context)


def _respond_other_method(context: HandleContext, methods: tuple[str, ...]) -> Response:
    """Return the response to OPTIONS, or to a method that the endpoint or the server does not have."""
    method = context.request.method
    allowed = (*methods, "OPTIONS")
    if method == "OPTIONS":
        return Response(200, b"", [(b"allow", ", ".join(allowed).encode())])
    if method not in _KNOWN:
        document = {"responseCode": NOT_SUPPORTED, "message": f"{method} is not supported"}
        return context.json_response(501, document)
    return context.error_response(MethodNotAllowed(method, allowed))


def _error_response(context: HandleContext, problem: PerdureError) -> Response:
    try:
        return context.error_response(problem)
    except PerdureError:  # the requested format is part of the error
        context.parameters.pairs.clear()
        return context.error_response(problem)
