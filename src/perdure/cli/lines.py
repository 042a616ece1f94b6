"""A file or a stream as batches of lines, in constant memory whatever it holds."""

import csv
import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK: Final = 1 << 20
LONGEST_FIELD: Final = 1 << 17  # characters, in a table

Progress = Callable[[int], None]  # told how many bytes have been read
Batch = list[tuple[int, str]]  # line number, text


def plain_lines(stream: BinaryIO, progress: Progress) -> Iterator[Batch]:
    """Batches of (line number, line) of a stream with one identifier per line."""
    number = 1
    rest = b""
    while chunk := stream.read(CHUNK):
        progress(len(chunk))
        head, newline, rest = ((rest + chunk) if number > 1 or rest else _without_mark(chunk)).rpartition(b"\n")
        if newline:
            lines = (head + newline).decode("utf-8", "surrogateescape").replace("\r\n", "\n").split("\n")
            lines.pop()
            yield list(enumerate(lines, number))
            number += len(lines)
        rest = rest[:CHUNK]  # the beginning of a line without end is enough to refuse it
    if rest:
        yield [(number, rest.decode("utf-8", "surrogateescape"))]


def table_lines(stream: BinaryIO, progress: Progress, column: str, delimiter: str) -> Iterator[Batch]:
    """The same for one column of a CSV or TSV file: named by its heading, or by its number, counted from 1."""
    counted = io.BufferedReader(_Counted(stream, progress), CHUNK)
    text = io.TextIOWrapper(counted, "utf-8-sig", errors="surrogateescape", newline="")
    csv.field_size_limit(LONGEST_FIELD)
    rows = csv.reader(text, delimiter=delimiter)
    try:
        index = int(column) - 1 if column.isascii() and column.isdigit() else _find(next(rows, []), column)
        batch: Batch = []
        for row in rows:
            batch.append((rows.line_num, row[index] if 0 <= index < len(row) else ""))
            if len(batch) >= 10_000:
                yield batch
                batch = []
        yield batch
    except csv.Error as problem:
        raise InvalidInput("check", "file", f"line {rows.line_num} cannot be read as a table: {problem}") from None


class _Counted(io.RawIOBase):
    def __init__(self, stream: BinaryIO, progress: Progress) -> None:
        self._stream = stream
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        room = memoryview(buffer)
        data = self._stream.read(len(room))
        room[: len(data)] = data
        self._progress(len(data))
        return len(data)


def _find(header: list[str], column: str) -> int:
    if column in header:
        return header.index(column)
    raise InvalidInput("check", "column", f"there is no column {column!r}; the first line has: {', '.join(header)}")


def _without_mark(chunk: bytes) -> bytes:
    if chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput("check", "file", "the file is in UTF-16; save it as UTF-8 first")
    return chunk.removeprefix(b"\xef\xbb\xbf")
