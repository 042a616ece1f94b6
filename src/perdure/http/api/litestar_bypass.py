"""Direct calls of handlers, without the framework.

The framework spends more time on a request than minting a name or creating an observation takes.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from litestar import Response as FrameworkResponse
from litestar.handlers import HTTPRouteHandler
from litestar.params import HeaderParameter, PathParameter

from perdure.http.api.request_context import ApiContext
from perdure.http.shared.request import Response

DIRECT: Final = {"direct": True}  # the option of a handler that is called directly
STREAMED: Final = {"streamed": True}  # the option of one that also reads the body itself, part by part

_INJECTED: Final = ("context", "data")
_JSON: Final = (b"content-type", b"application/json")
_encode: Final = msgspec.json.Encoder().encode


class DirectHandler:
    """The function of a route, called with the parameters that the framework would pass.

    These are the context, the body, headers, and the name in the path.
    """

    def __init__(self, handler: HTTPRouteHandler) -> None:
        self._function: Callable[..., Awaitable[FrameworkResponse[Any]]] = handler.fn
        self._headers: list[tuple[str, bytes]] = []
        self._names: list[str] = []
        for name, field in handler.parsed_fn_signature.parameters.items():
            kind = field.kwarg_definition
            if isinstance(kind, HeaderParameter) and kind.name is not None:
                self._headers.append((name, kind.name.lower().encode()))
            elif isinstance(kind, PathParameter):
                self._names.append(name)
            elif name not in _INJECTED:
                raise TypeError(f"{handler.operation_id}: a direct handler cannot have the parameter {name}")

    async def __call__(self, context: ApiContext, data: object) -> Response:
        headers = {name: context.request.header(header) for name, header in self._headers}
        names = dict.fromkeys(self._names, context.path_name)
        return to_response(await self._function(context, data=data, **headers, **names))


class StreamedHandler:
    """The function of a route that reads its body part by part, called with the parameters of its path and headers."""

    def __init__(self, handler: HTTPRouteHandler) -> None:
        self._function: Callable[..., Awaitable[FrameworkResponse[Any]]] = handler.fn
        self._headers: list[tuple[str, bytes]] = []
        for name, field in handler.parsed_fn_signature.parameters.items():
            kind = field.kwarg_definition
            if isinstance(kind, HeaderParameter) and kind.name is not None:
                self._headers.append((name, kind.name.lower().encode()))
            elif name not in _INJECTED and not isinstance(kind, PathParameter):
                raise TypeError(f"{handler.operation_id}: a streamed handler cannot have the parameter {name}")

    async def __call__(self, context: ApiContext, path: Mapping[str, str]) -> Response:
        headers = {name: context.request.header(header) for name, header in self._headers}
        return to_response(await self._function(context, **path, **headers))


def is_streamed(handler: HTTPRouteHandler) -> bool:
    """Return whether a handler was declared with the option STREAMED."""
    return STREAMED.items() <= handler.opt.items()


def is_direct(handler: HTTPRouteHandler) -> bool:
    """Return whether a handler was declared with the option DIRECT."""
    return DIRECT.items() <= handler.opt.items()


def to_response(response: FrameworkResponse[Any]) -> Response:
    """Encode the response of a handler as the framework would, without its default headers."""
    headers = [(name.encode(), value.encode("latin-1")) for name, value in response.headers.items()]
    if response.content is None:
        return Response(response.status_code or 200, b"", headers)
    return Response(response.status_code or 200, _encode(response.content), [_JSON, *headers])
