"""How fast a connection is read: never faster than it is answered, and never for longer than it has something to say.

uvicorn reads on while requests wait in line, keeps a connection open for as long as bytes of any kind drip in, and lets
a header grow until it ends. A client could fill the memory with any of these, or hold connections that others need.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_PIECE: Final = 16_384  # bytes that are parsed at a time: some hundred requests at most


class _Flow(FlowControl):
    """Reads on only when everything that was read is under way."""

    def __init__(self, transport: asyncio.Transport, protocol: "PacedProtocol") -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        if not self._protocol.is_behind:
            super().resume_reading()


class PacedProtocol(HttpToolsProtocol):
    """One connection.

    Whoever handles what was parsed says so by setting `_not_understood` to nothing: `_largest_head` is how many bytes
    may come meanwhile.
    """

    _largest_head = 65_536

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._held = b""  # what was read, and waits until the requests before it are under way
        self._is_holding = False
        self._not_understood = 0
        self._has_begun = False  # a request, since the connection was last idle

    @property
    def is_behind(self) -> bool:
        """Whether requests wait in line here: then the client need not hurry, and is not read from."""
        return bool(self.pipeline or self._held)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _Flow(transport, self)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        if not self._held and len(data) <= _PIECE:
            self._parse(data)
        else:
            self._held += data
            self._parse_held()

    def _parse_held(self) -> None:
        """As far as nobody has to wait in line."""
        while self._held and not self.pipeline and not self.transport.is_closing():
            piece, self._held = self._held[:_PIECE], self._held[_PIECE:]
            self._parse(piece)
        if self._held and not self.transport.is_closing():
            self._is_holding = True
            self.flow.pause_reading()
        elif self._is_holding:
            self._is_holding = False
            if self.cycle is None or len(self.cycle.body) <= HIGH_WATER_LIMIT:  # a body is read as fast as it is used
                self.flow.resume_reading()

    def _parse(self, data: bytes) -> None:
        """Only a new request ends the time in which a connection may be idle: not an empty line, nor what is left."""
        idle, self.timeout_keep_alive_task = self.timeout_keep_alive_task, None
        self._has_begun = False
        self._not_understood += len(data)
        super().data_received(data)
        if self._not_understood > self._largest_head:
            self._refuse(b"431 Request Header Fields Too Large", b"the headers are too long")
        if idle is None:
            return
        if self._has_begun or self.transport.is_closing():
            idle.cancel()
        elif self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = idle

    def on_message_begin(self) -> None:
        self._has_begun = True
        super().on_message_begin()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._held and not self.pipeline:
            self.loop.call_soon(self._parse_held)

    def send_400_response(self, msg: str) -> None:
        self._refuse(b"400 Bad Request", b"this is not HTTP as it is spoken here")

    def _refuse(self, status: bytes, why: bytes) -> None:
        raise NotImplementedError

    def connection_lost(self, exc: Exception | None) -> None:
        self._held = b""
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
        super().connection_lost(exc)
