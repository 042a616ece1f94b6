"""Handlers that are called without the framework."""

import asyncio
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from litestar import Response, get, post
from litestar.params import HeaderParameter, PathParameter, QueryParameter

from perdure.http.api.litestar_bypass import DIRECT, DirectHandler, is_direct
from perdure.http.routes import API_ROUTES


def test_minting_and_observing_are_called_directly() -> None:
    handlers = [route.handler for route in API_ROUTES if is_direct(route.handler)]
    assert [handler.operation_id for handler in handlers] == ["mint", "mintIbi", "observe"]
    for handler in handlers:
        DirectHandler(handler)  # which rejects parameters that it cannot pass


def test_the_decorated_function_is_called_with_body_and_headers() -> None:
    @post("/things/{name:str}", opt=DIRECT, status_code=201)
    async def make(
        context: Any,
        data: Any,
        name: Annotated[str, PathParameter()],
        token: Annotated[str | None, HeaderParameter(name="X-Token")] = None,
    ) -> Response[dict[str, Any]]:
        return Response({"data": data, "name": name, "token": token}, status_code=201, headers={"etag": '"1"'})

    context: Any = SimpleNamespace(path_name="a%2Fb", request=SimpleNamespace(header={b"x-token": "secret"}.get))
    response = asyncio.run(DirectHandler(make)(context, [1]))
    assert (response.status, response.body) == (201, b'{"data":[1],"name":"a%2Fb","token":"secret"}')
    assert list(response.headers) == [(b"content-type", b"application/json"), (b"etag", b'"1"')]


def test_a_parameter_that_cannot_be_passed_is_an_error() -> None:
    @get("/things", opt=DIRECT)
    async def find(context: Any, q: Annotated[str, QueryParameter()]) -> None: ...

    with pytest.raises(TypeError, match="the parameter q"):
        DirectHandler(find)
