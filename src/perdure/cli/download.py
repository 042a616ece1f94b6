"""Download of a source from the web, with its SHA-256 digest.

Only the command downloads, never the server: it can reach only what its user can reach anyway.
"""

from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final, NamedTuple
from urllib.error import URLError
from urllib.parse import quote, urljoin, urlsplit, urlunsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from perdure import __version__
from perdure.cli.deadline import Deadline
from perdure.cli.progress import byte_progress
from perdure.errors import InvalidInput, PerdureError, quote_text
from perdure.records.web_address import to_ascii_host

MAX_BYTES: Final = 1 << 30
_READ_TIMEOUT: Final = 30.0  # seconds between two packets
_TOTAL_TIMEOUT: Final = 3_600.0  # seconds for the whole download
_MAX_REDIRECTS: Final = 10
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_OK: Final = 200
_CHUNK: Final = 65_536
_PROGRESS_FROM: Final = 1 << 20  # bytes, for a progress bar
_SCHEMES: Final = ("http", "https")
_SAFE_CHARACTERS: Final = "%/?:@!$&'()*+,;=~-._[]"


class DownloadFailed(PerdureError):
    """The source could not be downloaded completely, so it has no digest."""

    code = "not-fetched"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        instead = "nothing was written; save the source yourself, and give the file with --content"
        return f"{quote_text(self.url)} was not downloaded: {self.reason} ({instead})"


class Download(NamedTuple):
    """The digest and size of a source. `address` is the URL after redirects, `at` the time of retrieval."""

    digest: str
    size: int
    address: str
    at: str


def download(
    url: str, *, max_bytes: int = MAX_BYTES, read_timeout: float = _READ_TIMEOUT, total_timeout: float = _TOTAL_TIMEOUT
) -> Download:
    """Download a URL and return its SHA-256 digest. Raise `DownloadFailed` if it is incomplete."""
    address = _to_ascii_url(url, "utf-8")
    deadline = Deadline(total_timeout)
    try:
        response, address = _open_source(url, address, deadline, read_timeout)
        at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        with response:
            digest, size = _hash_body(response, url, max_bytes)
        if deadline.is_over:  # a closed connection may look like the end of the content
            raise TimeoutError
    except (OSError, HTTPException, ValueError) as problem:
        raise DownloadFailed(
            url, _timeout_reason(total_timeout) if deadline.is_over else _failure_reason(problem)
        ) from None
    finally:
        deadline.cancel()
    return Download(digest, size, address, at)


def _open_source(url: str, address: str, deadline: Deadline, read_timeout: float) -> tuple[HTTPResponse, str]:
    """Return the response with the source, and its URL after redirects."""
    opener = OpenerDirector()  # only http and https, and without automatic redirects
    opener.addheaders = [("User-Agent", f"perdure/{__version__}")]
    for handler in (ProxyHandler(), _Http(deadline), _Https(deadline)):
        opener.add_handler(handler)
    for _ in range(_MAX_REDIRECTS + 1):
        response = opener.open(Request(address), timeout=read_timeout)  # noqa: S310  (the scheme was checked)
        if response.status not in _REDIRECTS:
            if response.status != _OK:
                response.close()
                raise DownloadFailed(url, f"the server responded {response.status} {response.reason}".rstrip())
            return response, address
        response.close()
        location = response.headers.get("Location")
        if not location:
            raise DownloadFailed(url, f"the server responded {response.status} without a Location header")
        try:
            address = _to_ascii_url(urljoin(address, location), "latin-1")
        except InvalidInput:
            raise DownloadFailed(url, f"unsupported redirect to {quote_text(location)}") from None
    raise DownloadFailed(url, f"more than {_MAX_REDIRECTS} redirects")


def _hash_body(response: HTTPResponse, url: str, max_bytes: int) -> tuple[str, int]:
    expected = response.length
    if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise DownloadFailed(url, "the server compressed the response, which was not requested")
    if expected is None and "Content-Length" in response.headers and not response.chunked:
        raise DownloadFailed(url, f"invalid Content-Length {quote_text(response.headers['Content-Length'])}")
    if expected is not None and expected > max_bytes:
        raise DownloadFailed(url, f"it is larger than {max_bytes} bytes")
    digest, size = sha256(), 0
    with byte_progress() as bar:
        task = bar.add_task("downloading", total=expected, visible=expected is None or expected > _PROGRESS_FROM)
        while piece := response.read1(_CHUNK):
            size += len(piece)
            if size > max_bytes:
                raise DownloadFailed(url, f"it is larger than {max_bytes} bytes")
            digest.update(piece)
            bar.advance(task, len(piece))
    if expected is not None and size != expected:  # http.client does not report this
        raise DownloadFailed(url, f"the connection was closed after {size} of {expected} bytes")
    return digest.hexdigest(), size


def _to_ascii_url(url: str, encoding: str) -> str:
    """Return a URL in ASCII, as a request needs it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        host = host if not host or ":" in host else to_ascii_host(host)
    except ValueError as problem:  # invalid host or port
        raise InvalidInput("person", "source_url", f"{quote_text(url)} cannot be downloaded: {problem}") from None
    if parts.scheme not in _SCHEMES or not host:
        raise InvalidInput("person", "source_url", f"only http and https URLs can be downloaded, not {quote_text(url)}")
    if "@" in parts.netloc:
        reason = "the source_url contains a user name or password, which would become public"
        raise InvalidInput("person", "source_url", reason)
    netloc = f"[{host}]" if ":" in host else host
    path, query = (quote(text, _SAFE_CHARACTERS, encoding) for text in (parts.path or "/", parts.query))
    return urlunsplit((parts.scheme, netloc if port is None else f"{netloc}:{port}", path, query, ""))


def _timeout_reason(total_timeout: float) -> str:
    return f"timeout: it took longer than {total_timeout:g} s"


def _failure_reason(problem: Exception) -> str:
    reason = problem.reason if isinstance(problem, URLError) else problem
    if isinstance(reason, TimeoutError):
        return "timeout: the server did not respond in time"
    if isinstance(reason, HTTPException):
        return f"the connection was closed, or the response is not HTTP: {reason!r}"
    return str(reason) or type(reason).__name__


class _Http(HTTPHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_connection_with_deadline, HTTPConnection, self._deadline), req)


class _Https(HTTPSHandler):
    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_connection_with_deadline, HTTPSConnection, self._deadline), req)


def _connection_with_deadline(
    kind: Callable[..., HTTPConnection], deadline: Deadline, host: str, **options: Any
) -> HTTPConnection:
    """Return a connection that the deadline watches as soon as it is open."""
    connection = kind(host, **options)
    connect = connection.connect

    def connect_and_watch() -> None:
        connect()
        deadline.watch_socket(connection.sock)

    connection.connect = connect_and_watch  # type: ignore[method-assign]
    return connection
