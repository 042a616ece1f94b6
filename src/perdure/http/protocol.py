"""The HTTP protocol of one connection: uvicorn's own, with an express lane and with bounds.

The parser is llhttp, and everything but the express lane is left to uvicorn. A request is answered here only when the
connection has nothing else in progress, so that answers keep their order and a client that does not read is waited for.
"""

import asyncio
from math import inf
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from perdure.http.lane import Lane
from perdure.http.pacing import NOT_HTTP, PacedProtocol

# With one of these, an answer may depend on more than the name.
_TELLING: Final = frozenset(
    {
        b"authorization",
        b"content-length",
        b"transfer-encoding",
        b"expect",
        b"upgrade",
        b"range",
        b"if-none-match",
        b"connection",
        b"accept",
    }
)


def wants_page(accept: bytes) -> bool:
    """Whether what a client accepts is what browsers do: a page before anything else, or whatever there is.

    >>> wants_page(b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), wants_page(b"text/turtle")
    (True, False)
    """
    return accept == b"*/*" or accept == b"text/html" or (accept.startswith(b"text/html,") and b"json" not in accept)


class Protocol(PacedProtocol):
    """One connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._lane: Lane | None = app_state["lane"]
        self._is_usual = self._is_express = self._wants_page = False
        self._bytes = 0
        self.url = b""

    def on_message_begin(self) -> None:
        """What the application is told is put together only if it is asked."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._is_usual = self._lane is not None
        self._is_express = False
        self._wants_page = True
        self._bytes = 0
        self._is_in_head = True
        if not self._is_stuck:
            self.deadline = self._pulse.now + self._head_seconds

    def on_url(self, url: bytes) -> None:
        self.url += url
        if len(self.url) > self._options.url_bytes:
            self._refuse(b"414 URI Too Long", b"the address is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._not_understood = 0
        if not self._is_in_head:
            return  # behind a body: nobody may say there who they are
        name = name.lower()
        self.headers.append((name, value))
        self._bytes += len(name) + len(value)
        if name in _TELLING:
            self._tell(name, value)
        if self._bytes > self._options.header_bytes or len(self.headers) > self._options.headers:
            self._refuse(b"431 Request Header Fields Too Large", b"the headers are too long")

    def _tell(self, name: bytes, value: bytes) -> None:
        """What this header means for the express lane."""
        if name == b"accept":
            self._wants_page = self._wants_page and wants_page(value)
        elif name != b"connection" or value.lower() != b"keep-alive":
            self._is_usual = False
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True

    def on_headers_complete(self) -> None:
        self._not_understood = 0
        self._is_in_head = False
        if not self._is_stuck:
            self.deadline = inf
        if self._is_refused:
            return
        version = self.parser.get_http_version()
        self._is_express = (
            self._is_usual
            and version == "1.1"
            and self.parser.get_method() == b"GET"
            and (self.cycle is None or self.cycle.response_complete)
            and not self.pipeline
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )
        if self._is_express:
            return
        if version in ("1.1", "1.0"):
            self._ask_application()
        else:
            self._refuse(b"400 Bad Request", NOT_HTTP)

    def on_body(self, body: bytes) -> None:
        self._not_understood = 0
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_refused:
            return
        lane = self._lane
        if self._is_express and lane is not None:
            answer = lane.answer(self.url, self._wants_page, self.server_state.default_headers)
            if answer is not None:
                self.transport.write(answer)
                if lane.access is not None:
                    lane.access.express(self.client, self.url, answer)
                self.on_response_complete()
                return
            self._ask_application()
        super().on_message_complete()

    def _ask_application(self) -> None:
        self._is_express = False
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url = url
        self.headers.extend(headers)
        self.expect_100_continue = expects
        super().on_headers_complete()
