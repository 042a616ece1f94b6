"""Health checks and metrics, for monitoring."""

import asyncio

import msgspec

from perdure.errors import PerdureError
from perdure.http.app_context import AppContext
from perdure.http.shared import metrics
from perdure.http.shared.http_errors import ClientNotAllowed
from perdure.http.shared.request import Request, Response
from perdure.http.shared.responses import NO_STORE
from perdure.http.shared.threads import run_in_thread

_STORE_TIMEOUT = 5.0  # seconds for the store to answer


async def liveness(app: AppContext, request: Request) -> Response:
    """Return that the process runs."""
    request.require_read_method()
    return _json_response(200, {"status": "alive"})


async def readiness(app: AppContext, request: Request) -> Response:
    """Return whether the process can answer requests: whether the store does."""
    request.require_read_method()
    try:
        async with asyncio.timeout(_STORE_TIMEOUT):
            sealed = await app.registry.store.seal_reason()
    except (PerdureError, TimeoutError):  # the log has the details, which not every client may read
        return _json_response(503, {"status": "the store does not respond"})
    return _json_response(200, {"status": "ready", "writes": sealed is None})


async def metrics_page(app: AppContext, request: Request) -> Response:
    """Return all metrics, to the clients that may read them."""
    request.require_read_method()
    if not request.is_from(app.options.metrics_networks):
        raise ClientNotAllowed(request.proxy_problem())
    app.publish_metrics()
    body = await run_in_thread(metrics.render_metrics)
    media_type = b"text/plain; version=1.0.0; charset=utf-8"
    return Response(200, body, [(b"content-type", media_type), NO_STORE])


def _json_response(status: int, document: dict[str, object]) -> Response:
    return Response(status, msgspec.json.encode(document), [(b"content-type", b"application/json"), NO_STORE])
