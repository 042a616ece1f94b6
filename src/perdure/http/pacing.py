"""How fast a connection is read: never faster than it is answered, and never for longer than it has something to say.

uvicorn reads on while requests wait in line, keeps a connection open for as long as bytes of any kind drip in, and lets
a header grow until it ends. A client could fill the memory with any of these, or hold connections that others need.
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

from perdure.http.addresses import unmapped
from perdure.http.message import CYCLE
from perdure.http.pulse import Pulse
from perdure.http_options import HttpOptions

_PIECE: Final = 16_384  # bytes that are parsed at a time: some hundred requests at most
NOT_HTTP: Final = b"this is not HTTP as it is spoken here"
_ANSWER: Final = b"HTTP/1.1 %b\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"


class _Flow(FlowControl):
    """Reads on only when everything that was read is under way."""

    def __init__(self, transport: asyncio.Transport, protocol: "PacedProtocol") -> None:
        super().__init__(transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        if not self._protocol.is_behind:
            super().resume_reading()


class PacedProtocol(HttpToolsProtocol):
    """One connection. Whoever understands something of what was parsed sets `_not_understood` to nothing."""

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
        self._pulse: Pulse = app_state["pulse"]
        self._pulse.connections = server_state.connections
        self._largest_head = options.header_bytes + options.url_bytes
        self._shortest_bound = min(options.header_bytes, options.url_bytes)
        self._head_seconds, self._idle_seconds = options.header_seconds, options.idle_seconds
        self._running: RequestResponseCycle | None = None
        self._held = b""  # what was read, and waits until the requests before it are under way
        self._is_holding = False
        self._not_understood = 0
        self._is_in_head = False  # a request has begun, and what it asks for is not known yet
        self._is_head_timed = False  # it did not come in one piece
        self._is_refused = False
        self._is_stuck = False  # the client does not take what it asked for
        self.deadline = inf

    @property
    def is_behind(self) -> bool:
        """Whether requests wait in line here: then the client need not hurry, and is not read from."""
        return bool(self.pipeline or self._held)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.client, self.server = _unmapped(self.client), _unmapped(self.server)
        self.flow = _Flow(transport, self)
        self.deadline = self._pulse.now + self._idle_seconds

    def data_received(self, data: bytes) -> None:
        if self._held or len(data) > _PIECE:
            self._held += data
            self._parse_held()
        else:
            self._parse(data)

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
        self._not_understood += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(b"400 Bad Request", NOT_HTTP)
        if self._is_in_head:
            self._wait_for_head()
        elif self._not_understood > self._largest_head:
            self._refuse(b"431 Request Header Fields Too Large", b"what is between or behind the chunks is too long")

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Read a message that asks for another protocol as if it did not, which RFC 9110, section 7.8, allows.

        The parser takes all that follows such a head for the other protocol. So a new parser reads the same head
        without the header Upgrade, and then what follows; there may be more messages of this kind.
        """
        while not self._is_refused:
            version = self.parser.get_http_version().encode()
            lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, version)]
            lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
            data = b"\r\n".join((*lines, b"", rest))
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does: it is passed over
            self._not_understood = 0
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as upgrade:
                rest = data[upgrade.args[0] :]
            except httptools.HttpParserError:
                self._refuse(b"400 Bad Request", NOT_HTTP)

    def _wait_for_head(self) -> None:
        """The rest of it must come in time, however slowly, and not be too long."""
        if not self._is_head_timed:
            self._is_head_timed = True
            if not self._is_stuck:
                self.deadline = self._pulse.now + self._head_seconds
        if len(self.url) > self._options.url_bytes:
            self._refuse(b"414 URI Too Long", b"the address is too long")
        elif self._not_understood > self._largest_head:
            self._refuse(b"431 Request Header Fields Too Large", b"the headers are too long")

    def on_response_complete(self) -> None:
        """As uvicorn has it; only the beginning of a new request ends the time in which a connection may be idle."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.flow.read_paused:
            self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif not self._is_in_head and not self._is_stuck:
            self.deadline = self._pulse.now + self._idle_seconds
        if self._held and not self.pipeline:
            self.loop.call_soon(self._parse_held)

    def overdue(self) -> None:
        """Called when the deadline has passed."""
        if self._is_stuck or self.transport.get_write_buffer_size():
            self.transport.abort()  # to close it would wait for the client
        elif self.transport.is_closing():
            return
        elif not self._is_in_head:
            self.transport.close()
        elif self.is_behind:  # the rest may have been sent, and waits to be read
            self.deadline = self._pulse.now + self._head_seconds
        else:
            self._refuse(b"408 Request Timeout", b"the request did not come in time")

    def pause_writing(self) -> None:
        """More is waiting to be sent than should."""
        super().pause_writing()
        self._is_stuck = True
        self.deadline = self._pulse.now + self._options.stall_seconds

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_stuck = False
        if self._is_in_head:
            self.deadline = self._pulse.now + self._head_seconds
        elif self.cycle is None or self.cycle.response_complete:
            self.deadline = self._pulse.now + self._idle_seconds
        else:
            self.deadline = inf

    def _refuse(self, status: bytes, why: bytes) -> None:
        """Say why, if the client does not wait for another answer, and hang up."""
        if self._is_refused:
            return
        self._is_refused = True
        cycle = self.cycle
        is_about_it = cycle is not None and cycle.more_body and not cycle.response_started and not self.pipeline
        if cycle is None or (cycle.response_complete and not cycle.more_body) or is_about_it:  # never a second answer
            self.transport.write(_ANSWER % (status, len(why), why))
        self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        cycle.scope[CYCLE] = cycle  # type: ignore[typeddict-unknown-key]
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        """uvicorn tells the newest request of this; the one that is being answered may be another."""
        self._held = b""
        self.deadline = inf
        self.pipeline.clear()
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
        super().connection_lost(exc)


def _unmapped(place: tuple[str, Any] | None) -> tuple[str, Any] | None:
    """The two ends of a connection, as everybody behind it sees them."""
    return None if place is None else (unmapped(place[0]), place[1])
