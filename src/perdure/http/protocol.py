"""The HTTP protocol of one connection: uvicorn's own, with an express lane and with bounds.

The parser is llhttp, and everything but the express lane is left to uvicorn. A request is answered here only when the
connection has nothing else in progress, so that answers keep their order and a client that does not read is waited for.
"""

import asyncio
import re
from math import inf
from typing import Any, Final

import httptools
from uvicorn.config import Config
from uvicorn.server import ServerState

from perdure.http.lane import Lane
from perdure.http.pacing import NOT_HTTP, PacedProtocol

# With one of these, an answer may depend on more than the name; the host must be there, and be one.
_TELLING: Final = frozenset(
    {
        b"host",
        b"authorization",
        b"content-length",
        b"transfer-encoding",
        b"expect",
        b"upgrade",
        b"range",
        b"if-none-match",
        b"connection",
        b"accept",
        b"accept-datetime",
    }
)


# RFC 9112, section 3.2: a name or an address, with or without a port; it may be empty, and must not be missing.
_HOST: Final = re.compile(rb"(?:\[[0-9A-Za-z:.%~_-]+\]|[0-9A-Za-z._~%!$&'()*+,;=-]*)(?::[0-9]*)?")
_SEVERAL: Final = b"\n"  # which no header can say
_MOST_HOSTS: Final = 256
_GOOD_HOSTS: Final[set[bytes]] = set()  # a server has few names, so nearly every request comes for one that was seen


def wants_page(accept: bytes) -> bool:
    """Whether what a client accepts is what browsers do: a page before anything else, or whatever there is.

    >>> wants_page(b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"), wants_page(b"text/turtle")
    (True, False)
    """
    return accept == b"*/*" or accept == b"text/html" or (accept.startswith(b"text/html,") and b"json" not in accept)


def _is_target(url: bytes) -> bool:
    """Return whether uvicorn can read a target that the parser has let pass: a path, or an address that has one."""
    if url.startswith(b"/"):
        return True
    try:
        return httptools.parse_url(url).path is not None
    except httptools.HttpParserError:
        return False


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
        self._lane: Lane = app_state["lane"]
        self._lane.server = server_state
        self._access = self._lane.access
        self._is_usual = self._is_express = self.wants_page = self._is_on_its_way = False
        self.url = self.accept = b""
        self.host: bytes | None = None

    def on_message_begin(self) -> None:
        """What the application is told is put together only if it is asked."""
        if self._is_on_its_way:
            self._lane.leave(self)  # one answer after the other, for who asks on without waiting
        self.url = self.accept = b""
        self.host = None
        self.headers = []
        self.expect_100_continue = False
        self._is_usual = self.wants_page = self._is_in_head = True

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:
            return  # behind a body: nobody may say there who they are
        name = name.lower()
        self.headers.append((name, value))
        if name in _TELLING:
            if name == b"host":
                self.host = value if self.host is None else _SEVERAL
            else:
                self._tell(name, value)

    def _tell(self, name: bytes, value: bytes) -> None:
        """What this header means for the express lane."""
        if name == b"accept":
            self.wants_page = self.wants_page and wants_page(value)
            self.accept = b", ".join((self.accept, value)) if self.accept else value
        elif name != b"connection" or value.lower() != b"keep-alive" or self.parser.get_http_version() != "1.1":
            self._is_usual = False
            if name == b"expect":
                is_known = self.parser.get_http_version() != "1.0"  # where it has no meaning
                self.expect_100_continue = is_known and value.lower() == b"100-continue"
            elif name == b"transfer-encoding" and value.lower() != b"chunked":
                # The parser refuses most of these only after the head, when the application is at work already.
                self._refuse(b"501 Not Implemented", b"the only transfer coding that is read here is chunked")

    def on_headers_complete(self) -> None:
        if self._not_understood > self._shortest_bound or len(self.headers) > self._options.headers:
            self._check_size()
        if self.host not in _GOOD_HOSTS:
            self._check_host()
        self._not_understood = 0
        self._is_in_head = self._is_head_timed = False
        if self._is_refused:
            return
        self._is_express = (
            self._is_usual
            and self.parser.should_keep_alive()  # so it is HTTP/1.1
            and self.parser.get_method() == b"GET"
            and (self.cycle is None or self.cycle.response_complete)
            and not self.pipeline
            and not self._is_stuck
            and not self.transport.is_closing()
        )
        if self._is_express:
            return
        if not self.parser.should_upgrade():
            self._ask_application()
        elif self.parser.get_method() == b"CONNECT":
            self._refuse(b"501 Not Implemented", b"this server is no proxy")

    def _check_size(self) -> None:
        """What came may be more than this request: only what belongs to it counts."""
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
            why = b"the header host is there twice" if host is _SEVERAL else b"the header host is no host"
            self._refuse(b"400 Bad Request", why)
        elif len(_GOOD_HOSTS) < _MOST_HOSTS:
            _GOOD_HOSTS.add(host)

    def on_body(self, body: bytes) -> None:
        self._not_understood = 0
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_refused:
            return
        if self._is_express:
            self._is_on_its_way = True
            if not self._is_stuck:
                self.deadline = self._pulse.now + self._options.request_seconds
            self._lane.ask(self)
        elif not self.parser.should_upgrade():  # else it is read once more
            self._end_message()

    def _end_message(self) -> None:
        """Tell the application that this is all. The parser reads no further if a trailer ends the connection."""
        cycle = self.cycle
        super().on_message_complete()
        cycle.more_body = False  # which uvicorn notes only until the answer is out
        self._not_understood = 0
        if cycle.keep_alive and not self.parser.should_keep_alive():
            cycle.keep_alive = False
            if cycle.response_complete:
                self.transport.close()

    def take(self, answer: bytes | None) -> None:
        """From the express lane: the answer, or word that there is none."""
        self._is_on_its_way = False
        if answer is None:
            if not self.transport.is_closing():
                self._ask_application()
                if not self._is_refused:
                    super().on_message_complete()
            return
        self.transport.write(answer)
        if not self._is_stuck:
            self.deadline = self._pulse.now + self._idle_seconds
        if self._access is not None:
            self._access.express(self.client, self.headers, self.url, answer)
        if self._held:
            self.loop.call_soon(self._parse_held)

    def _ask_application(self) -> None:
        self._is_express = False
        if self.parser.get_http_version() not in ("1.1", "1.0") or not _is_target(self.url):
            self._refuse(b"400 Bad Request", NOT_HTTP)
            return
        if not self._is_stuck:
            self.deadline = inf
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url = url
        self.headers.extend(headers)
        self.expect_100_continue = expects
        super().on_headers_complete()

    def overdue(self) -> None:
        if self._is_on_its_way and not self._is_stuck:
            self._lane.leave(self)  # the store does not answer: the application says so
        else:
            super().overdue()

    def shutdown(self) -> None:
        if self._is_on_its_way:
            self._lane.leave(self)
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._is_on_its_way:
            self._lane.leave(self)
        super().connection_lost(exc)
