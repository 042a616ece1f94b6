"""Streamed responses of lines, and lines spooled for them."""

import csv
import io
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager, suppress
from tempfile import SpooledTemporaryFile
from typing import Any, ClassVar, Final

import msgspec
from litestar import Response
from litestar.types import ASGIApp, Receive, Scope, Send

from perdure.errors import StoreFull, StoreUnavailable, is_full
from perdure.http.shared.response_stream import stream_response

NDJSON: Final = "application/x-ndjson"
CSV: Final = "text/csv"


class NdjsonResponse(Response[bytes]):
    """A streamed response of JSON lines. The client must read each part within `patience` seconds."""

    kind: ClassVar[str] = NDJSON

    def __init__(self, parts: AsyncGenerator[bytes, None], patience: float) -> None:
        super().__init__(b"", media_type=self.kind)
        self._parts = parts
        self._patience = patience

    def to_asgi_response(self, *arguments: Any, **options: Any) -> ASGIApp:  # type: ignore[override]
        return self._send

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", self.kind.encode()), (b"cache-control", b"no-store")]
        await stream_response(self._parts, headers, receive, send, self._patience)  # type: ignore[arg-type]


class CsvResponse(NdjsonResponse):
    """A streamed response of the rows of a table."""

    kind = CSV


_MEMORY_BYTES: Final = 1 << 20
_CHUNK_BYTES: Final = 1 << 16
_OUTCOME: Final = "earlier lines may have been written; it is safe to send them again"
_encode: Final = msgspec.json.Encoder().encode


class SpooledLines:
    """The lines of a bulk response, in memory or in a file until the client has sent its whole body and reads.

    At most `most` lines are stored, and a last one. Further lines are only counted.
    """

    def __init__(self, most: int) -> None:
        self._file = SpooledTemporaryFile(_MEMORY_BYTES)  # noqa: SIM115  (closed after sending)
        self._most = most
        self._count = 0

    def add(self, line: msgspec.Struct) -> None:
        self._count += 1
        if self._count <= self._most:
            self._write(line)

    @property
    def omitted_count(self) -> int:
        return max(0, self._count - self._most)

    def finish(self, last: msgspec.Struct) -> None:
        self._write(last)
        self._rewind()

    def _rewind(self) -> None:
        with _translate_errors():
            self._file.seek(0)  # this also flushes the buffer

    def close(self) -> None:
        with suppress(OSError):  # unwritten lines are no longer needed
            self._file.close()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the content after finish(), and close the file."""
        try:
            while piece := self._file.read(_CHUNK_BYTES):
                yield piece
        finally:
            self.close()

    def _write(self, line: msgspec.Struct) -> None:
        with _translate_errors():
            self._file.write(self._encode_line(line))

    def _encode_line(self, line: msgspec.Struct) -> bytes:
        return _encode(line) + b"\n"


class SpooledTable(SpooledLines):
    """The lines of a bulk response as the rows of a CSV table. An error is in the columns code and detail."""

    def __init__(self, most: int, columns: Sequence[str]) -> None:
        super().__init__(most)
        self._columns = columns
        self._file.write(_encode_row(columns))

    def finish(self, last: msgspec.Struct) -> None:
        """Finish without the last line: the totals are not a row."""
        self._rewind()

    def _encode_line(self, line: msgspec.Struct) -> bytes:
        fields = msgspec.to_builtins(line)
        error = fields.pop("error", {})
        fields |= {member: error[member] for member in ("code", "detail") if error}
        return _encode_row([str(fields.get(column, "")) for column in self._columns])


def _encode_row(cells: Sequence[str]) -> bytes:
    written = io.StringIO(newline="")
    csv.writer(written).writerow(cells)
    return written.getvalue().encode("utf-8", "backslashreplace")


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        if is_full(problem.errno):
            raise StoreFull("the disk of the temporary folder", _OUTCOME) from problem
        raise StoreUnavailable(f"cannot write to the temporary folder ({problem.strerror}): {_OUTCOME}") from problem
