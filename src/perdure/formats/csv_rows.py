"""Rows of CSV files with their line numbers, and recovery from rows that cannot be read.

A quotation mark that is opened and never closed would make one cell of the rest of the file. So a row may extend over
a limited number of lines and characters. When it exceeds them, or when it is malformed, its first line is refused and
the next line is read as a row again.

>>> list(read_rows(['name,note\\n', 'a,"never closed\\n', 'b,fine\\n']))
[(1, ['name', 'note']), (2, 'unclosed quotation mark on this line'), (3, ['b', 'fine'])]
"""

import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

DELIMITERS: Final = ",;\t"
# In characters. A caller that cuts off long lines does so at four times as many bytes, or later. UTF-8 has at most four
# bytes for a character, so a line that was cut off is always refused here.
LONGEST_ROW: Final = 1 << 20
_MOST_LINES: Final = 200  # of one row
_LONGEST_FIELD: Final = 1 << 30  # the module csv has one limit for the whole process; rows have their own
# Spreadsheet programs can begin a table with a line that states its delimiter.
_STATED_DELIMITER: Final = re.compile(r'"?sep=([^"\r\n])"?[,;\t]*[\r\n]*', re.IGNORECASE)
_STRAY_RETURN: Final = "a line ends with CR alone: save the file with the line ends of Windows or of Unix"
_NOT_CLOSED: Final = "unclosed quotation mark on this line"

# The number of the line that a row ends on, and its cells; or the number of a line that cannot be read, and the reason.
Row = tuple[int, list[str] | str]
_NumberedLine = tuple[int, str]


def detect_delimiter(header: str) -> str:
    """Return the delimiter that the first line of a table states, or else the one that occurs most often in it.

    >>> detect_delimiter("name;what\\n"), detect_delimiter("sep=|\\r\\n")
    (';', '|')
    """
    stated = _STATED_DELIMITER.fullmatch(header)
    return stated[1] if stated is not None else max(DELIMITERS, key=header.count)


def read_rows(
    lines: Iterable[str], delimiter: str | None = ",", *, has_quotes: bool = True, longest: int = LONGEST_ROW
) -> Iterator[Row]:
    """Yield the rows of a CSV file, given its lines. A blank line is a row without cells.

    So is a first line that only states the delimiter. Without a delimiter, the first line decides. Without
    `has_quotes`, a quotation mark is a character like any other.
    """
    lines = iter(lines)
    header = next(lines, "")
    delimiter = delimiter or detect_delimiter(header)
    numbered = _Lines(chain(("\n" if _STATED_DELIMITER.fullmatch(header) else header,), lines) if header else lines)
    for number, line in numbered:
        text = line.removesuffix("\n").removesuffix("\r")
        if len(text) >= longest:
            yield number, f"the line is too long: a row must have fewer than {longest:,} characters"
        elif "\r" in text or (has_quotes and '"' in text):
            yield _parse_row((number, line), numbered, delimiter, has_quotes, longest)
        else:
            yield number, text.split(delimiter) if text else []  # nearly all rows, and ten times as fast


class _Lines:
    """The lines of a file with their numbers. Lines that were taken can be put back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._source = enumerate(lines, 1)
        self._returned: deque[_NumberedLine] = deque()

    def __iter__(self) -> Iterator[_NumberedLine]:
        return self

    def __next__(self) -> _NumberedLine:
        return self._returned.popleft() if self._returned else next(self._source)

    def put_back(self, lines: list[_NumberedLine]) -> None:
        self._returned.extendleft(reversed(lines))


def _parse_row(first: _NumberedLine, rest: _Lines, delimiter: str, has_quotes: bool, longest: int) -> Row:
    """Parse the row that begins on a line. If it cannot be read, put back all lines after the first one."""
    csv.field_size_limit(_LONGEST_FIELD)
    row: list[_NumberedLine] = []
    parser = csv.reader(
        _feed(first, rest, row, longest),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        cells = next(parser)
    except _NotClosed:
        reason = _NOT_CLOSED
    except csv.Error as problem:
        reason = _STRAY_RETURN if "new-line" in str(problem) else f"invalid CSV: {problem}"
        if len(row) > 1:
            reason = f"{_NOT_CLOSED} (line {row[-1][0]}: {problem})"
    else:
        return row[-1][0], cells
    rest.put_back(row[1:])
    return first[0], reason


class _NotClosed(Exception):
    """A row is longer than the allowed number of lines or characters."""


def _feed(first: _NumberedLine, rest: _Lines, row: list[_NumberedLine], longest: int) -> Iterator[str]:
    """Yield lines to the parser of one row, as long as it asks for more, and collect them in `row`."""
    size = 0
    for line in chain((first,), rest):
        row.append(line)
        size += len(line[1])
        if len(row) > _MOST_LINES or (len(row) > 1 and size >= longest):
            break
        yield line[1]
    raise _NotClosed
