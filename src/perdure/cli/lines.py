"""A file or a stream as batches of lines, in constant memory whatever it holds."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK: Final = 1 << 18
LONGEST_FIELD: Final = 1 << 17  # characters, in a table
ROWS: Final = 4096

Progress = Callable[[int], None]  # told how many bytes have been read


class Batch(NamedTuple):
    """Some lines, and the number of each in its file, counted from 1."""

    numbers: Sequence[int]
    lines: list[str]


# What is no text but often given for one, by its first bytes, and what to do about it.
_NOT_TEXT: Final = {
    b"\xff\xfe": "is in UTF-16; save it as UTF-8 first",
    b"\xfe\xff": "is in UTF-16; save it as UTF-8 first",
    b"\x1f\x8b": "is compressed; unpack it first (zcat FILE | perdure …)",
    b"PK\x03\x04": "is an archive or a spreadsheet; save it as CSV in UTF-8 first",
}
_MARK: Final = b"\xef\xbb\xbf"


def plain_lines(stream: io.BufferedReader, progress: Progress) -> Iterator[Batch]:
    """The lines of a stream with one identifier per line."""
    number = 1
    rest = _text_begins(stream, progress)
    while True:
        head, newline, rest = rest.rpartition(b"\n")
        if newline:
            lines = (head + newline).decode("utf-8", "surrogateescape").replace("\r\n", "\n").split("\n")
            lines.pop()
            yield Batch(range(number, number + len(lines)), lines)
            number += len(lines)
        chunk = stream.read1(CHUNK)  # what is there now: whoever types or pipes slowly is answered at once
        if not chunk:
            break
        progress(len(chunk))
        rest = rest[:CHUNK] + chunk  # the beginning of a line without end is enough to refuse it
    if rest:
        yield Batch([number], [rest.decode("utf-8", "surrogateescape")])


def table_lines(stream: io.BufferedReader, progress: Progress, column: str, delimiter: str) -> Iterator[Batch]:
    """One column of a CSV or TSV file: named by its heading, or by its number, counted from 1."""
    text = io.TextIOWrapper(text_stream(stream, progress), "utf-8", errors="surrogateescape", newline="")
    csv.field_size_limit(LONGEST_FIELD)
    # In a file with tabs a quotation mark is a character like any other; elsewhere it must be closed.
    with_tabs = delimiter == "\t"
    rows = csv.reader(
        text, delimiter=delimiter, quoting=csv.QUOTE_NONE if with_tabs else csv.QUOTE_MINIMAL, strict=True
    )
    try:
        first = next(rows, None)
        if first is None:
            return
        numbers, lines = [], []
        if column.isascii() and column.isdigit():
            index = _by_number(first, int(column))
            numbers, lines = [1], [first[index]]
        else:
            index = _by_heading(first, column)
        for row in rows:
            numbers.append(rows.line_num)
            lines.append(row[index] if index < len(row) else "")
            if len(lines) >= ROWS:
                yield Batch(numbers, lines)
                numbers, lines = [], []
        yield Batch(numbers, lines)
    except csv.Error as problem:
        raise InvalidInput("input", "file", f"line {rows.line_num} cannot be read as a table: {problem}") from None


def text_stream(stream: io.BufferedReader, progress: Progress) -> io.BufferedReader:
    """The same stream, known to begin like text, and telling how far it has been read."""
    return io.BufferedReader(_Continued(_text_begins(stream, progress), stream, progress), CHUNK)


def bounded_lines(stream: io.BufferedReader, longest: int) -> Iterator[tuple[int, bytes]]:
    """The lines and their numbers; of one that is too long only the beginning, which no format can read."""
    number = 0
    while line := stream.readline(longest):
        number += 1
        while len(line) == longest and not line.endswith(b"\n") and (more := stream.readline(longest)):
            if more.endswith(b"\n"):
                break
        yield number, line


def _text_begins(stream: io.BufferedReader, progress: Progress) -> bytes:
    """The first chunk, without the mark that some editors put first; what is no text is refused."""
    chunk = stream.read1(CHUNK)
    progress(len(chunk))
    for magic, advice in _NOT_TEXT.items():
        if chunk.startswith(magic):
            raise InvalidInput("input", "file", f"the file {advice}")
    if b"\0" in chunk:
        raise InvalidInput("input", "file", "the file holds null bytes, so it is no text in UTF-8")
    return chunk.removeprefix(_MARK)


def _by_number(first: list[str], number: int) -> int:
    if not 1 <= number <= len(first):
        raise InvalidInput("check", "column", f"there is no column {number}: the first line has {len(first)}")
    return number - 1


def _by_heading(header: list[str], column: str) -> int:
    if header.count(column) == 1:
        return header.index(column)
    folded = [name.strip().casefold() for name in header]
    if folded.count(column.strip().casefold()) == 1:
        return folded.index(column.strip().casefold())
    headings = ", ".join(header)
    reason = f"there is no one column {column!r}; the first line has: {headings} (is --delimiter right?)"
    raise InvalidInput("check", "column", reason)


class _Continued(io.RawIOBase):
    """A stream whose beginning has been read already, and that tells how far it has come."""

    def __init__(self, start: bytes, stream: io.BufferedReader, progress: Progress) -> None:
        self._start = start
        self._stream = stream
        self._progress = progress

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        room = memoryview(buffer)
        if self._start:
            data, self._start = self._start[: len(room)], self._start[len(room) :]
        else:
            data = self._stream.read1(len(room))
            self._progress(len(data))
        room[: len(data)] = data
        return len(data)
