"""Answers that are longer than memory: sent as they come, and given up when nobody reads them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from litestar import Response
from litestar.types import ASGIApp, Receive, Scope, Send

from perdure.http.refusals import ClientGone

NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"


class Streamed(Response[bytes]):
    """Lines of JSON. Each part must be taken within `patience` seconds."""

    def __init__(self, parts: AsyncGenerator[bytes, None], patience: float) -> None:
        super().__init__(b"", media_type=NDJSON)
        self._parts = parts
        self._patience = patience

    def to_asgi_response(self, *arguments: Any, **options: Any) -> ASGIApp:  # type: ignore[override]
        return self._send

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", NDJSON.encode()), (b"cache-control", b"no-store")]
        leaving = asyncio.create_task(_left(receive))
        try:
            async with aclosing(self._parts) as parts:
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                async for part in parts:
                    if leaving.done():
                        raise ClientGone()
                    await self._deliver(send, part, more=True)
                await self._deliver(send, b"", more=False)
        finally:
            leaving.cancel()

    async def _deliver(self, send: Send, part: bytes, more: bool) -> None:
        try:
            async with asyncio.timeout(self._patience):
                await send({"type": "http.response.body", "body": part, "more_body": more})
        except TimeoutError:
            raise ClientGone() from None


async def _left(receive: Receive) -> None:
    """Returns when the client has gone; what it still sends is passed over."""
    while (await receive())["type"] != "http.disconnect":
        pass
