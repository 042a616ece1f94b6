"""Observations in a table, one per row, as in curators' spreadsheets. Columns can have any heading.

A row without a hash of its source's content is hashed itself, as JSON: an object with every cell that is not empty
under its heading, sorted by the headings, without spaces in between, in UTF-8.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, quote_text
from perdure.formats.claim_fields import ABOUT_CLAIMS, NAME_PARTS, FieldText, build_claims, is_claim_field
from perdure.formats.csv_rows import Row
from perdure.formats.import_entries import RejectedLine
from perdure.formats.observations_json import RULES, ObservationRow
from perdure.formats.table_columns import find_column
from perdure.records.person import CLAIM_TYPES, Observation

OBSERVATION_FIELDS: Final = tuple(field for field in Observation.__struct_fields__ if field != "claims")
_NEEDED: Final = tuple(RULES)
_ONCE: Final = (*OBSERVATION_FIELDS, *ABOUT_CLAIMS, *NAME_PARTS)


class Hints(NamedTuple):
    """The spelling of options for columns in the API that received the table, for its error messages."""

    map: str
    set: str
    separator: str


COMMAND_HINTS: Final = Hints("--map ", "--set ", "is --delimiter right?")


def check_field(field: str) -> str:
    """Return the field. Raise InvalidInput if a table cannot contain it."""
    if _is_field(field):
        return field
    known = ", ".join((*OBSERVATION_FIELDS, *CLAIM_TYPES, *NAME_PARTS, *ABOUT_CLAIMS))
    reason = f"{quote_text(field)} is not a field: use one of {known}, or the IRI of a claim"
    raise InvalidInput("import", "map", reason)


class ColumnMapping:
    """A mapping from the columns of a table to fields, with constants for every row."""

    def __init__(
        self,
        header: Sequence[str],
        mapped: Sequence[FieldText] = (),
        fixed: Sequence[FieldText] = (),
        hints: Hints = COMMAND_HINTS,
    ) -> None:
        """Map fields to headings. Without `mapped`, a heading that is the name of a field is mapped to that field."""
        self._hints = hints
        self._headings = [heading or f"#{number}" for number, heading in enumerate(header, 1)]
        for heading in self._headings:
            if self._headings.count(heading) > 1:
                raise InvalidInput(
                    "import", "columns", f"two columns have the heading {quote_text(heading)}: rename one"
                )
        if mapped:
            separator = hints.separator
            self._columns = [
                (check_field(field), find_column(self._headings, heading, field, separator))
                for field, heading in mapped
            ]
        else:
            self._columns = [
                (field, at) for at, heading in enumerate(self._headings) if (field := _find_field(heading)) is not None
            ]
        self._fixed = [(check_field(field), text) for field, text in fixed]
        used = {at for _, at in self._columns}
        self.unused_columns = [heading for at, heading in enumerate(self._headings) if at not in used]
        self._check_columns()

    def build_observation(self, cells: Sequence[str]) -> Observation:
        """Return the observation of a row. A constant applies where the row has no text of its own."""
        if len(cells) > len(self._headings):
            reason = f"the row has {len(cells)} cells, but the first line has {len(self._headings)} columns"
            raise InvalidInput("import", "row", reason)
        if any(not cell.isascii() and not _is_unicode(cell) for cell in cells):
            raise InvalidInput("import", "row", "this is not UTF-8: save the table as CSV in UTF-8")
        fields = [(field, cells[at]) for field, at in self._columns if at < len(cells) and cells[at]]
        present = {field for field, _ in fields}
        fields += [(field, text) for field, text in self._fixed if field not in present]
        once = {field: text for field, text in fields if field in OBSERVATION_FIELDS or field in ABOUT_CLAIMS}
        for field in _NEEDED:
            if field not in once:
                raise InvalidInput("person", field, f"the {field} is missing", RULES[field])
        return Observation(
            once["source_url"],
            once["retrieval_timestamp"],
            once.get("content_hash") or self._hash_row(cells),
            once.get("source_name"),
            once.get("holding_archive"),
            build_claims([(field, text) for field, text in fields if is_claim_field(field)], once),
        )

    def _hash_row(self, cells: Sequence[str]) -> str:
        content = {heading: cell for heading, cell in zip(self._headings, cells, strict=False) if cell}
        written = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return sha256(written.encode()).hexdigest()

    def _check_columns(self) -> None:
        for given in (self._columns, self._fixed):
            fields = [field for field, _ in given]
            for field in _ONCE:
                if fields.count(field) > 1:
                    raise InvalidInput("import", "map", f"{field} is given twice")
        fields = [field for field, _ in (*self._columns, *self._fixed)]
        columns = f"the columns are: {', '.join(self._headings)}"
        by_map, by_set = self._hints.map, self._hints.set
        for field in _NEEDED:
            if field not in fields:
                reason = (
                    f"{field} is required: use {by_map}{field}=COLUMN, or {by_set}{field}=… for all rows; {columns}"
                )
                raise InvalidInput("import", "columns", reason)
        if not any(is_claim_field(field) for field in fields):
            reason = f"no column is a claim: map one, as in {by_map}name=COLUMN; {columns}"
            raise InvalidInput("import", "columns", reason)


def read(
    table: Iterable[Row],
    mapped: Sequence[FieldText] = (),
    fixed: Sequence[FieldText] = (),
    hints: Hints = COMMAND_HINTS,
) -> tuple[ColumnMapping, Iterator[ObservationRow | RejectedLine]]:
    """Read the first line of a table. Return the mapping of its columns, and an iterator over its observations."""
    body = _strip_cells(table)
    _, header = next(body, (0, "the file is empty"))
    if isinstance(header, str):
        raise InvalidInput("import", "file", header)
    known = ColumnMapping(header, mapped, fixed, hints)
    return known, _observations(known, body)


def _strip_cells(table: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows without spaces around their cells, and without rows whose cells are all empty."""
    for line, cells in table:
        if isinstance(cells, str):
            yield line, cells
        elif any(stripped := [cell.strip() for cell in cells]):
            yield line, stripped


def _observations(table: ColumnMapping, body: Iterator[Row]) -> Iterator[ObservationRow | RejectedLine]:
    for line, cells in body:
        if isinstance(cells, str):
            yield RejectedLine(line, cells)
            continue
        try:
            yield ObservationRow(line, table.build_observation(cells))
        except InvalidInput as problem:
            yield RejectedLine(line, problem.reason, part=problem.part, rule=problem.rule)


def _is_field(text: str) -> bool:
    return text in OBSERVATION_FIELDS or text in ABOUT_CLAIMS or is_claim_field(text)


def _find_field(heading: str) -> str | None:
    """Return the field that a heading names, whether or not it is capitalised."""
    return next((field for field in (heading, heading.lower()) if _is_field(field)), None)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
