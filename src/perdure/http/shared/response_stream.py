"""Streamed responses: sent part by part in constant memory, and abandoned when the client stops reading."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from perdure.http.shared.http_errors import ClientDisconnected
from perdure.http.shared.request import Headers, Receive, Send


async def stream_response(
    parts: AsyncGenerator[bytes, None],
    headers: Headers,
    receive: Receive,
    send: Send,
    patience: float,
    status: int = 200,
) -> None:
    """Send the parts. The client must read each of them within `patience` seconds."""
    leaving = asyncio.create_task(wait_for_disconnect(receive))
    try:
        async with aclosing(parts):
            await send({"type": "http.response.start", "status": status, "headers": headers})
            async for part in parts:
                if leaving.done():
                    raise ClientDisconnected()
                await _deliver(send, part, patience, more=True)
            await _deliver(send, b"", patience, more=False)
    finally:
        leaving.cancel()


async def _deliver(send: Send, part: bytes, patience: float, more: bool) -> None:
    try:
        async with asyncio.timeout(patience):
            await send({"type": "http.response.body", "body": part, "more_body": more})
    except TimeoutError:
        raise ClientDisconnected() from None


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the client has disconnected. Ignore everything else that it sends."""
    while (await receive())["type"] != "http.disconnect":
        pass
