"""The file of `perdure import`: its format, its encoding, and the reader of its entries.

A format is a member of `ImportFormat`, and a reader of lines in `_READERS`. XML is read as bytes.
"""

import codecs
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from perdure.cli.file_formats import ImportFormat
from perdure.cli.line_input import bounded_lines, text_stream
from perdure.cli.text_encoding import UTF8, Utf8Check, ask_for_encoding, check_encoding, decode_strictly
from perdure.errors import InvalidInput
from perdure.formats import (
    batch_file,
    bibtex,
    dspace_table,
    handles_table,
    identifiers_csv,
    label_table,
    ndjson,
    urlib_record,
    urlib_xml,
)
from perdure.formats.claim_fields import FieldText
from perdure.formats.csv_rows import Row, detect_delimiter, read_rows
from perdure.formats.import_entries import Entry, ImportPut, Notice, RejectedLine
from perdure.formats.table_columns import unescape_rows

_CHUNK: Final = 1 << 20
_MAX_LINE_BYTES: Final = 1 << 24
_TAB: Final = "\t"
_NOT_UTF8: Final = re.compile(r"[\udc80-\udcff]")
_START_OF_XML: Final = 512
_SQL: Final = re.compile(r"--|/\*|(?:SET|CREATE TABLE|INSERT INTO|COPY|BEGIN|DROP TABLE)\b", re.IGNORECASE)
_SQL_QUERIES: Final = {
    ImportFormat.handles: "SELECT * FROM handles ORDER BY handle, idx",
    ImportFormat.dspace: "SELECT * FROM handle",
}
TABLES: Final = (ImportFormat.csv, ImportFormat.handles, ImportFormat.dspace, ImportFormat.labels)
# Their data may be bytes that are not text, or JSON, whose reader checks every line.
_LENIENT: Final = (ImportFormat.handles, ImportFormat.ndjson)

NumberedLine = tuple[int, bytes]


class SourceOptions(msgspec.Struct, frozen=True):
    """How a file is read. `encoding` is None if the user has not chosen one: then the file must be UTF-8."""

    format: ImportFormat
    encoding: str | None = None
    delimiter: str | None = None
    mapped: tuple[FieldText, ...] = ()
    from_spreadsheet: bool = False
    patterns: tuple[str, ...] = ()
    targets: Path | None = None


def detect_format(file: Path, options: SourceOptions) -> SourceOptions:
    """Return the options with the format that the headings of a table show, if they show one."""
    if options.format is not ImportFormat.csv or options.mapped or not file.is_file():
        return options
    check_encoding(options.encoding or UTF8)
    with file.open("rb") as stream:
        start = (stream.readline(_MAX_LINE_BYTES) for _ in range(2))  # the first line may state the delimiter only
        lines = [line.decode(options.encoding or UTF8, "replace").removeprefix("\ufeff") for line in start]
    header = next((row for _, row in read_rows(lines, options.delimiter) if row), [])
    is_table = isinstance(header, list) and label_table.is_label_table(header)
    return msgspec.structs.replace(options, format=ImportFormat.labels) if is_table else options


def check_source_options(options: SourceOptions) -> None:
    """Refuse options that the format does not have, before the file is read."""
    chosen = options.format
    for option, is_given, formats in (
        ("--delimiter", options.delimiter is not None, TABLES),
        ("--map", bool(options.mapped), (ImportFormat.csv,)),
        ("--from-spreadsheet", options.from_spreadsheet, (ImportFormat.csv, ImportFormat.handles, ImportFormat.labels)),
        ("--target-pattern", bool(options.patterns), (ImportFormat.dspace, ImportFormat.urlib)),
        ("--targets", options.targets is not None, (ImportFormat.dspace,)),
        ("--encoding", options.encoding is not None, (*TABLES, ImportFormat.batch, ImportFormat.urlib)),
    ):
        if is_given and chosen not in formats:
            names = " or ".join(one.value for one in formats)
            part = option.removeprefix("--").replace("-", "_")
            raise InvalidInput("import", part, f"{option} requires the format {names}, not {chosen.value}")
    if options.encoding is not None:
        check_encoding(options.encoding)


def read_entries(stream: io.BufferedReader, options: SourceOptions) -> Iterator[Entry]:
    """Yield the entries of a file."""
    if options.format is ImportFormat.urlib:
        return _read_urlib(stream, options)
    return _READERS[options.format](bounded_lines(stream, _MAX_LINE_BYTES), options)


def digest_file(stream: io.BufferedReader, options: SourceOptions, more: object) -> str | None:
    """Return a digest of the content of a file and of all options that change what is imported; None for a pipe.

    A file with text that is not UTF-8 is refused here, before any line is imported.
    """
    if not stream.seekable():
        return None
    digest = hashlib.sha256(repr((options, more)).encode())
    if options.targets is not None:
        digest.update(options.targets.read_bytes())
    check = Utf8Check() if _must_be_utf8(stream, options) else None
    is_utf8 = True
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
        if check is None:
            continue
        try:
            check.feed(chunk)
        except InvalidInput:
            if options.format is not ImportFormat.handles:
                raise
            is_utf8, check = False, None
    stream.seek(0)
    if not is_utf8:
        _refuse_other_encoding(stream, options)
        stream.seek(0)
    return digest.hexdigest()


def _refuse_other_encoding(stream: io.BufferedReader, options: SourceOptions) -> None:
    """Refuse a table of handles with text in another encoding. Other data of handles may be any bytes."""
    for entry in read_entries(text_stream(stream, lambda count: None), options):
        is_foreign = isinstance(entry, Notice) and entry.kind == "bytes"
        if is_foreign or (isinstance(entry, ImportPut) and _NOT_UTF8.search(entry.name) is not None):
            more = "; --encoding utf-8 stores such values as bytes"
            raise ask_for_encoding(f"line {entry.line} has text in another encoding", more=more)


def _must_be_utf8(stream: io.BufferedReader, options: SourceOptions) -> bool:
    """Return whether the file must be UTF-8: the user has chosen no encoding, and neither has the file itself."""
    if options.encoding is not None or options.format is ImportFormat.ndjson:
        return False
    start = stream.peek(_START_OF_XML) if options.format is ImportFormat.urlib else b""
    return urlib_xml.declared_encoding(start) in (None, UTF8)


def _read_urlib(stream: io.BufferedReader, options: SourceOptions) -> Iterator[Entry]:
    """Yield the entries of an export of URLib, in XML or in BibTeX: the first character shows which."""
    pattern = urlib_record.read_patterns(options.patterns)
    if stream.peek(_START_OF_XML).lstrip().startswith(b"<"):
        records = urlib_xml.read_records(_chunks(stream, options.encoding), options.encoding and UTF8)
    else:
        records = bibtex.read_records(_decode(bounded_lines(stream, _MAX_LINE_BYTES), options))
    for record in records:
        if isinstance(record, RejectedLine):
            yield record
        else:
            yield from urlib_record.to_entries(record, pattern)


def _chunks(stream: io.BufferedReader, encoding: str | None) -> Iterator[bytes]:
    """Yield the bytes of a file; with an encoding, decoded from it and as UTF-8."""
    decoder = None if encoding is None else codecs.getincrementaldecoder(encoding)("replace")
    while chunk := stream.read1(_CHUNK):
        yield chunk if decoder is None else decoder.decode(chunk).encode()


def _read_csv(lines: Iterable[NumberedLine], options: SourceOptions) -> Iterator[Entry]:
    return identifiers_csv.read_identifiers(_rows(lines, options), options.mapped)


def _read_labels(lines: Iterable[NumberedLine], options: SourceOptions) -> Iterator[Entry]:
    return label_table.read_labels(_rows(lines, options))


def _read_handles(lines: Iterable[NumberedLine], options: SourceOptions) -> Iterator[Entry]:
    return handles_table.read_handles(_database_rows(lines, options), options.encoding or UTF8)


def _read_dspace(lines: Iterable[NumberedLine], options: SourceOptions) -> Iterator[Entry]:
    targets = None if options.targets is None else _read_targets(options.targets, options)
    return dspace_table.read_handles(_database_rows(lines, options), options.patterns, targets)


def _read_batch(lines: Iterable[NumberedLine], options: SourceOptions) -> Iterator[Entry]:
    return batch_file.read((number, line.rstrip("\r\n")) for number, line in _decode(lines, options))


def _read_ndjson(lines: Iterable[NumberedLine], options: SourceOptions) -> Iterator[Entry]:
    return ndjson.read(lines)


def _read_targets(path: Path, options: SourceOptions) -> dspace_table.Targets:
    with path.open("rb") as stream:
        lines = bounded_lines(text_stream(stream, lambda count: None), _MAX_LINE_BYTES)
        rows = _rows(lines, msgspec.structs.replace(options, delimiter=None), f"table of targets {path.name}")
        return dspace_table.read_targets(rows)


def _refuse_dump(first: str, options: SourceOptions) -> None:
    """Refuse the file that a backup program of a database writes, by its first line."""
    if _SQL.match(first) is None:
        return
    query = _SQL_QUERIES.get(options.format, "SELECT * FROM the_table")
    reason = (
        "this is an SQL dump, not a table. Export the table as CSV, with psql: "
        f"\\copy ({query}) TO 'table.csv' CSV HEADER; or from MySQL: mysql --batch -e '{query}' DATABASE > table.tsv"
    )
    raise InvalidInput("import", "file", reason)


def _rows(lines: Iterable[NumberedLine], options: SourceOptions, file: str = "file") -> Iterator[Row]:
    text = (line for _, line in _decode(lines, options, file))
    first = next(text, "")
    _refuse_dump(first, options)
    rows = read_rows(_prepend(first, text), options.delimiter, longest=identifiers_csv.LONGEST_ROW)
    return identifiers_csv.unprotect_cells(rows) if options.from_spreadsheet else rows


def _database_rows(lines: Iterable[NumberedLine], options: SourceOptions) -> Iterator[Row]:
    """Yield the rows of a table of a database. Between tabs, its text has backslashes, and no quotation marks."""
    text = (line for _, line in _decode(lines, options))
    first = next(text, "")
    _refuse_dump(first, options)
    delimiter = options.delimiter or detect_delimiter(first)
    is_dump = delimiter == _TAB
    rows = read_rows(_prepend(first, text), delimiter, has_quotes=not is_dump, longest=identifiers_csv.LONGEST_ROW)
    rows = unescape_rows(rows) if is_dump else rows
    return identifiers_csv.unprotect_cells(rows) if options.from_spreadsheet else rows


def _prepend(first: str, rest: Iterator[str]) -> Iterator[str]:
    if first:
        yield first
    yield from rest


def _decode(lines: Iterable[NumberedLine], options: SourceOptions, file: str = "file") -> Iterator[tuple[int, str]]:
    """Yield the lines as text. Without an encoding, a line that is not UTF-8 stops the import with a question."""
    encoding = options.encoding or UTF8
    if options.encoding is not None or options.format in _LENIENT:
        return ((number, line.decode(encoding, "surrogateescape")) for number, line in lines)
    return ((number, decode_strictly(number, line, file)) for number, line in lines)


_READERS: Final[dict[ImportFormat, Callable[[Iterable[NumberedLine], SourceOptions], Iterator[Entry]]]] = {
    ImportFormat.csv: _read_csv,
    ImportFormat.handles: _read_handles,
    ImportFormat.dspace: _read_dspace,
    ImportFormat.batch: _read_batch,
    ImportFormat.ndjson: _read_ndjson,
    ImportFormat.labels: _read_labels,
}
