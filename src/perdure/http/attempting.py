"""One attempt to answer: within its time, and with an end that can be told, however its door tells errors."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from perdure.errors import PerdureError
from perdure.http.message import READING, Request, Response
from perdure.http.problems import status_of
from perdure.http.pulse import Limit
from perdure.http.refusals import BodyTooSlow, ClientGone, TookTooLong
from perdure.http.service import Service

_INTERNAL: Final = "something went wrong here, and the log says what"
_log = structlog.get_logger("perdure.http")


async def attempted(service: Service, request: Request, door: str, work: Callable[[], Awaitable[Response]]) -> Response:
    """What the work gives. Whatever goes wrong is a PerdureError; what is our own fault has been logged and counted."""
    try:
        with Limit(service.pulse, service.options.request_seconds):
            return await work()
    except TimeoutError:
        problem = out_of_time(request)
    except PerdureError as found:
        problem = found
    except ClientGone:
        raise
    except Exception:
        _log.exception("a request failed", door=door)
        service.metrics.failed("internal")
        raise PerdureError(_INTERNAL) from None
    if status_of(problem) >= 500:
        _log.error("a request failed", door=door, code=problem.code, reason=str(problem))
        service.metrics.failed(problem.code)
    raise problem


def out_of_time(request: Request) -> PerdureError:
    """Whose time it was. As long as a body has not come, nothing is done with it."""
    return BodyTooSlow() if request.is_receiving else TookTooLong(request.method not in READING)
