"""The ASGI application: it opens the registry, and handles every request that the fast path leaves to it."""

import asyncio
import gc
import multiprocessing
import os
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

import structlog

from perdure.errors import PerdureError
from perdure.folder.registry_folder import open_registry
from perdure.http.app_context import AppContext
from perdure.http.error_boundary import respond
from perdure.http.routes import Routes
from perdure.http.shared.cors import is_from_listed_origin
from perdure.http.shared.logging import AccessLog
from perdure.http.shared.request import CYCLE, Receive, Request, Scope, Send
from perdure.http.shared.response_writer import ResponseWriter
from perdure.http.shared.threads import run_in_thread
from perdure.http.transport.fast_path import FastPath
from perdure.http_options import HttpOptions
from perdure.registry.own_addresses import set_own_addresses

_FLUSH_INTERVAL: Final = 1.0  # seconds between two flushes of the access log and the metrics
_SWEEP_INTERVAL: Final = 3_600.0  # seconds between two removals of expired uploads
_GC_THRESHOLD: Final = 10_000  # new objects before the collector looks for cycles: a busy second creates a million
_CLIENT_CLOSED: Final = 499  # the status in metrics and logs of a request that got no response
_log = structlog.get_logger("perdure.http")


class Application:
    """The callable for uvicorn. It opens the registry at startup, and closes it after the last response."""

    def __init__(self, folder: Path, options: HttpOptions) -> None:
        self._folder = folder
        self._options = options
        self._routes: Routes | None = None
        self._app: AppContext | None = None
        self._access = AccessLog(options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(scope, receive, send)
        elif scope["type"] == "http":
            await self._handle_request(scope, receive)

    async def _run_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            await receive()
            try:
                registry = await stack.enter_async_context(open_registry(self._folder))
                app = AppContext(registry, self._options, self._folder)
                await app.prefixes.refresh()
                self._app, self._routes = app, Routes(app)
                scope["state"] |= {
                    "fast_path": FastPath(app, self._access),
                    "options": self._options,
                    "deadlines": app.deadlines,
                    "stopping": app.stopping,
                }
                _end_with_supervisor()
                background = (
                    app.deadlines.run(),
                    _flush_periodically(app, self._access),
                    _remove_expired(app),
                    app.announcements.run(),
                )
                for work in background:
                    stack.callback(asyncio.create_task(work).cancel)
            except PerdureError as problem:
                await send({"type": "lifespan.startup.failed", "message": str(problem)})
                return
            # Whatever is loaded by now is never freed, so the collector need not walk over it while clients wait.
            gc.collect()
            gc.freeze()
            gc.set_threshold(_GC_THRESHOLD, *gc.get_threshold()[1:])
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await app.resolutions.close()
            await app.close_peers()
            self._access.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _handle_request(self, scope: Scope, receive: Receive) -> None:
        app, routes = self._app, self._routes
        assert app is not None and routes is not None  # noqa: S101, PT018  (requests come after the startup)
        started = time.perf_counter()
        writer = ResponseWriter(scope)
        request = Request(scope, receive, self._options)
        request.send = writer
        set_own_addresses(request.own_addresses)
        route = routes.find(request)
        if not route.is_readable_anywhere:
            writer.forbid_other_origins()
        elif is_from_listed_origin(request):
            writer.allow_other_origins()
        await respond(
            app,
            request,
            writer,
            route.interface,
            route.respond,
            route.format_error,
            has_time_limit=route.has_time_limit,
        )
        # These refer back to the scope and to the request, and objects in a cycle are not freed at once.
        del scope[CYCLE]
        request.state = None
        seconds = time.perf_counter() - started
        status = writer.status or _CLIENT_CLOSED
        app.metrics.count_response(route.interface, scope["method"], status, seconds)
        self._access.log_request(request, status, writer.size, seconds)


def _end_with_supervisor() -> None:
    """End this worker as SIGTERM does when the process that started it has ended, for whatever reason."""
    supervisor = multiprocessing.parent_process()
    if supervisor is None:
        return
    loop = asyncio.get_running_loop()

    def end() -> None:
        loop.remove_reader(supervisor.sentinel)
        os.kill(os.getpid(), signal.SIGTERM)

    loop.add_reader(supervisor.sentinel, end)  # only the supervisor has the other end of this pipe


async def _remove_expired(app: AppContext) -> None:
    """Remove uploads that do not go on, once when the server starts and then every hour."""
    while True:
        try:
            await run_in_thread(app.uploads.remove_expired)
        except PerdureError as problem:
            _log.warning("expired uploads were not removed", reason=str(problem))
        await asyncio.sleep(_SWEEP_INTERVAL)


async def _flush_periodically(app: AppContext, access: AccessLog) -> None:
    while True:
        await asyncio.sleep(_FLUSH_INTERVAL)
        access.flush()
        app.publish_metrics()
        await app.resolutions.update()
