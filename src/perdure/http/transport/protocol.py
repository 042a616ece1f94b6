"""The HTTP protocol of one connection: uvicorn's, with a fast path and with limits.

The parser is llhttp, and uvicorn does everything but the fast path. A request takes the fast path only when the
connection has no other in progress, so that responses keep their order and the server waits for a client that does not
read.
"""

import asyncio
import re
from math import inf
from typing import Any, Final

import httptools
from uvicorn.config import Config
from uvicorn.server import ServerState

from perdure.http.transport.fast_path import FastPath
from perdure.http.transport.flow_control import NOT_HTTP, FlowControlledProtocol

# With one of these, a response may depend on more than the name. Exactly one Host header is required.
_SIGNIFICANT_HEADERS: Final = frozenset(
    {
        b"host",
        b"user-agent",
        b"authorization",
        b"content-length",
        b"transfer-encoding",
        b"expect",
        b"upgrade",
        b"range",
        b"if-none-match",
        b"if-match",
        b"if-modified-since",
        b"if-unmodified-since",
        b"connection",
        b"accept",
        b"accept-datetime",
    }
)


# RFC 9112, section 3.2: a name or an address, with or without a port. It may be empty, but is required.
_HOST: Final = re.compile(rb"(?:\[[0-9A-Za-z:.%~_-]+\]|[0-9A-Za-z._~%!$&'()*+,;=-]*)(?::[0-9]*)?")
_DUPLICATE_HOST: Final = b"\n"  # a value that no header can have
_MOST_HOSTS: Final = 256
_VALID_HOSTS: Final[set[bytes]] = set()  # a server has few names, so nearly every request has one of these


def wants_page(accept: bytes) -> bool:
    """Return whether an Accept header is like a browser's: HTML before all other types, or any type.

    >>> wants_page(b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), wants_page(b"text/turtle")
    (True, False)
    """
    return accept == b"*/*" or accept == b"text/html" or (accept.startswith(b"text/html,") and b"json" not in accept)


def _is_target(url: bytes) -> bool:
    """Return whether uvicorn can read a target that the parser has accepted: a path, or a URL with a path."""
    if url.startswith(b"/"):
        return True
    try:
        return httptools.parse_url(url).path is not None
    except httptools.HttpParserError:
        return False


class Protocol(FlowControlledProtocol):
    """One connection, with the fast path."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._fast_path: FastPath = app_state["fast_path"]
        self._fast_path.server = server_state
        self._stopping: asyncio.Event = app_state["stopping"]
        self._access = self._fast_path.access
        self._is_simple = self._is_fast_path = self.wants_page = self._is_in_flight = False
        self.url = self.accept = self.if_none_match = self.user_agent = b""
        self.host: bytes | None = None

    def on_message_begin(self) -> None:
        """Begin a request. The scope for the application is built only if the application is called."""
        if self._is_in_flight:
            self._fast_path.abandon(self)  # the client pipelines: keep its responses in order
        self.url = self.accept = self.if_none_match = self.user_agent = b""
        self.host = None
        self.headers = []
        self.expect_100_continue = False
        self._is_simple = self.wants_page = self._is_in_head = True

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:
            return  # a trailer: credentials are not accepted there
        name = name.lower()
        self.headers.append((name, value))
        if name in _SIGNIFICANT_HEADERS:
            if name == b"host":
                self.host = value if self.host is None else _DUPLICATE_HOST
            elif name == b"user-agent":
                self.user_agent = value
            else:
                self._note_header(name, value)

    def _note_header(self, name: bytes, value: bytes) -> None:
        """Record the effect of a header on the fast path."""
        if name == b"accept":
            self.wants_page = self.wants_page and wants_page(value)
            self.accept = b", ".join((self.accept, value)) if self.accept else value
        elif name == b"if-none-match":
            self.if_none_match = b", ".join((self.if_none_match, value)) if self.if_none_match else value
        elif name != b"connection" or value.lower() != b"keep-alive" or self.parser.get_http_version() != "1.1":
            self._is_simple = False
            if name == b"expect":
                is_known = self.parser.get_http_version() != "1.0"  # HTTP/1.0 does not define it
                self.expect_100_continue = is_known and value.lower() == b"100-continue"
            elif name == b"transfer-encoding" and value.lower() != b"chunked":
                # The parser refuses most of these only after the head, when the application already runs.
                self._refuse(b"501 Not Implemented", b"the only transfer coding that is read here is chunked")

    def on_headers_complete(self) -> None:
        if self._unparsed_bytes > self._shortest_bound or len(self.headers) > self._options.headers:
            self._check_size()
        if self.host not in _VALID_HOSTS:
            self._check_host()
        self._unparsed_bytes = 0
        self._is_in_head = self._is_head_timed = False
        if self._is_refused:
            return
        self._is_fast_path = (
            self._is_simple
            and self.parser.should_keep_alive()  # so it is HTTP/1.1
            and self.parser.get_method() == b"GET"
            and (self.cycle is None or self.cycle.response_complete)
            and not self.pipeline
            and not self._is_write_stalled
            and not self.transport.is_closing()
        )
        if self._is_fast_path:
            return
        if not self.parser.should_upgrade():
            self._call_application()
        elif self.parser.get_method() == b"CONNECT":
            self._refuse(b"501 Not Implemented", b"this server is no proxy")

    def _check_size(self) -> None:
        """Check the size of this request only: the received data may contain more than one."""
        options = self._options
        if len(self.url) > options.url_bytes:
            self._refuse(b"414 URI Too Long", b"the address is too long")
        size = sum(len(name) + len(value) for name, value in self.headers)
        if size > options.header_bytes or len(self.headers) > options.headers:
            self._refuse(b"431 Request Header Fields Too Large", b"the headers are too long")

    def _check_host(self) -> None:
        host = self.host
        if host is None:
            if self.parser.get_http_version() != "1.0":
                self._refuse(b"400 Bad Request", b"the header host is missing")
        elif _HOST.fullmatch(host) is None:
            reason = b"the header host is there twice" if host is _DUPLICATE_HOST else b"the header host is no host"
            self._refuse(b"400 Bad Request", reason)
        elif len(_VALID_HOSTS) < _MOST_HOSTS:
            _VALID_HOSTS.add(host)

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_refused:
            return
        if self._is_fast_path:
            self._is_in_flight = True
            if not self._is_write_stalled:
                self.deadline = self._deadlines.now + self._options.request_seconds
            self._fast_path.submit(self)
        elif not self.parser.should_upgrade():  # otherwise a new parser reads it again
            self._end_message()

    def _end_message(self) -> None:
        """Report the message's end to the application. The parser stops after a trailer that ends the connection."""
        cycle = self.cycle
        super().on_message_complete()
        cycle.more_body = False  # uvicorn sets this only before the response is complete
        self._unparsed_bytes = 0
        if cycle.keep_alive and not self.parser.should_keep_alive():
            cycle.keep_alive = False
        if cycle.response_complete and not cycle.keep_alive:
            self._is_refused = True  # what follows in the same packet
            self.transport.close()

    def respond(self, answer: bytes | None) -> None:
        """Send the response of the fast path, or call the application if it has none."""
        self._is_in_flight = False
        if answer is None:
            if not self.transport.is_closing():
                self._call_application()
                if not self._is_refused:
                    super().on_message_complete()
            return
        self.transport.write(answer)
        if not self._is_write_stalled:
            self.deadline = self._deadlines.now + self._idle_seconds
        if self._access is not None:
            self._access.log_fast_path(self.client, self.headers, self.url, answer)
        if self._buffered:
            self.loop.call_soon(self._parse_buffered)

    def _call_application(self) -> None:
        self._is_fast_path = False
        if self.parser.get_http_version() not in ("1.1", "1.0") or not _is_target(self.url):
            self._refuse(b"400 Bad Request", NOT_HTTP)
            return
        if not self._is_write_stalled:
            self.deadline = inf
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url = url
        self.headers.extend(headers)
        self.expect_100_continue = expects
        super().on_headers_complete()

    def on_timeout(self) -> None:
        if self._is_in_flight and not self._is_write_stalled:
            self._fast_path.abandon(self)  # the store does not answer: the application sends the error
        else:
            super().on_timeout()

    def shutdown(self) -> None:
        self._stopping.set()
        if self._is_in_flight:
            self._fast_path.abandon(self)
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_in_flight:
            self._fast_path.abandon(self)
        super().connection_lost(exc)
