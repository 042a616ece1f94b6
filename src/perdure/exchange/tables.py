"""Tables as CSV: one identifier a row, or one value a row as the SQL storage of Handle servers has it."""

import binascii
import csv
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from perdure.errors import InvalidInput, PerdureError, shown
from perdure.exchange.entry import Entry, Put, Refused
from perdure.exchange.handle_data import from_bytes, to_bytes
from perdure.names import instant
from perdure.records.record import About
from perdure.records.value import Reference, Text, Value

IDENTIFIER_COLUMNS: Final = (
    "name",
    "target",
    "who",
    "what",
    "when",
    "where",
    "creator",
    "owners",
    "created",
    "state",
)
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
_REFERENCE: Final = re.compile(r"([0-9]+):(.+)")
_YES: Final = {"1": "1", "t": "1", "true": "1", "0": "0", "f": "0", "false": "0", "": "0"}
_ABSOLUTE: Final = "1"  # ttl_type
# A spreadsheet program may run a cell that begins like this as a formula.
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_LONGEST_FIELD: Final = 1 << 22
_MOST_LINES: Final = 200  # of one row

# The number of the line that a row ends on, and its fields, or what keeps it from being read.
Rows = Iterable[tuple[int, list[str] | str]]


def rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str] | str]]:
    """The rows of a CSV file, quoted line breaks and all.

    A quotation mark that is opened and not closed would swallow the rest of the file. So a row may go over so many
    lines and no more: then its first line is refused, and the next one is read as a row again.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    waiting: deque[tuple[int, str]] = deque()
    source = iter(enumerate(lines, 1))
    while True:
        row: list[tuple[int, str]] = []
        quotes = 0
        while not row or quotes % 2:
            one = waiting.popleft() if waiting else next(source, None)
            if one is None or len(row) == _MOST_LINES:
                break
            row.append(one)
            quotes += one[1].count('"')
        if not row:
            return
        if quotes % 2:
            yield row[0][0], "a quotation mark is opened on this line and not closed"
            waiting.extendleft(reversed([*row[1:], *([one] if one is not None else [])]))
            continue
        if quotes == 0 and "\r" not in (line := row[0][1].removesuffix("\n").removesuffix("\r")):
            if line:
                yield row[0][0], line.split(",")  # nearly all rows, and ten times as fast
        else:
            yield from _row(row)


def _row(lines: list[tuple[int, str]]) -> Iterator[tuple[int, list[str] | str]]:
    number = lines[-1][0]
    try:
        for fields in csv.reader((line for _, line in lines), strict=True):
            if fields:
                yield number, fields
    except csv.Error as problem:
        yield number, f"this cannot be read as CSV: {problem}"


def protect_cells(row: Iterable[str]) -> list[str]:
    """Return the row with an apostrophe before every cell that a spreadsheet program could run as a formula.

    A cell that has apostrophes there already gets one more, so that `unprotect_cells` gives back every row as it was.

    >>> protect_cells(["=1+1", "'=1", "'s-Hertogenbosch", "a=b"])
    ["'=1+1", "''=1", "'s-Hertogenbosch", 'a=b']
    """
    return [f"'{cell}" if _FORMULA.match(cell) else cell for cell in row]


def unprotect_cells(table: Rows) -> Iterator[tuple[int, list[str] | str]]:
    """Return the rows without the apostrophes that `protect_cells` put in."""
    for line, row in table:
        if isinstance(row, str):
            yield line, row
        else:
            yield line, [cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell for cell in row]


def read_identifiers(table: Rows) -> Iterator[Entry]:
    """One identifier a row: `name` and any of the other columns, in any order; other columns hold values, by type."""
    header, body = _header(table, ("name",))
    extra = [column for column in header if column.lower() not in IDENTIFIER_COLUMNS]
    place = {column.lower(): at for at, column in enumerate(header)}
    types = [(place[column.lower()], column) for column in extra]

    def field(row: list[str], column: str) -> str | None:
        at = place.get(column)
        return row[at].strip() or None if at is not None and at < len(row) else None

    for line, row in body:
        if isinstance(row, str):
            yield Refused(line, row)
            continue
        name = field(row, "name")
        if name is None:
            yield Refused(line, "the name is missing")
            continue
        if len(row) > len(header):
            yield Refused(line, f"there are {len(row)} fields, and {len(header)} columns", name)
            continue
        state = field(row, "state") or "active"
        if state not in ("active", "reserved"):
            yield Refused(
                line, f"the state is {shown(state)}; a table can bring names that are active or reserved", name
            )
            continue
        values = tuple(
            Value(index, kind, Text(row[at]))
            for index, (at, kind) in enumerate(types, 2)
            if at < len(row) and row[at].strip()
        )
        about = About(field(row, "who"), field(row, "what"), field(row, "when"), field(row, "where"))
        yield Put(
            line=line,
            name=name,
            target=field(row, "target"),
            values=values,
            about=None if about == About() else about,
            creator=field(row, "creator"),
            owners=tuple((field(row, "owners") or "").split()),
            created=field(row, "created"),
            state="reserved" if state == "reserved" else "active",
        )


def read_handles(table: Rows) -> Iterator[Entry]:
    """One value a row: rows of one handle that follow each other are its record."""
    header, body = _header(table, HANDLE_COLUMNS[:4])
    place = {column.lower(): at for at, column in enumerate(header)}
    unknown = [column for column in header if column.lower() not in HANDLE_COLUMNS]
    if unknown:
        raise InvalidInput(
            "import", "columns", f"the column {shown(unknown[0])} is none of {', '.join(HANDLE_COLUMNS)}"
        )
    name: str | None = None
    first = 0
    values: list[Value] = []
    wrong: Refused | None = None

    def record() -> Iterator[Entry]:
        """The handle whose rows have been read; half a record is worse than none."""
        if wrong is not None:
            yield wrong
        elif name is not None:
            yield Put(line=first, name=name, values=tuple(values))

    for line, row in body:
        if isinstance(row, str):
            yield Refused(line, row)
            continue
        fields = {column: row[at] if at < len(row) else "" for column, at in place.items()}
        if fields["handle"] != name:
            yield from record()
            name, first, values, wrong = fields["handle"], line, [], None
        try:
            values.append(_value(fields))
        except (PerdureError, ValueError) as problem:
            reason = problem.reason if isinstance(problem, InvalidInput) else str(problem)
            wrong = wrong or Refused(line, reason, name)
    yield from record()


def _header(table: Rows, needed: Iterable[str]) -> tuple[list[str], Iterator[tuple[int, list[str] | str]]]:
    body = iter(table)
    _, first = next(body, (0, "the file is empty"))
    if isinstance(first, str):
        raise InvalidInput("import", "file", first)
    header = [column.strip() for column in first]
    folded = [column.lower() for column in header]
    for column in needed:
        if folded.count(column) != 1:
            raise InvalidInput(
                "import", "columns", f"the first line must name one column {column!r}; it has: {', '.join(header)}"
            )
    return header, body


def _value(fields: dict[str, str]) -> Value:
    raw = fields["data"]
    hexadecimal = _HEX.fullmatch(raw)
    data = binascii.unhexlify(hexadecimal[1]) if hexadecimal else raw.encode("utf-8", "surrogateescape")
    ttl: int | str = _whole(fields, "ttl", 86_400)
    if fields.get("ttl_type", "").strip() == _ABSOLUTE:
        ttl = _iso(int(ttl))
    permissions = "".join(_flag(fields, column, "1110"[at]) for at, column in enumerate(HANDLE_COLUMNS[8:]))
    timestamp = _whole(fields, "timestamp", -1)
    return Value(
        _whole(fields, "idx", 0),
        fields["type"],
        from_bytes(fields["type"], data),
        "" if timestamp < 0 else _iso(timestamp),
        ttl,
        permissions,
        tuple(_reference(one) for one in filter(None, fields.get("refs", "").split(";"))),
    )


def _whole(fields: dict[str, str], column: str, otherwise: int) -> int:
    text = fields.get(column, "").strip()
    if not text:
        return otherwise
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise InvalidInput("import", column, f"{column} must be a whole number, not {shown(text)}")
    return int(text)


def _flag(fields: dict[str, str], column: str, otherwise: str) -> str:
    if column not in fields:
        return otherwise
    try:
        return _YES[fields[column].strip().lower()]
    except KeyError:
        raise InvalidInput("import", column, f"{column} must be 0 or 1, not {shown(fields[column])}") from None


def _reference(text: str) -> Reference:
    match = _REFERENCE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput("import", "refs", f"references are written index:handle;…, not {shown(text)}")
    return Reference(match[2], int(match[1]))


def _iso(seconds: int) -> str:
    return instant.to_iso(seconds)


def handle_rows(name: str, values: Iterable[Value]) -> Iterator[list[str]]:
    """The rows of one handle, as SQL storage has them. Data that is no plain text is written in hexadecimal."""
    for value in values:
        absolute = isinstance(value.ttl, str)
        ttl = int(instant.from_iso(value.ttl, "record")) if isinstance(value.ttl, str) else value.ttl
        text = value.text
        is_plain = text is not None and _HEX.match(text) is None and "\r" not in text
        data = text if is_plain and text is not None else "\\x" + to_bytes(value.data).hex()
        timestamp = str(int(instant.from_iso(value.timestamp, "record"))) if value.timestamp else ""
        references = "".join(f"{one.index}:{one.handle};" for one in value.references)
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


def identifier_row(put: Put) -> list[str]:
    """One identifier as a row; values other than the target have no column of their own."""
    about = put.about or About()
    said = msgspec.structs.astuple(about)
    fields = [put.name, put.target, *said, put.creator, " ".join(put.owners), put.created, put.state]
    return [field or "" for field in fields]
