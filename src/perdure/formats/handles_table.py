"""The SQL storage of Handle servers as a table: one value per row. Consecutive rows of one handle are its record.

A handle is not refused because of one of its cells: a cell that cannot be read is replaced, and reported.
"""

import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Final

from perdure.errors import InvalidInput, quote_text
from perdure.formats.csv_rows import Row
from perdure.formats.handle_data import from_bytes, to_bytes
from perdure.formats.import_entries import Entry, ImportPut, Notice, RejectedLine
from perdure.formats.table_columns import NULLS, parse_date, read_cell, read_header
from perdure.names import instant
from perdure.records.validation import to_iso_seconds
from perdure.records.value import DEFAULT_TTL, Reference, Value

HANDLE_COLUMNS: Final = (
    "handle",
    "idx",
    "type",
    "data",
    "ttl_type",
    "ttl",
    "timestamp",
    "refs",
    "admin_read",
    "admin_write",
    "pub_read",
    "pub_write",
)
_HEX: Final = re.compile(r"(?:\\x|0[xX])((?:[0-9A-Fa-f]{2})*)")
_HEX_MARKS: Final = ("\\x", "0x")
_REFERENCE: Final = re.compile(r"([0-9]{1,10}):(.+)")
# Truth values of databases. MySQL prints a column of the type BIT as one byte.
_YES: Final = {"1": "1", "t": "1", "true": "1", "\x01": "1", "b'1'": "1"} | dict.fromkeys(
    ("0", "f", "false", "", "null", "\\n", "\x00", "b'0'"), "0"
)
_NULL_DATA: Final = "\\N"  # the text NULL may be data
_ABSOLUTE: Final = "1"  # ttl_type
_LATEST: Final = 253_402_300_799  # seconds: the end of the year 9999
_NO_INDEX: Final = 0  # the import chooses a free one
_UTF8: Final = "utf-8"
_BINARY_TYPES: Final = "HS_"  # their types begin so; most of their data is binary
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # not in text
_NOT_UTF8: Final = re.compile(r"[\udc80-\udcff]")


def read_handles(table: Iterable[Row], encoding: str = _UTF8) -> Iterator[Entry]:
    """Read the table: an entry for each handle, and a notice for each cell that was replaced.

    `encoding` is the one that the rows were decoded from: the data of some types is bytes, and stays as it was.
    """
    header, body = read_header(table, HANDLE_COLUMNS[:4])
    position = {column.lower(): at for at, column in enumerate(header)}
    unknown = [column for column in header if column.lower() not in HANDLE_COLUMNS]
    if unknown:
        raise InvalidInput(
            "import", "columns", f"unknown column {quote_text(unknown[0])}: the columns are {', '.join(HANDLE_COLUMNS)}"
        )
    name: str | None = None
    first = 0
    values: list[Value] = []
    notices: list[Notice] = []
    unreadable: int | None = None  # a line since the last row of this handle

    def record() -> Iterator[Entry]:
        """Yield the handle whose rows have been read, and what was not read as it is."""
        if name is not None:
            yield ImportPut(line=first, name=name, values=tuple(values))
            yield from notices

    for line, row in body:
        if isinstance(row, str):
            yield RejectedLine(line, row)
            unreadable = line
            continue
        if len(row) > len(header) and any(cell.strip() for cell in row[len(header) :]):
            reason = f"the row has {len(row)} fields, but the first line has {len(header)} columns"
            yield RejectedLine(line, reason, row[position["handle"]])
            unreadable = line
            continue
        fields = {column: row[at] if at < len(row) else "" for column, at in position.items()}
        for column in ("handle", "type"):
            if fields[column].startswith(_HEX_MARKS):
                fields[column] = _decode_text(fields[column])
        if fields["handle"] != name:
            yield from record()
            name, first, values, notices = fields["handle"], line, [], []
        elif unreadable is not None:
            notices.append(Notice(line, f"a value is missing: line {unreadable} cannot be read", name, "left-out"))
        unreadable = None
        cells = _Cells(fields, encoding)
        values.append(cells.to_value())
        if cells.has_other_encoding:
            what = f"value {fields['idx']} ({fields['type']}) is not in UTF-8: it was imported as bytes"
            notices.append(Notice(line, what, name, "bytes"))
        if cells.problems:
            notices += [Notice(line, problem, name, "changed") for problem in cells.problems]
    yield from record()


def _decode_text(cell: str) -> str:
    r"""Return the text of a cell. PostgreSQL and MySQL can print a column of bytes in hexadecimal.

    >>> _decode_text("\\x55524c"), _decode_text("0x55524C"), _decode_text("URL")
    ('URL', 'URL', 'URL')
    """
    hexadecimal = _HEX.fullmatch(cell)
    return cell if hexadecimal is None else binascii.unhexlify(hexadecimal[1]).decode("utf-8", "surrogateescape")


class _Cells:
    """The cells of a row. Each one that cannot be read adds a problem, which says what is used instead."""

    def __init__(self, fields: dict[str, str], encoding: str) -> None:
        self._fields = fields
        self._encoding = encoding
        self.problems: list[str] = []
        self.has_other_encoding = False  # the data is text, but not in UTF-8

    def to_value(self) -> Value:
        raw = "" if self._fields["data"] == _NULL_DATA else self._fields["data"]
        hexadecimal = _HEX.fullmatch(raw)
        data = binascii.unhexlify(hexadecimal[1]) if hexadecimal else self._encode(raw)
        return Value(
            self._number("idx", _NO_INDEX, "a free one"),
            self._fields["type"],
            from_bytes(self._fields["type"], data),
            self._timestamp(),
            self._ttl(),
            "".join([self._flag(column, "1110"[at]) for at, column in enumerate(HANDLE_COLUMNS[8:])]),
            tuple(self._references()),
        )

    def _encode(self, raw: str) -> bytes:
        """Return the bytes of the data: text in UTF-8, and all other data as it is in the file."""
        if raw.isascii():
            return raw.encode()
        if self._fields["type"].startswith(_BINARY_TYPES) or _CONTROL.search(raw) is not None:
            return raw.encode(self._encoding, "surrogateescape")
        self.has_other_encoding = _NOT_UTF8.search(raw) is not None
        return raw.encode(_UTF8, "surrogateescape")

    def _number(self, column: str, default: int, instead: str) -> int:
        text = self._fields.get(column, "").strip()
        if text in NULLS and column != "idx":
            return default
        if re.fullmatch(r"[0-9]{1,12}", text) and int(text) <= _LATEST:
            return int(text)
        self.problems.append(f"the {column} {quote_text(text)} is not a valid number: {instead} is used")
        return default

    def _timestamp(self) -> str:
        """Return the time of the value in ISO 8601. An empty text is the time of the import."""
        text = self._fields.get("timestamp", "").strip()
        if text in NULLS:
            return ""
        if re.fullmatch(r"[0-9]{1,12}", text) and int(text) <= _LATEST:
            return instant.to_iso(int(text))
        date = parse_date(text)
        try:
            return "" if date is None else to_iso_seconds(date, "timestamp")
        except InvalidInput:
            self.problems.append(f"the timestamp {quote_text(text)} is not a time: the time of the import is used")
            return ""

    def _ttl(self) -> int | str:
        before = len(self.problems)
        ttl = self._number("ttl", DEFAULT_TTL, f"{DEFAULT_TTL} s")
        is_stated = self._fields.get("ttl", "").strip() not in NULLS and len(self.problems) == before
        return instant.to_iso(ttl) if is_stated and self._fields.get("ttl_type", "").strip() == _ABSOLUTE else ttl

    def _flag(self, column: str, default: str) -> str:
        """Return a permission. One that cannot be read is not given."""
        if column not in self._fields:
            return default
        text = self._fields[column].strip(" \t").lower()
        if text not in _YES:
            self.problems.append(f"the {column} {quote_text(text)} is neither 0 nor 1: 0 is used")
        return _YES.get(text, "0")

    def _references(self) -> Iterator[Reference]:
        text = read_cell([self._fields.get("refs", "")], 0) or ""
        for part in filter(None, text.split(";")):
            match = _REFERENCE.fullmatch(part.strip())
            if match is None:
                self.problems.append(f"references are written index:handle;…: {quote_text(part)} was left out")
            else:
                yield Reference(match[2], int(match[1]))


def handle_rows(name: str, values: Iterable[Value]) -> Iterator[list[str]]:
    """Yield the rows of one handle, as in SQL storage. Data that is not plain text is written in hexadecimal."""
    for value in values:
        absolute = isinstance(value.ttl, str)
        ttl = int(instant.from_iso(value.ttl, "record")) if isinstance(value.ttl, str) else value.ttl
        text = value.text
        is_plain = text is not None and _HEX.match(text) is None and "\r" not in text
        data = text if is_plain and text is not None else "\\x" + to_bytes(value.data).hex()
        timestamp = str(int(instant.from_iso(value.timestamp, "record"))) if value.timestamp else ""
        references = "".join(f"{reference.index}:{reference.handle};" for reference in value.references)
        yield [
            name,
            str(value.index),
            value.type,
            data,
            _ABSOLUTE if absolute else "0",
            str(ttl),
            timestamp,
            references,
            *value.permissions,
        ]
