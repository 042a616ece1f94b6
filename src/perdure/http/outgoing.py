"""One answer on its way out. What is whole goes in a single write; what is streamed goes through uvicorn, in pieces."""

from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from perdure.http.answers import EVERYWHERE, READABLE_ANYWHERE
from perdure.http.message import CYCLE, READING, Headers, Response, Scope

_WITHOUT_BODY: Final = (204, 304)
# All that may stand in a header. What is left when these are taken out of a head must be its line ends and no more.
_PLAIN: Final = bytes(byte for byte in range(256) if byte == 9 or (byte >= 32 and byte != 127))
_LINE_END: Final = b"\r\n"


class Outgoing:
    """Adds the headers that all answers have, and remembers what was sent."""

    __slots__ = ("_cycle", "_held", "_is_reading", "size", "status")

    def __init__(self, scope: Scope) -> None:
        self._cycle: RequestResponseCycle = scope[CYCLE]
        self._is_reading = scope["method"] in READING
        self._held: Any = None  # a head, until it is known whether what follows is all
        self.status = 0
        self.size = 0

    async def respond(self, response: Response) -> None:
        """The whole of it, with its length; in place of a head that was only announced."""
        self._held = None
        await self._whole(response.status, response.headers, response.body)

    async def __call__(self, message: Any) -> None:
        """As applications send: a head, and a body in one piece or many."""
        if message["type"] == "http.response.start":
            self._held = message
            return
        head, self._held = self._held, None
        if head is not None:
            headers = [one for one in head.get("headers", ()) if one[0].lower() != b"content-length"]
            if not message.get("more_body", False):
                await self._whole(head["status"], headers, message.get("body", b""))
                return
            self.status = head["status"]
            head["headers"] = [*self._common(), *head.get("headers", ())]
            await self._cycle.send(head)
        self.size += len(message.get("body", b""))
        await self._cycle.send(message)

    def _common(self) -> Headers:
        return [*EVERYWHERE, *READABLE_ANYWHERE] if self._is_reading else EVERYWHERE

    async def _whole(self, status: int, headers: Headers, body: bytes) -> None:
        cycle = self._cycle
        lines = [b"%b: %b\r\n" % header for header in (*cycle.default_headers, *self._common(), *headers)]
        if status not in _WITHOUT_BODY:
            lines.append(b"content-length: %d\r\n" % len(body))
        if not cycle.keep_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if head.translate(None, _PLAIN) != _LINE_END * len(lines):
            raise RuntimeError("a header would have broken its line")
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
