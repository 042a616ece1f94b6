"""The table `handle` of DSpace: one name per row, with the kind and the number (or UUID) of what it identifies.

The table has no addresses: a pattern makes them, or a second table has them. A name for which neither has one comes in
as well, and is reserved. A row without `resource_id` is a name of something that was deleted: it becomes a tombstone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from perdure.errors import InvalidInput, InvalidName, quote_text
from perdure.formats.csv_rows import Row
from perdure.formats.import_entries import Entry, ImportPut, Notice, RejectedLine
from perdure.formats.table_columns import read_cell, read_header
from perdure.formats.target_pattern import TargetPattern, read_pattern
from perdure.names import handle

TYPE_NAMES: Final = {"0": "bitstream", "1": "bundle", "2": "item", "3": "collection", "4": "community", "5": "site"}
REASON: Final = "deleted in DSpace"
_TYPES_BY_NAME: Final = {name: number for number, name in TYPE_NAMES.items()}
_TYPED_PATTERN: Final = re.compile(r"([0-9]{1,3}|[A-Za-z]+)=(.+)", re.DOTALL)
_KEYS: Final = ("handle", "resource_id")
_ADDRESSES: Final = ("url", "target")
_MOST_TARGETS: Final = 5_000_000  # they are in memory
_ANY: Final = ""


class Targets(msgspec.Struct, frozen=True):
    """A second table: the address of each name, or of each resource."""

    column: str  # handle, or resource_id
    urls: Mapping[str, str]


def read_targets(table: Iterable[Row]) -> Targets:
    """Read a table of addresses: a column `handle` or `resource_id`, and a column `url` (or `target`)."""
    header, body = read_header(table, ())
    folded = [column.lower() for column in header]
    key = next((column for column in _KEYS if column in folded), None)
    address = next((column for column in _ADDRESSES if column in folded), None)
    if key is None or address is None:
        reason = "the table of targets needs a column handle or resource_id, and a column url"
        raise InvalidInput("import", "targets", f"{reason}; its first line has: {', '.join(header)}")
    key_at, address_at = folded.index(key), folded.index(address)
    urls: dict[str, str] = {}
    for line, row in body:
        if isinstance(row, str):
            raise InvalidInput("import", "targets", f"line {line} of the table of targets: {row}")
        name, url = read_cell(row, key_at), read_cell(row, address_at)
        if name is not None and url is not None and urls.setdefault(_read_key(name, key), url) != url:
            reason = f"line {line} of the table of targets has another url for {key} {name!a}"
            raise InvalidInput("import", "targets", reason)
        if len(urls) > _MOST_TARGETS:
            raise InvalidInput("import", "targets", f"the table of targets has more than {_MOST_TARGETS:,} rows")
    return Targets(key, urls)


def read_handles(table: Iterable[Row], patterns: Sequence[str] = (), targets: Targets | None = None) -> Iterator[Entry]:
    """Read the table. `patterns` are for all rows, or for one type, as in `2=https://…` or `item=https://…`."""
    if not patterns and targets is None:
        reason = (
            "the table of DSpace has no addresses: add --target-pattern https://…/{resource_id}, "
            "or --targets FILE, a table with the columns handle (or resource_id) and url"
        )
        raise InvalidInput("import", "target_pattern", reason)
    header, body = read_header(table, ("handle",))
    columns = [column.lower() for column in header]
    position = {column: at for at, column in enumerate(columns)}
    by_type = _read_patterns(patterns, columns)
    if "resource_id" not in position:
        raise InvalidInput("import", "columns", "the column resource_id is missing: it shows which names were deleted")
    for line, row in body:
        if isinstance(row, str):
            yield RejectedLine(line, row)
            continue
        cells = {column: read_cell(row, at) for column, at in position.items()}
        name = cells["handle"]
        if name is None:
            if any(cells.values()):  # spreadsheet programs write empty rows
                yield RejectedLine(line, "the handle is missing")
        elif cells["resource_id"] is None:
            yield ImportPut(line=line, name=name, state="withdrawn", reason=REASON)
        else:
            try:
                yield ImportPut(line=line, name=name, target=_find_target(cells, by_type, targets))
            except InvalidInput as problem:
                yield ImportPut(line=line, name=name)
                yield Notice(line, f"{problem.reason}; without an address, a new name is reserved", name)


def _read_patterns(patterns: Sequence[str], columns: Sequence[str]) -> dict[str, TargetPattern]:
    by_type: dict[str, TargetPattern] = {}
    for text in patterns:
        match = _TYPED_PATTERN.fullmatch(text)
        kind, pattern = (_ANY, text) if match is None else (_read_type(match[1]), match[2])
        if kind in by_type:
            which = f"the type {kind}" if kind else "all types"
            raise InvalidInput("import", "target_pattern", f"there are two patterns for {which}")
        if kind and "resource_type_id" not in columns:
            reason = "a pattern for one type needs the column resource_type_id, which this table does not have"
            raise InvalidInput("import", "target_pattern", reason)
        by_type[kind] = read_pattern(pattern, columns)
    return by_type


def _read_type(text: str) -> str:
    """Return the number of a type, which may be written as its name."""
    number = text if text.isdigit() else _TYPES_BY_NAME.get(text.lower())
    if number is None:
        reason = f"{quote_text(text)} is not a type of DSpace: use {', '.join(_TYPES_BY_NAME)}, or a number"
        raise InvalidInput("import", "target_pattern", reason)
    return number


def _read_key(text: str, column: str) -> str:
    """Return the handle or the number of a row. DSpace writes handles with the address of a resolver, too.

    >>> _read_key("http://hdl.handle.net/123456789/1", "handle")
    '123456789/1'
    """
    if column != "handle":
        return text
    try:
        return handle.canonical(text)
    except InvalidName:
        return text


def _find_target(cells: Mapping[str, str | None], by_type: Mapping[str, TargetPattern], targets: Targets | None) -> str:
    """Return the address of a row: from the second table, or else from the pattern of its type, or of all types."""
    if targets is not None:
        url = targets.urls.get(_read_key(cells.get(targets.column) or "", targets.column))
        if url is not None:
            return url
    kind = cells.get("resource_type_id") or _ANY
    pattern = by_type.get(kind) or by_type.get(_ANY)
    if pattern is not None:
        return pattern.fill(cells)
    if targets is not None:
        raise InvalidInput("import", "targets", f"the table of targets has no url for {cells['handle']}")
    what = f"{kind} ({TYPE_NAMES[kind]})" if kind in TYPE_NAMES else kind or "unknown"
    example = f"--target-pattern {kind}=https://…" if kind else "--target-pattern https://…"
    raise InvalidInput("import", "target_pattern", f"there is no pattern for the type {what}: add {example}")
