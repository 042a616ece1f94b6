"""The error boundary: the time limit of a request, and the one place where errors are logged, counted and answered."""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Final

import structlog

from perdure.errors import PerdureError
from perdure.http.app_context import AppContext
from perdure.http.name_suggestions import with_suggestions
from perdure.http.shared.http_errors import BodyTooSlow, ClientDisconnected, RequestTimeout
from perdure.http.shared.problem_json import problem_response, status_of
from perdure.http.shared.request import SAFE_METHODS, Request, Response
from perdure.http.shared.response_writer import ResponseWriter
from perdure.http.shared.timeouts import Timeout

Handler = Callable[[AppContext, Request], Awaitable[Response | None]]
ErrorFormat = Callable[[AppContext, Request, PerdureError], Response]

_INTERNAL_ERROR: Final = "internal server error: see the server log"
_log = structlog.get_logger("perdure.http")


def problem_document(app: AppContext, request: Request, problem: PerdureError) -> Response:
    """Return an error as a problem document, for interfaces without a format of their own."""
    return problem_response(problem)


async def respond(
    app: AppContext,
    request: Request,
    writer: ResponseWriter,
    interface: str,
    handler: Handler,
    format_error: ErrorFormat = problem_document,
    *,
    has_time_limit: bool = True,
) -> None:
    """Run a handler and write its response, or the error that it raises. A handler that writes by itself returns None.

    Errors of the server are logged and counted. Nothing is written after a response that has begun.
    """
    try:
        response = await _run(app, request, interface, handler, format_error, has_time_limit)
        if response is not None and not writer.status:
            await writer.respond(response)
    except ClientDisconnected:
        pass
    except Exception:
        problem = _report_internal_error(app, interface)
        if not writer.status:
            await writer.respond(problem_response(problem))


async def _run(
    app: AppContext,
    request: Request,
    interface: str,
    handler: Handler,
    format_error: ErrorFormat,
    has_time_limit: bool,
) -> Response | None:
    limit = Timeout(app.deadlines, app.options.request_seconds) if has_time_limit else nullcontext()
    try:
        with limit:
            return await handler(app, request)
    except TimeoutError:
        return _report(app, request, interface, format_error, _timeout_error(request))
    except PerdureError as error:
        problem = await with_suggestions(app, request, interface, error)
        return _report(app, request, interface, format_error, problem)
    except ClientDisconnected:
        raise
    except Exception:
        return format_error(app, request, _report_internal_error(app, interface))


def _report(
    app: AppContext, request: Request, interface: str, format_error: ErrorFormat, problem: PerdureError
) -> Response:
    """Return an error as a response; log and count it if it is an error of the server."""
    if status_of(problem) >= 500:
        _log.error("a request failed", interface=interface, code=problem.code, reason=str(problem))
        app.metrics.count_failure(problem.code)
    return format_error(app, request, problem)


def _timeout_error(request: Request) -> PerdureError:
    """Return the error of a request that took too long. Nothing is done with a body before it is complete."""
    return BodyTooSlow() if request.is_receiving else RequestTimeout(request.method not in SAFE_METHODS)


def _report_internal_error(app: AppContext, interface: str) -> PerdureError:
    """Log and count the exception that is being handled, and return the error for the client."""
    _log.exception("a request failed", interface=interface)
    app.metrics.count_failure("internal")
    return PerdureError(_INTERNAL_ERROR)
