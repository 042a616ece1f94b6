"""What all endpoints have in common: their methods, and errors told as Handle servers tell them."""

from collections.abc import Awaitable, Callable
from typing import Final

from perdure.errors import PerdureError
from perdure.http.attempting import attempted
from perdure.http.handle_api.codes import NOT_SUPPORTED, PROTOCOL_ERROR
from perdure.http.handle_api.exchange import Exchange
from perdure.http.handle_api.parameters import parameters_of
from perdure.http.message import Request, Response
from perdure.http.refusals import MethodNotAllowed
from perdure.http.service import Service

Endpoint = Callable[[Exchange], Awaitable[Response]]
Handler = Callable[[Service, Request], Awaitable[Response]]

_KNOWN: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


def door(*methods: str) -> Callable[[Endpoint], Handler]:
    """An endpoint with the methods that it takes. Those that only ask to be told are answered here."""

    def behind(endpoint: Endpoint) -> Handler:
        async def handler(service: Service, request: Request) -> Response:
            exchange = Exchange(service, request)
            if request.method not in methods:
                return _other(exchange, methods)

            async def work() -> Response:
                if request.query or request.method == "POST":
                    exchange.parameters = await parameters_of(request)
                return await endpoint(exchange)

            try:
                return await attempted(service, request, "handles", work)
            except PerdureError as problem:
                return _refusal(exchange, problem)

        return handler

    return behind


def unknown_endpoint(exchange: Exchange) -> Response:
    request = exchange.request
    message = f"Unknown HTTP API endpoint {request.method} {request.path}"
    return exchange.reply(404, {"responseCode": PROTOCOL_ERROR, "message": message})


@door("GET", "HEAD", "POST", "PUT", "DELETE")
async def unknown(exchange: Exchange) -> Response:
    """Whatever else lies under /api."""
    return unknown_endpoint(exchange)


def _other(exchange: Exchange, methods: tuple[str, ...]) -> Response:
    """A method that this endpoint does not have, or that nobody has."""
    method = exchange.request.method
    allowed = (*methods, "OPTIONS")
    if method == "OPTIONS":
        return Response(200, b"", [(b"allow", ", ".join(allowed).encode())])
    if method not in _KNOWN:
        said = {"responseCode": NOT_SUPPORTED, "message": f"{method} is not supported"}
        return exchange.reply(501, said)
    return exchange.refusal(MethodNotAllowed(method, allowed))


def _refusal(exchange: Exchange, problem: PerdureError) -> Response:
    try:
        return exchange.refusal(problem)
    except PerdureError:  # the form that was asked for is part of what is wrong
        exchange.parameters.pairs.clear()
        return exchange.refusal(problem)
