"""Tables of IBI labels: a repository name and an IBIp in each row, of which one may be missing, and the record.

Both labels of a row are names of one item. An item with several IBIps has several rows, or the others are in `aliases`.

>>> table = [(1, ["repository_name", "ibip"]), (2, ["sid.inpe.br/mtc-m18/2009/02.16.17.46", "8JMKD3MGP8W/34PGRBS"])]
>>> [(put.name, put.aliases) for put in read_labels(table)]
[('sid.inpe.br/mtc-m18/2009/02.16.17.46', ('8JMKD3MGP8W/34PGRBS',))]
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from perdure.errors import InvalidInput, InvalidName, quote_text
from perdure.formats.csv_rows import Row
from perdure.formats.identifiers_csv import IDENTIFIER_COLUMNS, identifier_row, read_identifiers
from perdure.formats.import_entries import Entry, ImportPut, RejectedLine
from perdure.formats.table_columns import read_cell, read_header
from perdure.names import ibi

REPOSITORY_NAME: Final = "repository_name"
IBIP: Final = "ibip"
ALIASES: Final = "aliases"
LABEL_COLUMNS: Final = (REPOSITORY_NAME, IBIP, *IDENTIFIER_COLUMNS[1:], ALIASES)
_NAME: Final = IDENTIFIER_COLUMNS[0]
_OF_LABELS: Final = (REPOSITORY_NAME, IBIP, ALIASES)


def is_label_table(header: Sequence[str]) -> bool:
    """Return whether the headings can only be those of a table of labels."""
    folded = [column.strip().lower() for column in header]
    return _NAME not in folded and (REPOSITORY_NAME in folded or IBIP in folded)


def read_labels(table: Iterable[Row]) -> Iterator[Entry]:
    """Read one identifier per row: `repository_name`, `ibip` or both, and the columns of `read_identifiers`."""
    header, body = read_header(table, ())
    folded = [column.lower() for column in header]
    position: dict[str, int] = {column: folded.index(column) for column in _OF_LABELS if column in folded}
    if REPOSITORY_NAME not in position and IBIP not in position:
        reason = f"the first line must contain the column {REPOSITORY_NAME!r}, {IBIP!r}, or both"
        raise InvalidInput("import", "columns", f"{reason}; it has: {', '.join(header)}")
    if _NAME in folded or any(folded.count(column) > 1 for column in _OF_LABELS):
        reason = f"{_NAME!r} is no column of a table of labels, and each other one is there once"
        raise InvalidInput("import", "columns", f"{reason}; it has: {', '.join(header)}")
    others = [at for at in range(len(header)) if at not in position.values()]
    labels: dict[int, tuple[str, ...] | RejectedLine] = {}  # of the row that is being read

    def named_rows() -> Iterator[Row]:
        """Yield the rows with the first label as their name."""
        yield 1, [_NAME, *[header[at] for at in others]]
        for line, row in body:
            if isinstance(row, str):
                yield line, row
                continue
            names = _read_names(line, row, position)
            if names is None:
                continue  # spreadsheet programs write empty rows
            labels[line] = names
            if isinstance(names, RejectedLine):
                yield line, names.reason
            else:
                rest = [*[row[at] if at < len(row) else "" for at in others], *row[len(header) :]]
                yield line, [names[0], *rest]

    for entry in read_identifiers(named_rows()):
        found = labels.pop(entry.line, ())
        if isinstance(found, RejectedLine):
            yield found
        elif isinstance(entry, ImportPut):
            yield msgspec.structs.replace(entry, aliases=found[1:], is_label=True, joins_names=True)
        else:
            yield entry


def _read_names(line: int, row: Sequence[str], position: Mapping[str, int]) -> tuple[str, ...] | RejectedLine | None:
    """Return the labels of a row, each once; None if the row is empty."""
    readable, opaque, others = (
        None if (at := position.get(column)) is None else read_cell(row, at) for column in _OF_LABELS
    )
    names = tuple(dict.fromkeys([label for label in (readable, opaque, *(others or "").split()) if label is not None]))
    if not readable and not opaque:
        if not any(cell.strip() for cell in row):
            return None
        return RejectedLine(line, f"the row has neither a {REPOSITORY_NAME} nor an {IBIP}", part=REPOSITORY_NAME)
    for label in names:
        try:
            is_readable = isinstance(_parse(label), ibi.RepositoryName)
        except InvalidName as problem:
            part = REPOSITORY_NAME if label == readable else IBIP if label == opaque else ALIASES
            return RejectedLine(line, f"{quote_text(label)} is not an IBI label: {problem.reason}", names[0], part)
        if label == readable and not is_readable:
            return RejectedLine(line, f"{label} is not a repository name", names[0], REPOSITORY_NAME)
        if label == opaque and is_readable:
            return RejectedLine(line, f"{label} is not an IBIp", names[0], IBIP)
    return names


def _parse(label: str) -> ibi.RepositoryName | ibi.OpaqueName | ibi.LegacyName:
    return ibi.parse_any(ibi.split_document_type(label)[0])


def label_row(put: ImportPut) -> list[str]:
    """Return an identifier with its labels as a row."""
    readable = [label for label in put.names if isinstance(_parse(label), ibi.RepositoryName)]
    opaque = [label for label in put.names if label not in readable]
    return [
        readable[0] if readable else "",
        opaque[0] if opaque else "",
        *identifier_row(put)[1:],
        " ".join([*readable[1:], *opaque[1:]]),
    ]
