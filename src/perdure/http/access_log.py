"""Who asked for what, one JSON object per line: buffered, because it is written for every request."""

import sys
import time
from typing import Any, Final

import msgspec

_FLUSH_AFTER: Final = 1.0
_MOST: Final = 500
_encode: Final = msgspec.json.Encoder().encode


class AccessLog:
    """Lines to the standard error. Queries and credentials are not written: they may hold secrets."""

    def __init__(self, is_on: bool) -> None:
        self.is_on = is_on
        self._lines: list[bytes] = []
        self._flushed = time.monotonic()

    def told(self, scope: Any, status: int, size: int, seconds: float) -> None:
        if self.is_on:
            client = (scope.get("client") or ("",))[0]
            self.say(client, scope["method"], scope["raw_path"], status, size, seconds)

    def express(self, client: tuple[str, int] | None, url: bytes, answer: bytes) -> None:
        """What the express lane answered, in no time worth telling; its status stands at the beginning."""
        size = len(answer) - answer.index(b"\r\n\r\n") - 4
        self.say(client[0] if client else "", "GET", url, int(answer[9:12]), size, 0.0)

    def say(self, client: str, method: str, path: bytes, status: int, size: int, seconds: float) -> None:
        said = {
            "at": round(time.time(), 3),
            "client": client,
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
