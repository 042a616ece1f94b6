"""Who asked for what, one JSON object per line: buffered, because it is written for every request."""

import sys
import time
from typing import Final

import msgspec

from perdure.http.forwarded import read_origin
from perdure.http.message import Headers, Request
from perdure.http_options import HttpOptions

_FLUSH_AFTER: Final = 1.0
_MOST: Final = 500
_LONGEST_USER_AGENT: Final = 256
_encode: Final = msgspec.json.Encoder().encode


class AccessLog:
    """Lines to the standard error. Queries and credentials are not written: they may hold secrets."""

    def __init__(self, options: HttpOptions) -> None:
        self.is_on = options.access_log
        self._options = options
        self._lines: list[bytes] = []
        self._flushed = time.monotonic()

    def told(self, request: Request, status: int, size: int, seconds: float) -> None:
        if self.is_on:
            client = request.client if request.is_client_known else None
            path = request.scope["raw_path"]
            self._say(client, request.agent, request.headers, request.method, path, status, size, seconds)

    def express(self, peer: tuple[str, int] | None, headers: Headers, url: bytes, answer: bytes) -> None:
        """What the express lane answered, in no time worth telling; its status stands at the beginning."""
        origin = read_origin(headers, peer[0] if peer else "", False, self._options)
        client = origin.client if origin.is_known else None
        size = len(answer) - answer.index(b"\r\n\r\n") - 4
        self._say(client, None, headers, "GET", url, int(answer[9:12]), size, 0.0)

    def _say(
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
        said = {
            "at": round(time.time(), 3),
            "client": client,
            "agent": agent,
            "user_agent": _read_user_agent(headers),
            "method": method,
            "path": path.decode("latin-1"),
            "status": status,
            "bytes": size,
            "seconds": round(seconds, 6),
        }
        self._lines.append(_encode(said))
        if len(self._lines) >= _MOST or time.monotonic() - self._flushed > _FLUSH_AFTER:
            self.flush()

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        self._flushed = time.monotonic()
        if lines:
            try:
                sys.stderr.buffer.write(b"\n".join(lines) + b"\n")
                sys.stderr.buffer.flush()
            except (OSError, ValueError):  # nobody reads it any more, which is no reason to stop serving
                self.is_on = False

    def close(self) -> None:
        self.flush()


def _read_user_agent(headers: Headers) -> str | None:
    """Return the beginning of the header User-Agent, in ASCII: a terminal may obey other control characters."""
    for name, value in headers:
        if name == b"user-agent":
            return value[:_LONGEST_USER_AGENT].decode("ascii", "backslashreplace")
    return None
