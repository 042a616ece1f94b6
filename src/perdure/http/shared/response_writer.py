"""The writer of responses. A complete response is one write; a streamed one goes through uvicorn."""

import struct
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from perdure.http.shared.cors import CORS_HEADERS
from perdure.http.shared.request import CYCLE, SAFE_METHODS, Headers, Response, Scope
from perdure.http.shared.responses import COMMON_HEADERS, format_head

_WITHOUT_BODY: Final = (204, 304)
_TIMED_OUT: Final = 408
_LINE_END: Final = b"\r\n"
# How a connection is closed: with a reset, or gracefully.
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)
_GRACEFUL_CLOSE: Final = struct.pack("ii", 0, 0)


class ResponseWriter:
    """The response of one request. It adds the headers of all responses, and records status and size."""

    __slots__ = ("_cycle", "_ends_with_connection", "_held", "_is_readable_anywhere", "size", "status")

    def __init__(self, scope: Scope) -> None:
        self._cycle: RequestResponseCycle = scope[CYCLE]
        self._is_readable_anywhere = scope["method"] in SAFE_METHODS
        self._held: Any = None  # a head, until it is known whether the body is complete
        self._ends_with_connection = False
        self.status = 0
        self.size = 0

    def forbid_other_origins(self) -> None:
        """Forbid pages of other origins to read the response."""
        self._is_readable_anywhere = False

    def allow_other_origins(self) -> None:
        """Allow pages of other origins to read the response, also that to a write."""
        self._is_readable_anywhere = True

    async def respond(self, response: Response) -> None:
        """Write a complete response, with its length. It replaces a head that was not sent yet."""
        if self.status:
            raise RuntimeError("the response has begun already; a second one would be read as part of it")
        self._held = None
        await self._send_complete(response.status, response.headers, response.body)

    async def __call__(self, message: Any) -> None:
        """Take a message of an ASGI application: a head, or a part of a body."""
        if message["type"] == "http.response.start":
            self._held = message
            return
        head, self._held = self._held, None
        body, goes_on = message.get("body", b""), message.get("more_body", False)
        if head is not None:
            if not goes_on:
                headers = [one for one in head.get("headers", ()) if one[0].lower() != b"content-length"]
                await self._send_complete(head["status"], headers, body)
                return
            await self._send_head(head)
        self.size += len(body)
        if self._ends_with_connection:
            self._cycle.expected_content_length = len(body)  # uvicorn sends no more than this
            if not goes_on:
                self._set_linger(_GRACEFUL_CLOSE)
        await self._cycle.send(message)

    async def _send_head(self, head: Any) -> None:
        """Send the head of a streamed response.

        HTTP/1.0 has no chunks: the end of the connection is the end of the response. So a response that stops early
        must reset the connection, or half of it would look complete.
        """
        headers = [*self._common_headers(), *head.get("headers", ())]
        format_head(headers)
        cycle = self._cycle
        self._close_if_body_pending()
        self.status = head["status"]
        if cycle.scope["http_version"] == "1.0":
            self._ends_with_connection = True
            cycle.chunked_encoding = cycle.keep_alive = False
            self._set_linger(_RESET_ON_CLOSE)
        head["headers"] = headers
        await cycle.send(head)

    def _close_if_body_pending(self) -> None:
        """Close the connection after a response to a client that waits for 100 Continue.

        The client may send the body now or omit it, so the next bytes could be the body or another request.
        """
        cycle = self._cycle
        if cycle.waiting_for_100_continue and cycle.more_body and not cycle.body:
            cycle.keep_alive = False

    def _set_linger(self, option: bytes) -> None:
        transport = self._cycle.transport
        if not transport.is_closing():  # otherwise the number of its socket may be reused by now
            transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, option)

    def _common_headers(self) -> Headers:
        return [*COMMON_HEADERS, *CORS_HEADERS] if self._is_readable_anywhere else COMMON_HEADERS

    async def _send_complete(self, status: int, headers: Headers, body: bytes) -> None:
        cycle = self._cycle
        self._close_if_body_pending()
        lines = [*cycle.default_headers, *self._common_headers(), *headers]
        if status not in _WITHOUT_BODY:
            lines.append((b"content-length", b"%d" % len(body)))
        if status == _TIMED_OUT:  # the server does not wait for the rest of the request
            cycle.keep_alive = False
        if not cycle.keep_alive:
            lines.append((b"connection", b"close"))
        head = format_head(lines)
        self.status, self.size = status, len(body)
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        sent = b"" if cycle.scope["method"] == "HEAD" else body
        cycle.transport.write(b"".join((STATUS_LINE[status], head, _LINE_END, sent)))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self._end_connection()
        cycle.on_response()

    def _end_connection(self) -> None:
        """Close the connection, at once unless the client is still sending the body.

        Then the rest is read and ignored until the idle timeout: the system would reset a connection with unread data,
        and the client, or a proxy, would lose the response (RFC 9112, section 9.6).
        """
        cycle = self._cycle
        transport = cycle.transport
        if not cycle.more_body or self.status == _TIMED_OUT:
            transport.close()
        elif transport.can_write_eof():
            transport.write_eof()
