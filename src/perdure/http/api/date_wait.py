"""The wait of a request for the dates of its names. It ends early if the client leaves, or if the server stops."""

import asyncio
from fractions import Fraction
from typing import Final

from perdure.http.api.request_context import ApiContext
from perdure.http.shared.http_errors import ClientDisconnected, ServerStops
from perdure.http.shared.response_stream import wait_for_disconnect
from perdure.timelines.clock import now_seconds

_SHORT: Final = 1  # second: for so long, a request waits in any case
_SHUTDOWN_SHARE: Final = 0.5  # of the time that a shutdown may take, for which it waits for dates


async def wait_for_dates(context: ApiContext, due: Fraction, wait: Fraction) -> None:
    """Return when the dates have come. Raise ServerStops if they come too late for a shutdown that has begun.

    Raise ClientDisconnected when the client has closed the connection, so that another one gets the place.
    """
    clock = context.registry.clock
    if wait <= _SHORT:
        await clock.wait_until(due)
        return
    coming = asyncio.create_task(clock.wait_until(due))
    leaving = asyncio.create_task(wait_for_disconnect(context.request.receive))
    stopping: asyncio.Task[object] = asyncio.create_task(context.app.stopping.wait())
    try:
        await asyncio.wait((coming, leaving, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not coming.done() and not leaving.done():
            remaining = due - now_seconds(clock)
            if remaining > context.app.options.shutdown_seconds * _SHUTDOWN_SHARE:
                raise ServerStops(remaining)
            await asyncio.wait((coming, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            raise ClientDisconnected
        coming.result()  # raises an error if the clock was set back
    finally:
        for task in (coming, leaving, stopping):
            task.cancel()
