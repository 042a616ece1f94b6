"""One answer on its way out. What is whole goes in a single write; what is streamed goes through uvicorn, in pieces."""

import struct
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from perdure.http.answers import EVERYWHERE, READABLE_ANYWHERE
from perdure.http.message import CYCLE, READING, Headers, Response, Scope

_WITHOUT_BODY: Final = (204, 304)
_TIMED_OUT: Final = 408
# All that may stand in a header. What is left when these are taken out of a head must be its line ends and no more.
_PLAIN: Final = bytes(byte for byte in range(256) if byte == 9 or (byte >= 32 and byte != 127))
_LINE_END: Final = b"\r\n"
# What a client is told when a connection is closed: that it was broken off, or that this is the end.
_BROKEN_OFF: Final = struct.pack("ii", 1, 0)
_ENDED: Final = struct.pack("ii", 0, 0)


class Outgoing:
    """Adds the headers that all answers have, and remembers what was sent."""

    __slots__ = ("_cycle", "_ends_with_connection", "_held", "_is_readable_anywhere", "size", "status")

    def __init__(self, scope: Scope) -> None:
        self._cycle: RequestResponseCycle = scope[CYCLE]
        self._is_readable_anywhere = scope["method"] in READING
        self._held: Any = None  # a head, until it is known whether what follows is all
        self._ends_with_connection = False
        self.status = 0
        self.size = 0

    def keep_from_other_origins(self) -> None:
        """Let no page of another origin read this answer."""
        self._is_readable_anywhere = False

    async def respond(self, response: Response) -> None:
        """The whole of it, with its length; in place of a head that was only announced."""
        if self.status:
            raise RuntimeError("an answer has begun already, and another would be read as a part of it")
        self._held = None
        await self._whole(response.status, response.headers, response.body)

    async def __call__(self, message: Any) -> None:
        """As applications send: a head, and a body in one piece or many."""
        if message["type"] == "http.response.start":
            self._held = message
            return
        head, self._held = self._held, None
        body, goes_on = message.get("body", b""), message.get("more_body", False)
        if head is not None:
            if not goes_on:
                headers = [one for one in head.get("headers", ()) if one[0].lower() != b"content-length"]
                await self._whole(head["status"], headers, body)
                return
            await self._begin(head)
        self.size += len(body)
        if self._ends_with_connection:
            self._cycle.expected_content_length = len(body)  # uvicorn sends no more than it expects
            if not goes_on:
                self._on_close(_ENDED)
        await self._cycle.send(message)

    async def _begin(self, head: Any) -> None:
        """The head of what comes in pieces.

        HTTP/1.0 knows no chunks: there the end of the connection is that of the answer, and so an answer that stops
        before its end has to break it off, or half of it would pass for all.
        """
        headers = [*self._common(), *head.get("headers", ())]
        _head(headers)
        cycle = self._cycle
        self._end_if_unsure()
        self.status = head["status"]
        if cycle.scope["http_version"] == "1.0":
            self._ends_with_connection = True
            cycle.chunked_encoding = cycle.keep_alive = False
            self._on_close(_BROKEN_OFF)
        head["headers"] = headers
        await cycle.send(head)

    def _end_if_unsure(self) -> None:
        """Close the connection behind an answer to a client that still waits to be told to send the body.

        It may send the body now or leave it out: what comes next could be either that or another request.
        """
        cycle = self._cycle
        if cycle.waiting_for_100_continue and cycle.more_body and not cycle.body:
            cycle.keep_alive = False

    def _on_close(self, told: bytes) -> None:
        transport = self._cycle.transport
        if not transport.is_closing():  # else the number of its socket may be another's by now
            transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, told)

    def _common(self) -> Headers:
        return [*EVERYWHERE, *READABLE_ANYWHERE] if self._is_readable_anywhere else EVERYWHERE

    async def _whole(self, status: int, headers: Headers, body: bytes) -> None:
        cycle = self._cycle
        self._end_if_unsure()
        lines = [*cycle.default_headers, *self._common(), *headers]
        if status not in _WITHOUT_BODY:
            lines.append((b"content-length", b"%d" % len(body)))
        if status == _TIMED_OUT:  # the rest of the request is not waited for
            cycle.keep_alive = False
        if not cycle.keep_alive:
            lines.append((b"connection", b"close"))
        head = _head(lines)
        self.status, self.size = status, len(body)
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        shown = b"" if cycle.scope["method"] == "HEAD" else body
        cycle.transport.write(b"".join((STATUS_LINE[status], head, _LINE_END, shown)))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()


def _head(headers: Headers) -> bytes:
    """The lines of a head; a RuntimeError, before anything is sent, if one would be more than one line."""
    head = b"".join([b"%b: %b\r\n" % header for header in headers])
    if head.translate(None, _PLAIN) != _LINE_END * len(headers):
        raise RuntimeError("a header would have broken its line")
    return head
