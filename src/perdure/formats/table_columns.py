"""Columns of tables as other systems write them: headings, empty cells, and dates.

>>> parse_date("2024-01-31 10:00:00"), parse_date("31.01.2024"), parse_date("0000-00-00 00:00:00")
('2024-01-31T10:00:00Z', '2024-01-31T00:00:00Z', None)
>>> parse_date("20040131100000")
'2004-01-31T10:00:00Z'
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from perdure.errors import InvalidInput, quote_text
from perdure.formats.csv_rows import Row

# Cells that mean "no value" in tables that a database has written.
NULLS: Final = frozenset({"", "NULL", "\\N"})
# Headings that people write for a field.
SYNONYMS: Final = {"url": "target", "title": "what"}
_ZERO_DATE: Final = re.compile(r"0000-00-00(?:[ T]00:00(?::00(?:\.0+)?)?)?|0{8}(?:0{6})?")
_DATE: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?(\.[0-9]+)?)?")
_DAY_FIRST: Final = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})(?: ([0-9]{2}:[0-9]{2})(:[0-9]{2})?)?")
_COMPACT: Final = re.compile(r"([12][0-9]{3})([0-9]{2})([0-9]{2})(?:([0-9]{2})([0-9]{2})([0-9]{2}))?")  # old MySQL
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}


def read_cell(row: Sequence[str], at: int) -> str | None:
    """Return the text of a cell without spaces around it, or None if it is empty, missing or NULL."""
    text = row[at].strip() if at < len(row) else ""
    return None if text in NULLS else text


def parse_date(text: str | None) -> str | None:
    """Return a date in ISO 8601, from the forms of MySQL and of spreadsheet programs. None is a date that is not set.

    Dates without a zone are in UTC. Other texts are returned unchanged.
    """
    if text is None or _ZERO_DATE.fullmatch(text):
        return None
    match = _DATE.fullmatch(text)
    if match is not None:
        return f"{match[1]}T{match[2] or '00:00'}{match[3] or ':00'}{match[4] or ''}Z"
    match = _DAY_FIRST.fullmatch(text)
    if match is not None:
        return f"{match[3]}-{match[2]:0>2}-{match[1]:0>2}T{match[4] or '00:00'}{match[5] or ':00'}Z"
    match = _COMPACT.fullmatch(text)
    if match is not None:
        return f"{match[1]}-{match[2]}-{match[3]}T{match[4] or '00'}:{match[5] or '00'}:{match[6] or '00'}Z"
    return text


def unescape_rows(table: Iterable[Row]) -> Iterator[Row]:
    r"""Yield rows without the backslashes with which MySQL and PostgreSQL escape text that tabs separate.

    >>> list(unescape_rows([(1, ["a\\tb", "\\N", "c:\\\\d"])]))
    [(1, ['a\tb', '\\N', 'c:\\d'])]
    """
    for line, row in table:
        if isinstance(row, str):
            yield line, row
        else:
            yield line, [_unescape(cell) if "\\" in cell else cell for cell in row]


def read_header(
    table: Iterable[Row], needed: Iterable[str], hint: str = "is --delimiter right?"
) -> tuple[list[str], Iterator[Row]]:
    """Return the headings, and the rows below them. Raise InvalidInput if a column is missing or occurs twice."""
    body = ((line, row) for line, row in table if row)  # blank lines are ignored
    _, first = next(body, (0, "the file is empty"))
    if isinstance(first, str):
        raise InvalidInput("import", "file", first)
    header = [column.strip() for column in first]
    folded = [column.lower() for column in header]
    for column in needed:
        if folded.count(column) != 1:
            reason = f"the first line must contain the column {column!r} exactly once; it has: {', '.join(header)}"
            raise InvalidInput("import", "columns", f"{reason} ({hint})")
    return header, body


def find_column(headings: Sequence[str], heading: str, field: str, hint: str) -> int:
    """Return the position of the column for a field, by its heading in any case."""
    stripped = heading.strip()
    if stripped in headings:
        return headings.index(stripped)
    folded = [known.casefold() for known in headings]
    if folded.count(stripped.casefold()) == 1:
        return folded.index(stripped.casefold())
    known_headings = ", ".join(headings)
    reason = f"there is no column {quote_text(heading)} for {field}; the first line has: {known_headings} ({hint})"
    raise InvalidInput("import", "columns", reason)


def _unescape(cell: str) -> str:
    if cell in NULLS:
        return cell
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), cell)
