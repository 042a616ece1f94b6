"""Flow control of one connection: it is read no faster than it is answered, and closed when it times out.

uvicorn reads on while requests are queued, keeps a connection open as long as bytes of any kind arrive, and sets no
limit on a header. A client could fill the memory with any of these, or hold connections that other clients need.
"""

import asyncio
from math import inf
from typing import Any, Final

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from perdure.http.shared.proxy_headers import normalise_ip_address
from perdure.http.shared.request import CYCLE
from perdure.http.shared.timeouts import DeadlineTimer
from perdure.http_options import HttpOptions

_PIECE: Final = 16_384  # bytes to parse at a time: a few hundred requests at most
NOT_HTTP: Final = b"this is not HTTP as it is spoken here"
_ERROR_RESPONSE: Final = b"HTTP/1.1 %b\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"


class _ReadFlow(FlowControl):
    """Resumes reading only when all received requests are in progress."""

    def __init__(self, transport: asyncio.Transport, protocol: "FlowControlledProtocol") -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        if not self._protocol.is_behind:
            super().resume_reading()


class FlowControlledProtocol(HttpToolsProtocol):
    """One connection. Each parser callback that consumes input resets `_unparsed_bytes` to 0."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        options: HttpOptions = app_state["options"]
        self._options = options
        self._deadlines: DeadlineTimer = app_state["deadlines"]
        self._deadlines.connections = server_state.connections
        self._largest_head = options.header_bytes + options.url_bytes
        self._shortest_bound = min(options.header_bytes, options.url_bytes)
        self._head_seconds, self._idle_seconds = options.header_seconds, options.idle_seconds
        self._running: RequestResponseCycle | None = None
        self._buffered = b""  # received, and not parsed until the requests before it are in progress
        self._is_reading_paused = False
        self._unparsed_bytes = 0
        self._is_in_head = False  # a request has begun, and its head is not complete
        self._is_head_timed = False  # the head did not come in one piece
        self._is_refused = False
        self._is_write_stalled = False  # the client does not read its responses
        self.deadline = inf

    @property
    def is_behind(self) -> bool:
        """Whether requests are queued here. Then reading is paused, and the client does not time out."""
        return bool(self.pipeline or self._buffered)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client, self.server = _normalise_endpoint(self.client), _normalise_endpoint(self.server)
        self.flow = _ReadFlow(transport, self)
        self.deadline = self._deadlines.now + self._idle_seconds

    def data_received(self, data: bytes) -> None:
        if self._buffered or len(data) > _PIECE:
            self._buffered += data
            self._parse_buffered()
        else:
            self._parse(data)

    def _parse_buffered(self) -> None:
        """Parse buffered data until a request has to be queued."""
        while self._buffered and not self.pipeline and not self.transport.is_closing():
            piece, self._buffered = self._buffered[:_PIECE], self._buffered[_PIECE:]
            self._parse(piece)
        if self._buffered and not self.transport.is_closing():
            self._is_reading_paused = True
            self.flow.pause_reading()
        elif self._is_reading_paused:
            self._is_reading_paused = False
            if (
                self.cycle is None or len(self.cycle.body) <= HIGH_WATER_LIMIT
            ):  # a body is read as fast as it is consumed
                self.flow.resume_reading()

    def _parse(self, data: bytes) -> None:
        self._unparsed_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(b"400 Bad Request", NOT_HTTP)
        if self._is_in_head:
            self._wait_for_head()
        elif self._unparsed_bytes > self._largest_head:
            self._refuse(b"431 Request Header Fields Too Large", b"what is between or behind the chunks is too long")

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Read a message with an Upgrade header as if it had none, which RFC 9110, section 7.8, allows.

        The parser treats all data after such a head as the other protocol. So a new parser reads the same head
        without the Upgrade header, and then the rest, which may contain more messages of this kind.
        """
        while not self._is_refused:
            version = self.parser.get_http_version().encode()
            lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
            lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
            data = b"\r\n".join((*lines, b"", rest))
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does: the data is ignored
            self._unparsed_bytes = 0
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                rest = data[upgrade.args[0] :]
            except httptools.HttpParserError:
                self._refuse(b"400 Bad Request", NOT_HTTP)

    def _wait_for_head(self) -> None:
        """Start the timeout for the rest of the head, and check its size so far."""
        if not self._is_head_timed:
            self._is_head_timed = True
            if not self._is_write_stalled:
                self.deadline = self._deadlines.now + self._head_seconds
        if len(self.url) > self._options.url_bytes:
            self._refuse(b"414 URI Too Long", b"the address is too long")
        elif self._unparsed_bytes > self._largest_head:
            self._refuse(b"431 Request Header Fields Too Large", b"the headers are too long")

    def on_response_complete(self) -> None:
        """Continue as uvicorn does, but end the idle timeout only when a new request begins."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif not self._is_in_head and not self._is_write_stalled:
            self.deadline = self._deadlines.now + self._idle_seconds
        if self._buffered and not self.pipeline:
            self.loop.call_soon(self._parse_buffered)

    def on_timeout(self) -> None:
        """Close the connection, or refuse the request, because the deadline has passed."""
        if self._is_write_stalled or self.transport.get_write_buffer_size():
            self.transport.abort()  # close() would wait for the client
        elif self.transport.is_closing():
            return
        elif not self._is_in_head:
            self.transport.close()
        elif self.is_behind:  # the rest may have been sent, and is not read yet
            self.deadline = self._deadlines.now + self._head_seconds
        else:
            self._refuse(b"408 Request Timeout", b"the request did not come in time")

    def pause_writing(self) -> None:
        """Start the stall timeout: too much data waits to be sent."""
        super().pause_writing()
        self._is_write_stalled = True
        self.deadline = self._deadlines.now + self._options.stall_seconds

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_write_stalled = False
        if self._is_in_head:
            self.deadline = self._deadlines.now + self._head_seconds
        elif self.cycle is None or self.cycle.response_complete:
            self.deadline = self._deadlines.now + self._idle_seconds
        else:
            self.deadline = inf

    def _refuse(self, status: bytes, reason: bytes) -> None:
        """Close the connection, and send the reason unless the client waits for another response."""
        if self._is_refused:
            return
        self._is_refused = True
        cycle = self.cycle
        is_for_cycle = cycle is not None and cycle.more_body and not cycle.response_started and not self.pipeline
        if (
            cycle is None or (cycle.response_complete and not cycle.more_body) or is_for_cycle
        ):  # never a second response
            self.transport.write(_ERROR_RESPONSE % (status, len(reason), reason))
        self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        cycle.scope[CYCLE] = cycle  # type: ignore[typeddict-unknown-key]
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the running request: uvicorn notifies the newest one only, which may be another."""
        self._buffered = b""
        self.deadline = inf
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)


def _normalise_endpoint(endpoint: tuple[str, Any] | None) -> tuple[str, Any] | None:
    """Return one end of a connection, with its address in the form that the application uses."""
    return None if endpoint is None else (normalise_ip_address(endpoint[0]), endpoint[1])
