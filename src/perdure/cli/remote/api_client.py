"""HTTP requests to the API of a server: bounded in time and size, never redirected to another host."""

import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, RemoteDisconnected
from typing import Any, Final, NamedTuple
from urllib.error import URLError
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

import msgspec

from perdure import __version__
from perdure.cli.deadline import Deadline
from perdure.cli.remote.reported_error import build_error
from perdure.cli.remote.server_address import ServerAddress
from perdure.errors import PerdureError, quote_text

API_ROOT: Final = "/api/v1"
_MAX_BYTES: Final = 256 << 20  # of a response that is read at once
_LONGEST_LINE: Final = 64 << 20  # of a streamed response: an identifier with all its versions
_CHUNK: Final = 1 << 16
_MAX_REDIRECTS: Final = 3
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_FIRST_ERROR: Final = 400
_PARTIAL: Final = 206
_JSON: Final = ("application/json", "application/problem+json")
_NDJSON: Final = "application/x-ndjson"


class ServerFailed(PerdureError):
    """The server cannot be reached, or its response is not that of a registry."""

    code = "server-failed"

    def __init__(self, url: str, reason: str, *, is_broken: bool = False) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason
        self.is_broken = is_broken  # the connection broke, so it is unknown whether the request was carried out

    def __str__(self) -> str:
        return f"cannot reach {self.url}: {self.reason}"


class Patience(NamedTuple):
    """Seconds between two packets, and for a whole request; None: no limit."""

    packet: float = 60.0
    total: float | None = 120.0


QUICK: Final = Patience()
STREAM: Final = Patience(packet=900.0, total=None)  # while the server reads or writes a whole file

TRANSFER: Final = Patience(packet=60.0, total=None)  # of the content of a file

Query = Mapping[str, Any]


class Answer(NamedTuple):
    """The status and the JSON of a response."""

    status: int
    body: bytes


def request(
    server: ServerAddress,
    method: str,
    path: str,
    *,
    query: Query | None = None,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    patience: Patience = QUICK,
    root: str = API_ROOT,
) -> Answer:
    """Send a request with JSON, and return the response. Raise the error that the server reports."""
    data = None if body is None else msgspec.json.encode(body)
    given = {"Accept": _JSON[0], **({} if data is None else {"Content-Type": _JSON[0]}), **(headers or {})}
    with _open(server, method, root + path, query, data, given, patience) as (response, deadline):
        _check_type(server, response, _JSON)
        with _translate_errors(server, deadline):
            content = _read_all(server, response)
    _raise_reported(server, response, content)
    return Answer(response.status, content)


@contextmanager
def stream_lines(
    server: ServerAddress,
    method: str,
    path: str,
    *,
    query: Query | None = None,
    body: Iterable[bytes] | None = None,
    document: object = None,
) -> Iterator[Iterator[bytes]]:
    """Send a request, with a body of lines or a JSON document if one is given, and yield the lines of the response."""
    data: bytes | Iterable[bytes] | None = body if document is None else msgspec.json.encode(document)
    kind = _NDJSON if document is None else _JSON[0]
    given = {"Accept": _NDJSON, **({} if data is None else {"Content-Type": kind})}
    with _open(server, method, API_ROOT + path, query, data, given, STREAM) as (response, deadline):
        _raise_if_error(server, response, deadline)
        _check_type(server, response, (_NDJSON,))
        yield _read_lines(server, response)


class Reply(NamedTuple):
    """The status and the headers of a response that may have no body."""

    status: int
    headers: Message


def transfer(
    server: ServerAddress,
    method: str,
    path: str,
    headers: Mapping[str, str],
    data: bytes | Iterable[bytes] | None = None,
) -> Reply:
    """Send a request with content that is not JSON. Raise the error that the server reports, except to HEAD."""
    with _open(server, method, path, None, data, {"Accept": _JSON[0], **headers}, STREAM) as (response, deadline):
        if method != "HEAD":
            _raise_if_error(server, response, deadline)
            with _translate_errors(server, deadline):
                _read_all(server, response)
        return Reply(response.status, response.headers)


class Download(NamedTuple):
    """The content of a file: the position of its first byte, and its parts."""

    first: int
    parts: Iterator[bytes]


@contextmanager
def download(server: ServerAddress, path: str, *, query: Query | None = None, first: int = 0) -> Iterator[Download]:
    """Yield the content of a file, from its byte `first` if the server sends ranges; otherwise all of it."""
    given = {"Accept": "*/*", **({"Range": f"bytes={first}-"} if first else {})}
    with _open(server, "GET", path, query, None, given, TRANSFER) as (response, deadline):
        _raise_if_error(server, response, deadline)
        _check_encoding(server, response)
        yield Download(first if response.status == _PARTIAL else 0, _read_parts(server, response))


@contextmanager
def _open(
    server: ServerAddress,
    method: str,
    path: str,
    query: Query | None,
    data: bytes | Iterable[bytes] | None,
    headers: Mapping[str, str],
    patience: Patience,
) -> Iterator[tuple[HTTPResponse, Deadline | None]]:
    """Send a request and yield its response. A redirect is followed on the same server only, and by GET only."""
    given = {key: _to_text(value) for key, value in (query or {}).items() if value is not None}
    url = f"{server.url}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")
    deadline = None if patience.total is None else Deadline(patience.total)
    try:
        for _ in range(_MAX_REDIRECTS + 1):
            with _translate_errors(server, deadline):
                response = _send(server, method, url, data, headers, patience, deadline)
            if response.status not in _REDIRECTS:
                with response:
                    yield response, deadline
                return
            response.close()
            url = _redirected_url(server, method, url, response.headers.get("Location"))
        raise ServerFailed(server.url, f"more than {_MAX_REDIRECTS} redirects")
    finally:
        if deadline is not None:
            deadline.cancel()


def _send(
    server: ServerAddress,
    method: str,
    url: str,
    data: bytes | Iterable[bytes] | None,
    headers: Mapping[str, str],
    patience: Patience,
    deadline: Deadline | None,
) -> HTTPResponse:
    opener = OpenerDirector()  # only http and https, and without automatic redirects
    opener.addheaders = [("User-Agent", f"perdure/{__version__}")]
    for handler in (ProxyHandler(), _Http(deadline), _Https(deadline)):
        opener.add_handler(handler)
    sent = Request(url, data, dict(headers), method=method)  # noqa: S310  (the scheme was checked)
    if server.key is not None:
        sent.add_unredirected_header("Authorization", f"Bearer {server.key}")
    response: HTTPResponse = opener.open(sent, timeout=patience.packet)
    return response


def _redirected_url(server: ServerAddress, method: str, url: str, location: str | None) -> str:
    """Return the URL of a redirect. The key must not reach another host, nor this one without encryption."""
    following = urljoin(url, location or "")
    if urlsplit(following)[:2] != urlsplit(server.url)[:2]:
        reason = f"it redirects to {quote_text(following)}: if that is the right server, give its address with --server"
        raise ServerFailed(server.url, reason)
    if location is None or method != "GET":
        raise ServerFailed(server.url, f"it redirects a {method} request, so nothing was changed")
    return following


def _check_type(server: ServerAddress, response: HTTPResponse, kinds: Iterable[str]) -> None:
    kind = response.headers.get_content_type()
    if kind not in kinds:
        reason = f"no registry answers there: the response is {response.status}, {quote_text(kind)}"
        raise ServerFailed(server.url, reason)
    _check_encoding(server, response)


def _check_encoding(server: ServerAddress, response: HTTPResponse) -> None:
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise ServerFailed(server.url, "it compressed the response, which was not requested")


def _read_all(server: ServerAddress, response: HTTPResponse) -> bytes:
    expected, pieces, size = response.length, [], 0
    while piece := response.read1(_CHUNK):
        pieces.append(piece)
        size += len(piece)
        if size > _MAX_BYTES:
            raise ServerFailed(server.url, f"its response is larger than {_MAX_BYTES >> 20} MiB")
    if expected is not None and size != expected:  # http.client does not report this
        raise ServerFailed(server.url, f"the connection was closed after {size} of {expected} bytes", is_broken=True)
    return b"".join(pieces)


def _read_lines(server: ServerAddress, response: HTTPResponse) -> Iterator[bytes]:
    with _translate_errors(server, None):
        while line := response.readline(_LONGEST_LINE):
            if not line.endswith(b"\n"):
                raise ServerFailed(server.url, "its response is cut, or has a line that is too long", is_broken=True)
            yield line


def _read_parts(server: ServerAddress, response: HTTPResponse) -> Iterator[bytes]:
    with _translate_errors(server, None):
        while part := response.read1(_CHUNK):
            yield part


def _raise_if_error(server: ServerAddress, response: HTTPResponse, deadline: Deadline | None) -> None:
    if response.status >= _FIRST_ERROR:
        _check_type(server, response, _JSON)
        with _translate_errors(server, deadline):
            content = _read_all(server, response)
        _raise_reported(server, response, content)


def _raise_reported(server: ServerAddress, response: HTTPResponse, content: bytes) -> None:
    if response.status < _FIRST_ERROR:
        return
    try:
        document = msgspec.json.decode(content, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ServerFailed(server.url, f"it responded {response.status}, without a readable reason") from None
    raise build_error(document)


@contextmanager
def _translate_errors(server: ServerAddress, deadline: Deadline | None) -> Iterator[None]:
    try:
        yield
    except (OSError, HTTPException, ValueError) as problem:
        if isinstance(problem, PerdureError):
            raise
        reason = problem.reason if isinstance(problem, URLError) else problem
        is_over = deadline is not None and deadline.is_over
        broken = isinstance(reason, (ConnectionError, TimeoutError, HTTPException))
        refused = isinstance(reason, ConnectionRefusedError)
        raise ServerFailed(
            server.url, _explain_failure(reason, is_over=is_over), is_broken=is_over or (broken and not refused)
        ) from None


def _explain_failure(reason: object, *, is_over: bool) -> str:
    if is_over or isinstance(reason, TimeoutError):
        return "timeout: it did not respond in time"
    if isinstance(reason, ssl.SSLCertVerificationError):
        hint = "SSL_CERT_FILE can name a file with the certificate of your own authority"
        return f"its certificate was not accepted: {reason.verify_message} ({hint})"
    if isinstance(reason, ssl.SSLError):
        return f"no encrypted connection: {reason.reason or reason}"
    if isinstance(reason, (ConnectionResetError, BrokenPipeError, RemoteDisconnected)):
        return "the connection was closed without a response"
    if isinstance(reason, HTTPException):
        return f"the connection was closed, or the response is not HTTP ({type(reason).__name__})"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    return str(reason) or type(reason).__name__


def _to_text(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


class _Http(HTTPHandler):
    def __init__(self, deadline: Deadline | None) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_watched_connection, HTTPConnection, self._deadline), req)


class _Https(HTTPSHandler):
    def __init__(self, deadline: Deadline | None) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: Request) -> HTTPResponse:
        connect = partial(_watched_connection, HTTPSConnection, self._deadline)
        return self.do_open(connect, req, context=ssl.create_default_context())


def _watched_connection(
    kind: Callable[..., HTTPConnection], deadline: Deadline | None, host: str, **options: Any
) -> HTTPConnection:
    """Return a connection that the deadline watches, and that reads the answer of a server that stops reading."""
    connection = kind(host, **options)
    connect, send = connection.connect, connection.request

    def connect_and_watch() -> None:
        connect()
        if deadline is not None:
            deadline.watch_socket(connection.sock)

    def send_as_far_as_read(*arguments: Any, **given: Any) -> None:
        try:
            send(*arguments, **given)
        except (BrokenPipeError, ConnectionResetError):
            if connection.sock is None:
                raise

    connection.connect = connect_and_watch  # type: ignore[method-assign]
    connection.request = send_as_far_as_read  # type: ignore[method-assign]
    return connection
