"""A table for whose rows names are minted, and its copy with these names. All other cells are copied as they are.

>>> table = MintingTable(["url;title;shelf mark\\n", "https://e.org/1;One;A 1\\n"], ("name",))
>>> table.heading
'url;title;shelf mark;name\\n'
>>> [row] = table
>>> row.entry.target, table.fill(row, ["12345/x"])
('https://e.org/1', 'https://e.org/1;One;A 1;12345/x\\n')
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, quote_text
from perdure.formats.claim_fields import FieldText
from perdure.formats.csv_rows import detect_delimiter, read_rows
from perdure.formats.table_columns import NULLS, SYNONYMS
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.record import About

MINT_FIELDS: Final = ("target", "who", "what", "when", "where", "creator", "owners", "suffix")
NAME_COLUMN: Final = "name"
ALIAS_COLUMN: Final = "alias"  # the second label of an IBI pair
_NO_ABOUT: Final = About()


class MintEntry(FrozenStruct, frozen=True):
    """What a row says about its name. `name` is the one that it has already."""

    target: str | None = None
    about: About | None = None
    creator: str | None = None
    owners: tuple[str, ...] = ()
    suffix: str | None = None
    name: str | None = None


class TableRow(NamedTuple):
    """A row with the number of its last line, its text and its width in cells. One without any text has no entry."""

    line: int
    text: str
    width: int
    entry: MintEntry | InvalidInput | None


class MintingTable:
    """The rows of a table. `columns` are those of the names: the table has them already, or they are added."""

    def __init__(
        self,
        lines: Iterable[str],
        columns: Sequence[str] = (NAME_COLUMN,),
        mapped: Sequence[FieldText] = (),
        delimiter: str | None = None,
    ) -> None:
        """Read the first line. Without `mapped`, a heading that is the name of a field is mapped to that field."""
        self._lines: deque[str] = deque()  # that no row was made of yet
        self._taken = 0
        source = iter(lines)
        first = next(source, "")
        self._delimiter = delimiter or detect_delimiter(first)
        self._cell = re.compile(
            rf'"(?:[^"]|"")*"(?={re.escape(self._delimiter)}|\Z)|[^{re.escape(self._delimiter)}]*', re.DOTALL
        )
        self._needs_quotes = re.compile(rf'[{re.escape(self._delimiter)}"\r\n]').search
        self._rows = read_rows(self._copy_lines(first, source), self._delimiter)
        number, header = next(self._rows, (0, "the file is empty"))
        before = ""
        if not header and first.strip():  # it states the delimiter
            before = self._take_text(number)
            number, header = next(self._rows, (0, "the file has no headings"))
        if not header:
            raise InvalidInput("mint", "table", "the first line is empty: it must contain the headings")
        if isinstance(header, str):
            raise InvalidInput("mint", "table", header)
        self._headings = [cell.strip() for cell in header]
        self._columns = self._find_columns(mapped)
        self._added = [column for column in columns if self._find_optional(column) is None]
        self._places = [
            len(header) + self._added.index(column) if column in self._added else self._find_column(column, "names")
            for column in columns
        ]
        self._name = None if columns[0] in self._added else self._places[0]
        self._has_about = not self._columns.keys().isdisjoint(About.__struct_fields__)
        used = {*self._columns.values(), *self._places}
        self.unused_columns = [heading for at, heading in enumerate(self._headings) if at not in used]
        self.heading = before + self._with_cells(self._take_text(number), len(header), columns)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that the table has."""
        return tuple(self._columns)

    @property
    def layout(self) -> str:
        """How the table is read: its delimiter, and the positions of its columns."""
        return f"{self._delimiter}{sorted(self._columns.items())}{self._places}"

    def __iter__(self) -> Iterator[TableRow]:
        for number, cells in self._rows:
            text = self._take_text(number)
            if isinstance(cells, str):
                yield TableRow(number, text, 0, InvalidInput("mint", "row", cells))
            elif not any(map(str.strip, cells)):
                yield TableRow(number, text, len(cells), None)
            else:
                yield TableRow(number, text, len(cells), self._read_entry(cells, text.isascii()))

    def fill(self, row: TableRow, cells: Sequence[str]) -> str:
        """Return the text of a row with these cells in the columns of names, or empty ones."""
        if row.entry is None or (isinstance(row.entry, InvalidInput) and row.entry.part == "row"):
            return row.text  # a row that needs no name, or whose columns are unknown
        return self._with_cells(row.text, row.width, cells)

    def _copy_lines(self, first: str, source: Iterator[str]) -> Iterator[str]:
        if first:
            self._lines.append(first)
            yield first
        for line in source:
            self._lines.append(line)
            yield line

    def _take_text(self, number: int) -> str:
        """Return the text of the lines up to this number that belong to no earlier row."""
        count, self._taken = number - self._taken, number
        return self._lines.popleft() if count == 1 else "".join([self._lines.popleft() for _ in range(count)])

    def _read_entry(self, cells: list[str], is_ascii: bool) -> MintEntry | InvalidInput:
        if len(cells) > len(self._headings):
            reason = f"the row has {len(cells)} cells, but the first line has {len(self._headings)} columns"
            return InvalidInput("mint", "row", reason)
        if len(cells) < len(self._headings):
            cells = [*cells, *[""] * (len(self._headings) - len(cells))]
        fields = {field: text for field, at in self._columns.items() if (text := cells[at].strip()) not in NULLS}
        for field, text in () if is_ascii else fields.items():
            if not _is_unicode(text):
                return InvalidInput("mint", field, f"{quote_text(text)} is not UTF-8: save the table as CSV in UTF-8")
        find = fields.get
        about = None
        if self._has_about:
            about = About(*[_join_lines(find(field)) for field in About.__struct_fields__])
        return MintEntry(
            find("target"),
            None if about == _NO_ABOUT else about,
            find("creator"),
            tuple(fields["owners"].split()) if "owners" in fields else (),
            find("suffix"),
            None if self._name is None else cells[self._name].strip() or None,
        )

    def _with_cells(self, text: str, width: int, cells: Sequence[str]) -> str:
        """Return the text of a row with cells in the columns of names. A cell that has text stays."""
        body = text.rstrip("\r\n")
        quoted = [self._quote_cell(cell) for cell in cells]
        missing = len(self._headings) - width
        if len(self._added) == len(quoted):  # nearly always
            return self._delimiter.join([body, *[""] * missing, *quoted]) + text[len(body) :]
        written = self._split_cells(body) + [""] * (missing + len(self._added))
        for at, cell in zip(self._places, quoted, strict=True):
            if not written[at].strip():
                written[at] = cell
        return self._delimiter.join(written) + text[len(body) :]

    def _split_cells(self, body: str) -> list[str]:
        """Split the text of a row into its cells as they are written, with their quotation marks."""
        if '"' not in body:
            return body.split(self._delimiter)
        written, at = [], 0
        while match := self._cell.match(body, at):
            written.append(match[0])
            at = match.end() + 1
            if at > len(body):
                break
        return written

    def _quote_cell(self, cell: str) -> str:
        if self._needs_quotes(cell):
            return '"' + cell.replace('"', '""') + '"'
        return cell

    def _find_columns(self, mapped: Sequence[FieldText]) -> dict[str, int]:
        columns: dict[str, int] = {}
        if mapped:
            found = [(_check_field(field), self._find_column(heading, field)) for field, heading in mapped]
        else:
            found = [
                (field, at) for at, heading in enumerate(self._headings) if (field := _find_field(heading)) is not None
            ]
        for field, at in found:
            if field in columns:
                raise InvalidInput("mint", "map", f"two columns are the {field}: map one of them")
            columns[field] = at
        if not columns:
            raise InvalidInput(
                "mint",
                "columns",
                f"no column is known ({', '.join(MINT_FIELDS)}): map one, as in target=COLUMN; the first line has: "
                f"{', '.join(self._headings)}",
            )
        return columns

    def _find_column(self, heading: str, field: str) -> int:
        at = self._find_optional(heading)
        if at is None:
            headings = ", ".join(self._headings)
            reason = f"there is no column {quote_text(heading)} for {field}; the first line has: {headings}"
            raise InvalidInput("mint", "columns", reason)
        return at

    def _find_optional(self, heading: str) -> int | None:
        """Return the position of a column; None if there is none. Its case is ignored if that is unambiguous."""
        stripped = heading.strip()
        folded = [known.casefold() for known in self._headings]
        for known, wanted in ((self._headings, stripped), (folded, stripped.casefold())):
            if known.count(wanted) > 1:
                raise InvalidInput("mint", "columns", f"two columns have the heading {quote_text(wanted)}: rename one")
            if wanted in known:
                return known.index(wanted)
        return None


def _check_field(field: str) -> str:
    known = SYNONYMS.get(field, field)
    if known in MINT_FIELDS:
        return known
    raise InvalidInput("mint", "map", f"{quote_text(field)} is not a field: use one of {', '.join(MINT_FIELDS)}")


def _find_field(heading: str) -> str | None:
    """Return the field that a heading names, whether or not it is capitalised."""
    field = SYNONYMS.get(heading.lower(), heading.lower())
    return field if field in MINT_FIELDS else None


def _join_lines(text: str | None) -> str | None:
    """Return the text of a cell on one line, as a description must be."""
    return text if text is None or ("\n" not in text and "\r" not in text) else " ".join(text.split())


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
