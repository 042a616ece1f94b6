"""Observations as a table: one a row, whatever the columns are called, as curators' spreadsheets give them.

A row that brings no hash of its source's content is its own content: it is hashed as JSON, an object with every cell
that is not empty under its heading, sorted by the headings, without spaces between, in UTF-8.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from perdure.errors import InvalidInput, shown
from perdure.exchange.claim_fields import ABOUT_CLAIMS, NAME_PARTS, Said, claims_of, is_claim_field
from perdure.exchange.entry import Refused
from perdure.exchange.observations import RULES, Seen
from perdure.records.person import CLAIM_TYPES, Observation

OBSERVATION_FIELDS: Final = tuple(field for field in Observation.__struct_fields__ if field != "claims")
SEPARATORS: Final = ",;\t"
_NEEDED: Final = tuple(RULES)
_ONCE: Final = (*OBSERVATION_FIELDS, *ABOUT_CLAIMS, *NAME_PARTS)
_LONGEST_FIELD: Final = 1 << 17


class Hints(NamedTuple):
    """How somebody says what the columns are, at the door through which the table came; for who has said it wrongly."""

    map: str
    set: str
    separator: str


BY_COMMAND: Final = Hints("--map ", "--set ", "is --delimiter right?")

# The number of the line that a row ends on, and its cells, or what keeps it from being read.
Row = tuple[int, list[str] | str]


def rows(lines: Iterable[str], separator: str | None = None) -> Iterator[Row]:
    """The rows of a CSV file; what separates its columns is seen from the first line, if it is not said."""
    csv.field_size_limit(_LONGEST_FIELD)
    source = iter(lines)
    first = next(source, "")
    chosen = separator or max(SEPARATORS, key=first.count)
    reader = csv.reader(_again(first, source), delimiter=chosen, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            reason = (
                f"this cannot be read as CSV ({problem}): is a quotation mark opened here, or before, and not closed?"
            )
            yield reader.line_num, reason
            continue
        if any(cell and not cell.isspace() for cell in cells):
            yield reader.line_num, [cell.strip() for cell in cells]


def _again(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def check_field(field: str) -> str:
    """The field, if a table can bring it."""
    if _is_field(field):
        return field
    known = ", ".join((*OBSERVATION_FIELDS, *CLAIM_TYPES, *NAME_PARTS, *ABOUT_CLAIMS))
    raise InvalidInput("import", "map", f"{shown(field)} is no field: take one of {known}, or the IRI of a claim")


class Table:
    """How a table is read: which field each column brings, and what is said of every row."""

    def __init__(
        self,
        header: Sequence[str],
        mapped: Sequence[Said] = (),
        fixed: Sequence[Said] = (),
        hints: Hints = BY_COMMAND,
    ) -> None:
        """`mapped` are fields and headings. Without any, a heading that is itself a field brings that field."""
        self._hints = hints
        self._headings = [heading or f"#{number}" for number, heading in enumerate(header, 1)]
        for heading in self._headings:
            if self._headings.count(heading) > 1:
                raise InvalidInput("import", "columns", f"two columns are headed {shown(heading)}: rename one")
        if mapped:
            self._columns = [(check_field(field), self._place(heading, field)) for field, heading in mapped]
        else:
            self._columns = [(field, at) for at, one in enumerate(self._headings) if (field := _field(one)) is not None]
        self._fixed = [(check_field(field), text) for field, text in fixed]
        used = {at for _, at in self._columns}
        self.left_out = [heading for at, heading in enumerate(self._headings) if at not in used]
        self._check()

    def observation(self, cells: Sequence[str]) -> Observation:
        """What a row says. A constant stands where the row itself says nothing."""
        if len(cells) > len(self._headings):
            reason = f"there are {len(cells)} cells, and {len(self._headings)} columns"
            raise InvalidInput("import", "row", reason)
        if any(not cell.isascii() and not _is_unicode(cell) for cell in cells):
            raise InvalidInput("import", "row", "this is not UTF-8: save the table as CSV in UTF-8")
        said = [(field, cells[at]) for field, at in self._columns if at < len(cells) and cells[at]]
        spoken = {field for field, _ in said}
        said += [(field, text) for field, text in self._fixed if field not in spoken]
        once = {field: text for field, text in said if field in OBSERVATION_FIELDS or field in ABOUT_CLAIMS}
        for field in _NEEDED:
            if field not in once:
                raise InvalidInput("person", field, f"the {field} is missing", RULES[field])
        return Observation(
            once["source_url"],
            once["retrieval_timestamp"],
            once.get("content_hash") or self._hash(cells),
            once.get("source_name"),
            once.get("holding_archive"),
            claims_of([one for one in said if is_claim_field(one[0])], once),
        )

    def _hash(self, cells: Sequence[str]) -> str:
        content = {heading: cell for heading, cell in zip(self._headings, cells, strict=False) if cell}
        written = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return sha256(written.encode()).hexdigest()

    def _place(self, heading: str, field: str) -> int:
        wanted = heading.strip()
        if wanted in self._headings:
            return self._headings.index(wanted)
        folded = [one.casefold() for one in self._headings]
        if folded.count(wanted.casefold()) == 1:
            return folded.index(wanted.casefold())
        there = ", ".join(self._headings)
        doubt = self._hints.separator
        reason = f"there is no column {shown(heading)} for {field}; the first line has: {there} ({doubt})"
        raise InvalidInput("import", "columns", reason)

    def _check(self) -> None:
        for given in (self._columns, self._fixed):
            fields = [field for field, _ in given]
            for field in _ONCE:
                if fields.count(field) > 1:
                    raise InvalidInput("import", "map", f"{field} is given twice")
        fields = [field for field, _ in (*self._columns, *self._fixed)]
        there = f"the columns are: {', '.join(self._headings)}"
        by_map, by_set = self._hints.map, self._hints.set
        for field in _NEEDED:
            if field not in fields:
                reason = f"nothing gives the {field}: say {by_map}{field}=COLUMN, or {by_set}{field}=… for all; {there}"
                raise InvalidInput("import", "columns", reason)
        if not any(is_claim_field(field) for field in fields):
            reason = f"no column makes a claim: say which, as in {by_map}name=COLUMN; {there}"
            raise InvalidInput("import", "columns", reason)


def read(
    table: Iterable[Row], mapped: Sequence[Said] = (), fixed: Sequence[Said] = (), hints: Hints = BY_COMMAND
) -> tuple[Table, Iterator[Seen | Refused]]:
    """How the table is read, after its first line; and its observations, as they come."""
    body = iter(table)
    _, header = next(body, (0, "the file is empty"))
    if isinstance(header, str):
        raise InvalidInput("import", "file", header)
    known = Table(header, mapped, fixed, hints)
    return known, _observations(known, body)


def _observations(table: Table, body: Iterator[Row]) -> Iterator[Seen | Refused]:
    for line, cells in body:
        if isinstance(cells, str):
            yield Refused(line, cells)
            continue
        try:
            yield Seen(line, table.observation(cells))
        except InvalidInput as problem:
            yield Refused(line, problem.reason, part=problem.part, rule=problem.rule)


def _is_field(text: str) -> bool:
    return text in OBSERVATION_FIELDS or text in ABOUT_CLAIMS or is_claim_field(text)


def _field(heading: str) -> str | None:
    """The field that a heading is itself, as people capitalise it."""
    return next((one for one in (heading, heading.lower()) if _is_field(one)), None)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
