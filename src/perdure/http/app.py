"""The application: every request that the express lane leaves, sent to its door."""

import asyncio
import gc
import multiprocessing
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import structlog

from perdure.errors import PerdureError
from perdure.folder import open_registry
from perdure.http import handle_api, monitoring, resolving
from perdure.http.access_log import AccessLog
from perdure.http.answers import PREFLIGHT
from perdure.http.attempting import attempted
from perdure.http.lane import Lane
from perdure.http.message import CYCLE, Receive, Request, Response, Scope, Send
from perdure.http.outgoing import Outgoing
from perdure.http.problems import problem_response
from perdure.http.refusals import ClientGone, Malformed
from perdure.http.service import Service
from perdure.http.v1 import own_api
from perdure.http_options import HttpOptions

Handler = Callable[[Service, Request], Awaitable[Response]]

_OWN_API: Final = "/api/v1"
_METRICS: Final = "/metrics"
_TELL_EVERY: Final = 1.0  # seconds between two countings
_OBJECTS_BETWEEN: Final = 10_000  # new ones before the collector looks for cycles: a busy second makes a million
_log = structlog.get_logger("perdure.http")


class Application:
    """What uvicorn calls. The registry is opened when it starts, and closed when the last answer is out."""

    def __init__(self, folder: Path, options: HttpOptions) -> None:
        self._folder = folder
        self._options = options
        self._doors: tuple[tuple[str, str, Handler], ...] = ()
        self._own: Any = None
        self._service: Service | None = None
        self._access = AccessLog(options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            await receive()
            try:
                registry = await stack.enter_async_context(open_registry(self._folder))
                service = Service(registry, self._options)
                await service.prefixes.refresh()
                self._open(service)
                scope["state"] |= {
                    "lane": Lane(service, self._access),
                    "options": self._options,
                    "pulse": service.pulse,
                }
                _end_with_supervisor()
                for work in (service.pulse.beat(), _tell(service, self._access)):
                    stack.callback(asyncio.create_task(work).cancel)
            except PerdureError as problem:
                await send({"type": "lifespan.startup.failed", "message": str(problem)})
                return
            # What is loaded by now stays for good: the collector need not walk over it while readers wait.
            gc.collect()
            gc.freeze()
            gc.set_threshold(_OBJECTS_BETWEEN, *gc.get_threshold()[1:])
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self._access.close()
        await send({"type": "lifespan.shutdown.complete"})

    def _open(self, service: Service) -> None:
        self._service = service
        self._own = own_api(service)
        # The first that the path begins with.
        self._doors = (
            ("/api/handles", "handles", handle_api.handles),
            ("/api/prefixes", "prefixes", handle_api.prefixes),
            ("/api/site", "site", handle_api.site),
            ("/api/sessions", "sessions", handle_api.sessions),
            ("/api/verifications", "verifications", handle_api.verifications),
            ("/api", "handles", handle_api.unknown),
            ("/hrls/handles", "reverse", handle_api.reverse),
            ("/healthz", "monitoring", _telling_problems("monitoring", monitoring.health)),
            ("/readyz", "monitoring", _telling_problems("monitoring", monitoring.readiness)),
            (_METRICS, "monitoring", _telling_problems("monitoring", monitoring.counted)),
            ("", "resolver", _telling_problems("resolver", resolving.resolve)),
        )

    async def _answer(self, scope: Scope, receive: Receive) -> None:
        service = self._service
        assert service is not None  # noqa: S101  (requests come after the start)
        started = time.perf_counter()
        outgoing = Outgoing(scope)
        door = "resolver"
        request = Request(scope, receive, self._options)
        try:
            if is_under(request.path, _OWN_API):
                door = "v1"
                await self._own(request, outgoing)
            else:
                if is_under(request.path, _METRICS):
                    outgoing.keep_from_other_origins()
                door, response = await self._response(service, request)
                await outgoing.respond(response)
        except ClientGone:
            pass
        except PerdureError as problem:  # of the request itself, before any door
            await outgoing.respond(problem_response(problem))
        except Exception:
            _log.exception("a request failed", door=door)
            service.metrics.failed("internal")
            if not outgoing.status:
                await outgoing.respond(_internal())
        del scope[CYCLE]  # which holds the scope: what holds itself is never freed at once
        seconds = time.perf_counter() - started
        service.metrics.answered(door, scope["method"], outgoing.status or 499, seconds)
        self._access.told(request, outgoing.status or 499, outgoing.size, seconds)

    async def _response(self, service: Service, request: Request) -> tuple[str, Response]:
        door, handler = next((name, handler) for path, name, handler in self._doors if is_under(request.path, path))
        is_preflight = request.method == "OPTIONS" and request.header(b"access-control-request-method") is not None
        if is_preflight and not is_under(request.path, _METRICS):
            return door, _preflight()
        if not request.path.startswith("/"):
            return door, problem_response(Malformed("the target of the request is no path"))
        return door, await handler(service, request)


def _telling_problems(door: str, handler: Handler) -> Handler:
    """A handler whose errors are told as problem documents. Those of the Handle interface tell their own."""

    async def telling(service: Service, request: Request) -> Response:
        try:
            return await attempted(service, request, door, lambda: handler(service, request))
        except PerdureError as problem:
            return problem_response(problem)

    return telling


def is_under(path: str, root: str) -> bool:
    """Whether a path is this one, or goes on below it."""
    return path.startswith(root) and (len(path) == len(root) or not root or path[len(root)] == "/")


def _preflight() -> Response:
    """A page of another origin may read, with the headers that reading needs, and nothing else."""
    return Response(204, b"", PREFLIGHT)


def _internal() -> Response:
    problem = PerdureError("something went wrong here, and the log says what")
    return problem_response(problem)


def _end_with_supervisor() -> None:
    """End this worker as SIGTERM does, once the process that started it is gone, however that ended."""
    supervisor = multiprocessing.parent_process()
    if supervisor is None:
        return
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.remove_reader(supervisor.sentinel)
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(supervisor.sentinel, end)  # the other end of this pipe is the supervisor's alone


async def _tell(service: Service, access: AccessLog) -> None:
    while True:
        await asyncio.sleep(_TELL_EVERY)
        access.flush()
        service.tell()
