"""Identifiers as CSV: one identifier per row, or one value per row as in the SQL storage of Handle servers."""

import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from perdure.errors import InvalidInput, PerdureError, quote_text
from perdure.formats.claim_fields import FieldText
from perdure.formats.csv_rows import Row
from perdure.formats.handle_data import from_bytes, to_bytes
from perdure.formats.import_entries import STATES, Entry, ImportPut, RejectedLine
from perdure.formats.table_columns import NULLS, SYNONYMS, find_column, parse_date, read_cell, read_header
from perdure.names import instant
from perdure.records.record import About
from perdure.records.value import DEFAULT_TTL, Reference, Text, Value

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
    "reason",
    "replaced_by",
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
_YES: Final = {"1": "1", "t": "1", "true": "1", "0": "0", "f": "0", "false": "0", "": "0", "null": "0", "\\n": "0"}
_NULL_DATA: Final = "\\N"  # the text NULL may be data
_NAME_HINT: Final = "are --delimiter and --map right?"
_OTHER_TABLES: Final = {
    "labels": ("ibip",),
    "handles": HANDLE_COLUMNS[:4],
    "dspace": ("handle", "resource_type_id", "resource_id"),
}
_ABSOLUTE: Final = "1"  # ttl_type
# A spreadsheet program may execute a cell that begins like this as a formula.
_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
LONGEST_ROW: Final = 1 << 22  # characters: the data of a value can be long


def protect_cells(row: Iterable[str]) -> list[str]:
    """Return the row with an apostrophe before every cell that a spreadsheet program could execute as a formula.

    A cell that already begins with apostrophes gets one more, so that `unprotect_cells` restores every row.

    >>> protect_cells(["=1+1", "'=1", "'s-Hertogenbosch", "a=b"])
    ["'=1+1", "''=1", "'s-Hertogenbosch", 'a=b']
    """
    return [f"'{cell}" if _FORMULA.match(cell) else cell for cell in row]


def unprotect_cells(table: Iterable[Row]) -> Iterator[Row]:
    """Return the rows without the apostrophes that `protect_cells` added."""
    for line, row in table:
        if isinstance(row, str):
            yield line, row
        else:
            yield line, [cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell for cell in row]


def read_identifiers(table: Iterable[Row], mapped: Sequence[FieldText] = ()) -> Iterator[Entry]:
    """Read one identifier per row: `name` and any other columns, in any order. Unknown columns are types of values.

    `mapped` are pairs of a field, or the type of a value, and the heading of its column. Then only these are read.
    """
    header, body = read_header(table, ())
    if mapped:
        columns = [(field, find_column(header, heading, field, _NAME_HINT)) for field, heading in mapped]
    else:
        _require_name(header)
        columns = [(_find_field(column, header), at) for at, column in enumerate(header)]
    position: dict[str, int] = {}
    types: list[tuple[int, str]] = []
    for column, at in columns:
        if column.lower() not in IDENTIFIER_COLUMNS:
            types.append((at, column))
        elif position.setdefault(column.lower(), at) != at:
            raise InvalidInput("import", "columns", f"two columns are the {column.lower()}")
    if "name" not in position:
        reason = f"name is required: add --map name=COLUMN; the columns are {', '.join(header)}"
        raise InvalidInput("import", "map", reason)

    def field(row: list[str], column: str) -> str | None:
        at = position.get(column)
        if at is None or at >= len(row):
            return None
        text = row[at].strip()  # as `read_cell`, without its call: this runs for every cell of the file
        return None if text in NULLS else text

    for line, row in body:
        if isinstance(row, str):
            yield RejectedLine(line, row)
            continue
        name = field(row, "name")
        if name is None:
            if any(cell.strip() for cell in row):  # spreadsheet programs write empty rows
                yield RejectedLine(line, "the name is missing")
            continue
        if len(row) > len(header) and any(cell.strip() for cell in row[len(header) :]):
            yield RejectedLine(
                line, f"the row has {len(row)} fields, but the first line has {len(header)} columns", name
            )
            continue
        state = (field(row, "state") or "active").lower()
        if state not in STATES:
            yield RejectedLine(
                line, f"the state must be active, reserved or withdrawn in a CSV file, not {quote_text(state)}", name
            )
            continue
        values = tuple(
            Value(index, kind, Text(row[at]))
            for index, (at, kind) in enumerate(types, 2)
            if read_cell(row, at) is not None
        )
        about = About(field(row, "who"), field(row, "what"), field(row, "when"), field(row, "where"))
        yield ImportPut(
            line=line,
            name=name,
            target=field(row, "target"),
            values=values,
            about=None if about == About() else about,
            creator=field(row, "creator"),
            owners=tuple((field(row, "owners") or "").split()),
            created=parse_date(field(row, "created")),
            state=state,
            reason=field(row, "reason"),
            replaced_by=field(row, "replaced_by"),
        )


def _require_name(header: Sequence[str]) -> None:
    """Refuse a table without the column `name`, and say how to read it."""
    folded = [column.lower() for column in header]
    if folded.count("name") == 1:
        return
    known = next((name for name, columns in _OTHER_TABLES.items() if set(columns) <= set(folded)), None)
    hint = _NAME_HINT if known is None else f"it looks like another table: add --format {known}"
    reason = f"the first line must contain the column 'name' exactly once; it has: {', '.join(header)}"
    raise InvalidInput("import", "columns", f"{reason} ({hint})")


def _find_field(column: str, header: Sequence[str]) -> str:
    """Return the field that a heading means, or the heading. `url` is another value if there is a column `target`."""
    field = SYNONYMS.get(column.lower())
    return column if field is None or field in [other.lower() for other in header] else field


def read_handles(table: Iterable[Row]) -> Iterator[Entry]:
    """Read one value per row. Consecutive rows of one handle are its record."""
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
    wrong: RejectedLine | None = None
    unreadable: int | None = None  # a line since the last row of this handle

    def record() -> Iterator[Entry]:
        """Yield the handle whose rows have been read. If a row is wrong, the whole handle is rejected."""
        if wrong is not None:
            yield wrong
        elif name is not None:
            yield ImportPut(line=first, name=name, values=tuple(values))

    for line, row in body:
        if isinstance(row, str):
            yield RejectedLine(line, row)
            unreadable = line
            continue
        fields = {column: row[at] if at < len(row) else "" for column, at in position.items()}
        if fields["handle"] != name:
            yield from record()
            name, first, values, wrong = fields["handle"], line, [], None
        elif unreadable is not None:
            wrong = wrong or RejectedLine(line, f"line {unreadable} of this handle cannot be read", name)
        unreadable = None
        try:
            values.append(_parse_value(fields))
        except (PerdureError, ValueError) as problem:
            reason = problem.reason if isinstance(problem, InvalidInput) else str(problem)
            wrong = wrong or RejectedLine(line, reason, name)
    yield from record()


def _parse_value(fields: dict[str, str]) -> Value:
    raw = "" if fields["data"] == _NULL_DATA else fields["data"]
    hexadecimal = _HEX.fullmatch(raw)
    data = binascii.unhexlify(hexadecimal[1]) if hexadecimal else raw.encode("utf-8", "surrogateescape")
    ttl: int | str = _parse_int(fields, "ttl", DEFAULT_TTL)
    if fields.get("ttl_type", "").strip() == _ABSOLUTE:
        ttl = _format_iso(int(ttl))
    permissions = "".join(_parse_flag(fields, column, "1110"[at]) for at, column in enumerate(HANDLE_COLUMNS[8:]))
    timestamp = _parse_int(fields, "timestamp", -1)
    references = fields.get("refs", "").strip()
    references = "" if references in NULLS else references
    return Value(
        _parse_int(fields, "idx", 0),
        fields["type"],
        from_bytes(fields["type"], data),
        "" if timestamp < 0 else _format_iso(timestamp),
        ttl,
        permissions,
        tuple(
            _parse_reference(text) for text in filter(None, (read_cell([fields.get("refs", "")], 0) or "").split(";"))
        ),
    )


def _parse_int(fields: dict[str, str], column: str, default: int) -> int:
    text = fields.get(column, "").strip()
    if text in NULLS:
        return default
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise InvalidInput("import", column, f"{column} must be a whole number, not {quote_text(text)}")
    return int(text)


def _parse_flag(fields: dict[str, str], column: str, default: str) -> str:
    if column not in fields:
        return default
    try:
        return _YES[fields[column].strip().lower()]
    except KeyError:
        raise InvalidInput("import", column, f"{column} must be 0 or 1, not {quote_text(fields[column])}") from None


def _parse_reference(text: str) -> Reference:
    match = _REFERENCE.fullmatch(text.strip())
    if match is None:
        raise InvalidInput("import", "refs", f"references are written index:handle;…, not {quote_text(text)}")
    return Reference(match[2], int(match[1]))


def _format_iso(seconds: int) -> str:
    return instant.to_iso(seconds)


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


def identifier_row(put: ImportPut) -> list[str]:
    """Return an identifier as a row. Values other than the target have no column."""
    about = put.about or About()
    description = msgspec.structs.astuple(about)
    origin = [put.creator, " ".join(put.owners), put.created]
    fields = [put.name, put.target, *description, *origin, put.state, put.reason, put.replaced_by]
    return [field or "" for field in fields]
