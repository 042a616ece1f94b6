"""The log of the server and the access log: JSON lines on the standard error.

A traceback names files and lines, but never values of variables, because one may be a secret.
"""

import sys
import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

import msgspec
import structlog

from perdure.http.shared.proxy_headers import read_origin
from perdure.http.shared.request import Headers, Request
from perdure.http_options import HttpOptions

_FLUSH_AFTER: Final = 1.0
_MOST_LINES: Final = 500
_LONGEST_USER_AGENT: Final = 256
_NANOSECONDS: Final = 1_000_000_000
_encode: Final = msgspec.json.Encoder().encode


def configure_logging() -> None:
    """Configure the log of the server; call it once in every process."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class AccessLog:
    """The access log on the standard error. It has no queries and no credentials, because they may contain secrets.

    Lines are buffered, because there is one for every request.
    """

    def __init__(self, options: HttpOptions) -> None:
        self.is_on = options.access_log
        self._options = options
        self._lines: list[bytes] = []
        self._flushed = time.monotonic()

    def log_request(self, request: Request, status: int, size: int, seconds: float) -> None:
        """Log a request that the application has handled."""
        if self.is_on:
            client = request.client if request.is_client_known else None
            path = request.scope["raw_path"]
            self._append_line(client, request.agent, request.headers, request.method, path, status, size, seconds)

    def log_fast_path(self, peer: tuple[str, int] | None, headers: Headers, url: bytes, answer: bytes) -> None:
        """Log a response of the fast path, which begins with its status. Its time is too short to be measured."""
        origin = read_origin(headers, peer[0] if peer else "", False, self._options)
        client = origin.client if origin.is_known else None
        size = len(answer) - answer.index(b"\r\n\r\n") - 4
        self._append_line(client, None, headers, "GET", url, int(answer[9:12]), size, 0.0)

    def _append_line(
        self,
        client: str | None,
        agent: str | None,
        headers: Headers,
        method: str,
        path: bytes,
        status: int,
        size: int,
        seconds: float,
    ) -> None:
        line = {
            "at": _format_now(),
            "client": client,
            "agent": agent,
            "user_agent": _read_user_agent(headers),
            "method": method,
            "path": path.decode("latin-1"),
            "status": status,
            "bytes": size,
            "seconds": round(seconds, 6),
        }
        self._lines.append(_encode(line))
        if len(self._lines) >= _MOST_LINES or time.monotonic() - self._flushed > _FLUSH_AFTER:
            self.flush()

    def flush(self) -> None:
        """Write the buffered lines."""
        lines, self._lines = self._lines, []
        self._flushed = time.monotonic()
        if lines:
            try:
                sys.stderr.buffer.write(b"\n".join(lines) + b"\n")
                sys.stderr.buffer.flush()
            except (OSError, ValueError):  # the reader of the log is gone, which is not a reason to stop
                self.is_on = False

    def close(self) -> None:
        """Write the last lines."""
        self.flush()


def _read_user_agent(headers: Headers) -> str | None:
    """Return the beginning of User-Agent in ASCII: a terminal may obey other control characters."""
    for name, value in headers:
        if name == b"user-agent":
            return value[:_LONGEST_USER_AGENT].decode("ascii", "backslashreplace")
    return None


def _format_now() -> str:
    """Return the time in ISO 8601, to the millisecond."""
    seconds, nanoseconds = divmod(time.time_ns(), _NANOSECONDS)
    return f"{_format_second(seconds)}.{nanoseconds // 1_000_000:03}Z"


@lru_cache(maxsize=2)
def _format_second(second: int) -> str:
    """Return a second of the epoch in ISO 8601. One is formatted for all the requests in it."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
