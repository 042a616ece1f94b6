"""Identifiers as CSV: one identifier per row."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from perdure.errors import InvalidInput, quote_text
from perdure.formats.claim_fields import FieldText
from perdure.formats.csv_rows import Row
from perdure.formats.handles_table import HANDLE_COLUMNS
from perdure.formats.import_entries import STATES, Entry, ImportPut, Notice, RejectedLine
from perdure.formats.table_columns import NULLS, SYNONYMS, find_column, parse_date, read_cell, read_header
from perdure.records.record import About
from perdure.records.value import Text, Value

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
_NAME_HINT: Final = "are --delimiter and --map right?"
_OTHER_TABLES: Final = {
    "labels": ("ibip",),
    "handles": HANDLE_COLUMNS[:4],
    "dspace": ("handle", "resource_type_id", "resource_id"),
}
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

    doubtful = [] if mapped else [kind for _, kind in types if _is_doubtful_type(kind)]
    if doubtful:
        which = ", ".join(doubtful)
        yield Notice(1, f"these columns became values of types with their names: {which} (choose columns with --map)")

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


def _is_doubtful_type(heading: str) -> bool:
    """Return whether a heading was hardly meant as the type of a value, as in EMAIL or 10320/loc."""
    return heading != heading.upper() and "/" not in heading


def _require_name(header: Sequence[str]) -> None:
    """Refuse a table without the column `name`, and say how to read it."""
    folded = [column.lower() for column in header]
    if folded.count("name") == 1:
        return
    known = next((name for name, columns in _OTHER_TABLES.items() if set(columns) <= set(folded)), None)
    hint = "add --map name=COLUMN, or --delimiter"
    if known is not None:
        hint = f"it looks like another table: add --format {known}"
    reason = f"the first line must contain the column 'name' exactly once; it has: {', '.join(header)}"
    raise InvalidInput("import", "columns", f"{reason} ({hint})")


def _find_field(column: str, header: Sequence[str]) -> str:
    """Return the field that a heading means, or the heading. `url` is another value if there is a column `target`."""
    field = SYNONYMS.get(column.lower())
    return column if field is None or field in [other.lower() for other in header] else field


def identifier_row(put: ImportPut) -> list[str]:
    """Return an identifier as a row. Values other than the target have no column."""
    about = put.about or About()
    description = msgspec.structs.astuple(about)
    origin = [put.creator, " ".join(put.owners), put.created]
    fields = [put.name, put.target, *description, *origin, put.state, put.reason, put.replaced_by]
    return [field or "" for field in fields]
