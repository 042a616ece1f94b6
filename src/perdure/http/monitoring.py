"""For machines that look after machines: is it alive, can it answer, how much does it do."""

import asyncio

import msgspec

from perdure.errors import PerdureError
from perdure.http import metrics
from perdure.http.message import Request, Response
from perdure.http.refusals import MethodNotAllowed, NotForThisClient
from perdure.http.service import Service

_PATIENCE = 5.0  # seconds for the store to answer


async def health(service: Service, request: Request) -> Response:
    """The process runs."""
    _only_reading(request)
    return _said(200, {"status": "alive"})


async def readiness(service: Service, request: Request) -> Response:
    """The process can answer: the store does."""
    _only_reading(request)
    try:
        async with asyncio.timeout(_PATIENCE):
            sealed = await service.registry.store.sealed()
    except (PerdureError, TimeoutError):  # whoever asks is nobody in particular: the log says what is wrong
        return _said(503, {"status": "the store does not answer"})
    return _said(200, {"status": "ready", "writes": sealed is None})


async def counted(service: Service, request: Request) -> Response:
    """Everything that is counted, for the clients that may see it."""
    _only_reading(request)
    if not request.is_from(service.options.metrics_networks):
        raise NotForThisClient()
    service.tell()
    body = await asyncio.to_thread(metrics.page)
    kind = b"text/plain; version=1.0.0; charset=utf-8"
    return Response(200, body, [(b"content-type", kind), (b"cache-control", b"no-store")])


def _only_reading(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise MethodNotAllowed(request.method, ("GET", "HEAD"))


def _said(status: int, what: dict[str, object]) -> Response:
    return Response(
        status, msgspec.json.encode(what), [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
    )
