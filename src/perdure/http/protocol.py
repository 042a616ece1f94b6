"""The HTTP protocol of one connection: uvicorn's own, with an express lane and with bounds.

The parser is llhttp, and everything but the express lane is left to uvicorn. A request is answered here only when the
connection has nothing else in progress, so that answers keep their order and a client that does not read is waited for.
"""

import asyncio
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from perdure.http.lane import Lane
from perdure.http.pacing import PacedProtocol
from perdure.http_options import HttpOptions

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
    }
)
_BAD: Final = b"HTTP/1.1 %b\r\ncontent-type: text/plain\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
_DEFAULTS: Final = HttpOptions()


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
        self._lane: Lane | None = app_state.get("lane")
        if "metrics" in app_state:
            app_state["metrics"].open = server_state.connections
        self._options: HttpOptions = app_state.get("options", _DEFAULTS)
        self._is_usual = self._is_express = self._is_refused = False
        self._wants_page = True
        self._bytes = 0
        self._patience: asyncio.TimerHandle | None = None
        self._largest_head = self._options.header_bytes + self._options.url_bytes
        self._has_head = False
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
        self._has_begun = True
        self._has_head = False
        if self._patience is None:
            self._patience = self.loop.call_later(self._options.header_seconds, self._lose_patience)

    def on_url(self, url: bytes) -> None:
        self.url += url
        if len(self.url) > self._options.url_bytes:
            self._refuse(b"414 URI Too Long", b"the address is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._not_understood = 0
        if self._has_head:
            return  # behind a body: nobody may say there who they are
        name = name.lower()
        self.headers.append((name, value))
        self._bytes += len(name) + len(value)
        if name in _TELLING:
            self._is_usual = False
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
        elif name == b"accept":
            self._wants_page = self._wants_page and wants_page(value)
        elif name == b"connection" and value.lower() != b"keep-alive":
            self._is_usual = False
        if self._bytes > self._options.header_bytes or len(self.headers) > self._options.headers:
            self._refuse(b"431 Request Header Fields Too Large", b"the headers are too long")

    def on_headers_complete(self) -> None:
        self._not_understood = 0
        self._has_head = True
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if self._is_refused:
            return
        version = self.parser.get_http_version()
        if version not in ("1.1", "1.0"):
            self._refuse(b"400 Bad Request", b"this is not HTTP as it is spoken here")
            return
        self._is_express = (
            self._is_usual
            and (self.cycle is None or self.cycle.response_complete)
            and not self.pipeline
            and not self.flow.write_paused
            and not self.transport.is_closing()
            and self.parser.get_method() == b"GET"
            and version == "1.1"
        )
        if not self._is_express:
            self._ask_application()

    def on_body(self, body: bytes) -> None:
        self._not_understood = 0
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_refused:
            return
        if self._is_express:
            assert self._lane is not None  # noqa: S101
            answer = self._lane.answer(self.url, self._wants_page, self.server_state.default_headers)
            if answer is not None:
                self.transport.write(answer)
                if self._lane.access is not None:
                    self._lane.access.express(self.client, self.url, answer)
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

    def _lose_patience(self) -> None:
        self._patience = None
        if self.is_behind:  # the rest may have been sent, and waits to be read
            self._patience = self.loop.call_later(self._options.header_seconds, self._lose_patience)
        elif not self.transport.is_closing():
            self._refuse(b"408 Request Timeout", b"the request did not come in time")

    def _refuse(self, status: bytes, why: bytes) -> None:
        """Say why, if the client does not wait for another answer, and hang up."""
        if self._is_refused:
            return
        self._is_refused = True
        cycle = self.cycle
        is_about_it = cycle is not None and cycle.more_body and not cycle.response_started and not self.pipeline
        if cycle is None or cycle.response_complete or is_about_it:
            self.transport.write(_BAD % (status, len(why), why))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        super().connection_lost(exc)
