"""Fetch a source from the web, and hash it as it comes.

The command does this, and never the server: it goes where the person who types it could go anyway.
"""

import socket
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from functools import partial
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Timer
from typing import Any, Final, NamedTuple
from urllib.error import URLError
from urllib.parse import quote, urljoin, urlsplit, urlunsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from perdure import __version__
from perdure.cli.progress import share_bar
from perdure.errors import InvalidInput, PerdureError, shown
from perdure.records.web_address import ascii_host

MOST_BYTES: Final = 1 << 30
_PATIENCE: Final = 30.0  # seconds for the server to say anything more
_LONGEST: Final = 3_600.0  # seconds for all of it
_MOST_REDIRECTS: Final = 10
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_FOUND: Final = 200
_PIECE: Final = 65_536
_LARGE: Final = 1 << 20  # bytes, from which on a bar is shown
_SCHEMES: Final = ("http", "https")
_UNESCAPED: Final = "%/?:@!$&'()*+,;=~-._[]"


class NotFetched(PerdureError):
    """The source could not be fetched as a whole, so there is nothing that could be hashed."""

    code = "not-fetched"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        instead = "nothing was written; save the source yourself, and give the file with --content"
        return f"{shown(self.url)} was not fetched: {self.reason} ({instead})"


class Fetched(NamedTuple):
    """What came from `address`, where redirects had led, at the time `at`."""

    digest: str
    size: int
    address: str
    at: str


def fetch(url: str, *, most: int = MOST_BYTES, patience: float = _PATIENCE, longest: float = _LONGEST) -> Fetched:
    """The SHA-256 of what is at an address now; NotFetched, unless all of it came."""
    address = _on_the_wire(url, "utf-8")
    watch = _Watch(longest)
    try:
        response, address = _opened(url, address, watch, patience)
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with response:
            digest, size = _hashed(response, url, most)
        if watch.is_over:  # which may look like the end of what was sent
            raise TimeoutError
    except (OSError, HTTPException, ValueError) as problem:
        raise NotFetched(url, _too_slow(longest) if watch.is_over else _why(problem)) from None
    finally:
        watch.end()
    return Fetched(digest, size, address, at)


def _opened(url: str, address: str, watch: "_Watch", patience: float) -> tuple[HTTPResponse, str]:
    """The answer that has the source, and its address."""
    opener = OpenerDirector()  # of no other schemes, and without anything that follows a redirect by itself
    opener.addheaders = [("User-Agent", f"perdure/{__version__}")]
    for handler in (ProxyHandler(), _Http(watch), _Https(watch)):
        opener.add_handler(handler)
    for _ in range(_MOST_REDIRECTS + 1):
        response = opener.open(Request(address), timeout=patience)  # noqa: S310  (the scheme was checked)
        if response.status not in _REDIRECTS:
            if response.status != _FOUND:
                response.close()
                raise NotFetched(url, f"the server answered {response.status} {response.reason}".rstrip())
            return response, address
        response.close()
        place = response.headers.get("Location")
        if not place:
            raise NotFetched(url, f"the server answered {response.status}, and not where it is")
        try:
            address = _on_the_wire(urljoin(address, place), "latin-1")
        except InvalidInput:
            raise NotFetched(url, f"it is redirected to {shown(place)}, where nothing is fetched from") from None
    raise NotFetched(url, f"it is redirected more than {_MOST_REDIRECTS} times")


def _hashed(response: HTTPResponse, url: str, most: int) -> tuple[str, int]:
    expected = response.length
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise NotFetched(url, "the server compresses it on the way, though it was asked not to")
    if expected is None and "Content-Length" in response.headers and not response.chunked:
        raise NotFetched(url, f"the server says its length is {shown(response.headers['Content-Length'])}")
    if expected is not None and expected > most:
        raise NotFetched(url, f"it is longer than {most} bytes")
    whole, size = sha256(), 0
    with share_bar() as bar:
        task = bar.add_task("fetching", total=expected, visible=expected is None or expected > _LARGE)
        while piece := response.read1(_PIECE):
            size += len(piece)
            if size > most:
                raise NotFetched(url, f"it is longer than {most} bytes")
            whole.update(piece)
            bar.advance(task, len(piece))
    if expected is not None and size != expected:  # http.client takes that for the end
        raise NotFetched(url, f"the connection broke off after {size} of {expected} bytes")
    return whole.hexdigest(), size


def _on_the_wire(url: str, encoding: str) -> str:
    """The address in ASCII, as a request has it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host if not host or ":" in host else ascii_host(host)
    except ValueError as problem:  # of a host or a port that is none
        raise InvalidInput("person", "source_url", f"{shown(url)} cannot be fetched: {problem}") from None
    if parts.scheme not in _SCHEMES or not host:
        raise InvalidInput("person", "source_url", f"only http and https can be fetched, and not {shown(url)}")
    if "@" in parts.netloc:
        reason = "the source_url has a user's name or password in it, which everybody would read"
        raise InvalidInput("person", "source_url", reason)
    place = f"[{host}]" if ":" in host else host
    path, query = (quote(text, _UNESCAPED, encoding) for text in (parts.path or "/", parts.query))
    return urlunsplit((parts.scheme, place if port is None else f"{place}:{port}", path, query, ""))


def _too_slow(longest: float) -> str:
    return f"it took longer than {longest:g} s"


def _why(problem: Exception) -> str:
    reason = problem.reason if isinstance(problem, URLError) else problem
    if isinstance(reason, TimeoutError):
        return "the server takes too long to answer"
    if isinstance(reason, HTTPException):
        return f"the connection broke off, or what came is not HTTP: {reason!r}"
    return str(reason) or type(reason).__name__


class _Watch:
    """Ends a connection whose time is over, however steadily something drips from it."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._connected: socket.socket | None = None
        self._timer = Timer(seconds, self._stop)
        self._timer.daemon = True
        self._timer.start()

    def over(self, connected: socket.socket) -> None:
        self._connected = connected
        if self.is_over:
            self._stop()

    def end(self) -> None:
        self._timer.cancel()

    def _stop(self) -> None:
        self.is_over = True
        if self._connected is not None:
            with suppress(OSError):  # it may have ended by itself
                # Past TLS, which would have to wait for whoever is reading.
                socket.socket.shutdown(self._connected, socket.SHUT_RDWR)


class _Http(HTTPHandler):
    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_watched, HTTPConnection, self._watch), req)


class _Https(HTTPSHandler):
    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_watched, HTTPSConnection, self._watch), req)


def _watched(kind: Callable[..., HTTPConnection], watch: _Watch, host: str, **options: Any) -> HTTPConnection:
    """A connection that is under watch as soon as there is one."""
    made = kind(host, **options)
    connect = made.connect

    def connect_and_tell() -> None:
        connect()
        watch.over(made.sock)

    made.connect = connect_and_tell  # type: ignore[method-assign]
    return made
