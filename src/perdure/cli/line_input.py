"""Lines of a file or a stream, in batches and in constant memory."""

import io
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.errors import InvalidInput
from perdure.formats.csv_rows import LONGEST_ROW, read_rows

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK: Final = 1 << 18
ROWS_PER_BATCH: Final = 4096

Progress = Callable[[int], None]  # called with the number of bytes read


class Batch(NamedTuple):
    """Lines with their numbers, counted from 1, and malformed rows of a table with the reason."""

    numbers: Sequence[int]
    lines: list[str]
    unreadable: Sequence[tuple[int, str]] = ()


# First bytes of files that are not text in UTF-8, and what to do about them.
_BINARY_SIGNATURES: Final = {
    b"\xff\xfe": "is in UTF-16; save it as UTF-8 first",
    b"\xfe\xff": "is in UTF-16; save it as UTF-8 first",
    b"\x1f\x8b": "is compressed; unpack it first (zcat FILE | perdure …)",
    b"PK\x03\x04": "is an archive or a spreadsheet; save it as CSV in UTF-8 first",
}
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def plain_lines(stream: io.BufferedReader, progress: Progress) -> Iterator[Batch]:
    """Yield the lines of a stream with one identifier per line."""
    number = 1
    rest = _read_first_chunk(stream, progress)
    while True:
        head, newline, rest = rest.rpartition(b"\n")
        if newline:
            lines = (head + newline).decode("utf-8", "surrogateescape").replace("\r\n", "\n").split("\n")
            lines.pop()
            yield Batch(range(number, number + len(lines)), lines)
            number += len(lines)
        chunk = stream.read1(CHUNK)  # what is available now, so that slow input is answered at once
        if not chunk:
            break
        progress(len(chunk))
        rest = rest[:CHUNK] + chunk  # the beginning of an endless line is enough to refuse it
    if rest:
        yield Batch([number], [rest.decode("utf-8", "surrogateescape")])


def table_lines(stream: io.BufferedReader, progress: Progress, column: str, delimiter: str) -> Iterator[Batch]:
    """Yield one column of a CSV or TSV file, selected by its heading or by its number from 1."""
    text = io.TextIOWrapper(text_stream(stream, progress), "utf-8", errors="surrogateescape", newline="")
    # In a file with tabs, a quotation mark is an ordinary character. In others it must be closed.
    rows = read_rows(_bounded_text_lines(text), delimiter, has_quotes=delimiter != "\t")
    first = next(rows, None)
    if first is None:
        return
    number, header = first
    if isinstance(header, str):
        raise InvalidInput("input", "file", f"line {number} cannot be read as a table: {header}")
    if column.isascii() and column.isdigit():
        index = _column_by_number(header, int(column))
        rows = chain((first,), rows)
    else:
        index = _column_by_heading(header, column)
    while chunk := list(islice(rows, ROWS_PER_BATCH)):
        cells = [(number, row) for number, row in chunk if not isinstance(row, str)]
        yield Batch(
            [number for number, _ in cells],
            [row[index] if index < len(row) else "" for _, row in cells],
            [(number, reason) for number, reason in chunk if isinstance(reason, str)],
        )


def _bounded_text_lines(text: io.TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a table. Of a line that is too long, only the beginning, which is refused as a row."""
    while line := text.readline(LONGEST_ROW):
        yield line
        while len(line) == LONGEST_ROW and not line.endswith(("\r", "\n")):
            line = text.readline(LONGEST_ROW)


def text_stream(stream: io.BufferedReader, progress: Progress) -> io.BufferedReader:
    """Return a stream that starts like text, and that reports its progress."""
    return io.BufferedReader(_ResumedStream(_read_first_chunk(stream, progress), stream, progress), CHUNK)


def bounded_lines(stream: io.BufferedReader, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines. Of a line that is too long, only the beginning, which every format refuses."""
    number = 0
    while line := stream.readline(longest):
        number += 1
        while len(line) == longest and not line.endswith(b"\n") and (more := stream.readline(longest)):
            if more.endswith(b"\n"):
                break
        yield number, line


def _read_first_chunk(stream: io.BufferedReader, progress: Progress) -> bytes:
    """Return the first chunk without a byte order mark, or refuse a file that is not text."""
    chunk = stream.read1(CHUNK)
    progress(len(chunk))
    refuse_binary(chunk)
    return chunk.removeprefix(_BYTE_ORDER_MARK)


def refuse_binary(chunk: bytes) -> None:
    """Raise InvalidInput if the first bytes of a file are not text in UTF-8, or in an encoding like it."""
    for magic, problem in _BINARY_SIGNATURES.items():
        if chunk.startswith(magic):
            raise InvalidInput("input", "file", f"the file {problem}")
    at = chunk.find(b"\0")
    if at >= 0:
        line = chunk.count(b"\n", 0, at) + 1
        reason = f"the file contains null bytes (the first one in line {line}), so it is not text in UTF-8"
        raise InvalidInput("input", "file", f"{reason}; if it is a table, remove them: tr -d '\\000' < FILE > NEWFILE")


def _column_by_number(first: list[str], number: int) -> int:
    if not 1 <= number <= len(first):
        raise InvalidInput("check", "column", f"column {number} not found: the first line has {len(first)} columns")
    return number - 1


def _column_by_heading(header: list[str], column: str) -> int:
    if header.count(column) == 1:
        return header.index(column)
    folded = [name.strip().casefold() for name in header]
    if folded.count(column.strip().casefold()) == 1:
        return folded.index(column.strip().casefold())
    headings = ", ".join(header)
    reason = f"column {column!r} not found, or not unique; the first line has: {headings} (is --delimiter right?)"
    raise InvalidInput("check", "column", reason)


class _ResumedStream(io.RawIOBase):
    """A stream of which the first part was read already; it reports its progress."""

    def __init__(self, start: bytes, stream: io.BufferedReader, progress: Progress) -> None:
        self._start = start
        self._stream = stream
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        target = memoryview(buffer)
        if self._start:
            data, self._start = self._start[: len(target)], self._start[len(target) :]
        else:
            data = self._stream.read1(len(target))
            self._progress(len(data))
        target[: len(data)] = data
        return len(data)
