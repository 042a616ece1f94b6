"""Exports of a registry, in formats that this registry and others read, in constant memory.

Secrets are never exported: keys are left out, and records hold none.
"""

import csv
import io
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final, Literal

import msgspec

from perdure.errors import InvalidInput
from perdure.formats import batch_file, handles_table, identifiers_csv, label_table, ndjson
from perdure.formats.import_entries import FullHistory, ImportPut, PastRevision
from perdure.names import handle
from perdure.records import record as records
from perdure.records.derived_values import handle_values
from perdure.records.target import first_stored_url
from perdure.records.value import Value
from perdure.registry.entities import WHOLE_REGISTRY, Agent, History, counter_key
from perdure.registry.key_ranges import read_ranges
from perdure.registry.name_keys import key_beginnings, require_prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

Format = Literal["ndjson", "csv", "batch", "handles", "labels"]
_CHUNK: Final = 2000
_VERSION: Final = 1
_TABLES: Final[dict[Format, tuple[str, ...]]] = {
    "csv": identifiers_csv.IDENTIFIER_COLUMNS,
    "handles": handles_table.HANDLE_COLUMNS,
    "labels": label_table.LABEL_COLUMNS,
}

OmissionCallback = Callable[[str], None]
_Written = tuple[int, bytes]  # how many identifiers, and their bytes


async def export(
    registry: Registry,
    by: Agent,
    format: Format = "ndjson",
    *,
    under: str | None = None,
    left_out: OmissionCallback = lambda what: None,
    for_spreadsheet: bool = False,
) -> AsyncIterator[tuple[int, bytes]]:
    """Export the registry, or the names under one prefix.

    Yield the number of identifiers and their bytes, chunk by chunk.

    NDJSON is complete, with every version. The other formats hold the current state; `left_out` is called with each
    thing that they cannot represent. `for_spreadsheet` protects CSV cells that a spreadsheet program could run as a
    formula.
    """
    if for_spreadsheet and format not in _TABLES:
        raise InvalidInput("export", "for_spreadsheet", f"only CSV has cells: use the format {' or '.join(_TABLES)}")
    beginnings = await registry.store.read(lambda reader: _require_export_permission(registry, reader, by, under))
    if format == "ndjson" and under is None:
        yield 0, await registry.store.read(lambda reader: _format_registry_parts(registry, reader))
    if format in _TABLES:
        yield 0, _format_csv([list(_TABLES[format])])
    key = ""
    while True:

        def work(reader: Reader, key: str = key) -> tuple[str, list[History]]:
            histories = read_ranges(reader.histories, key, _CHUNK, beginnings)
            own = [found for one in histories if (found := _find_whole(reader, one, beginnings)) is not None]
            return histories[-1].identifier.key if histories else "", own

        key, own = await registry.store.read(work)
        if not key:
            return
        count, data = _WRITERS[format](registry, own, left_out, for_spreadsheet)
        yield count, data


def _require_export_permission(
    registry: Registry, reader: Reader, by: Agent, under: str | None
) -> tuple[str, ...] | None:
    prefix = None if under is None else require_prefix(reader, under)
    require_permission(reader, by, "admin", WHOLE_REGISTRY if prefix is None else prefix.key, registry.current_time())
    return None if prefix is None or under is None else key_beginnings(prefix, under)


def _find_whole(reader: Reader, one: History, beginnings: Sequence[str] | None) -> History | None:
    """Return the history of an identifier for the first of its names that is exported; None for its other names.

    Of an IBI label prefix, an identifier may have an alias alone, such as its IBIp.
    """
    row = one.identifier
    if row.subject == row.key:
        return one
    if beginnings is None or row.subject.startswith(tuple(beginnings)):
        return None
    keys = sorted(handle.fold(name) for name in records.decode(row.record).other_names)
    if next((key for key in keys if key.startswith(tuple(beginnings))), row.key) != row.key:
        return None
    subject = reader.find(row.subject)
    return None if subject is None else History(subject, one.added, tuple(reader.revisions(row.subject)))


def _format_registry_parts(registry: Registry, reader: Reader) -> bytes:
    timelines = reader.timelines()
    fixed = {"id": registry.id, "ppid_namespace": str(registry.ppid_namespace), "perdure": _VERSION}
    if registry.person_iris is not None:
        fixed["person_iris"] = registry.person_iris
    lines = [ndjson.write_registry_part("registry", fixed)]
    for prefix in reader.prefixes():
        last = timelines.get(counter_key(prefix) if prefix.minter == "sequential" else prefix.key)
        fields = msgspec.to_builtins(prefix, enc_hook=_encode_fraction) | ({} if last is None else {"last": str(last)})
        lines.append(ndjson.write_registry_part("prefix", fields))
    lines.extend(ndjson.write_registry_part("pool", msgspec.to_builtins(pool)) for pool in reader.pools())
    for agent in reader.agents():
        lines.append(ndjson.write_registry_part("agent", msgspec.to_builtins(agent)))
        for one in reader.grants(agent.id):
            fields = msgspec.to_builtins(one) | {"identifier": agent.identifier}
            lines.append(ndjson.write_registry_part("grant", fields))
    return b"".join(line + b"\n" for line in lines)


def _write_ndjson(
    registry: Registry, histories: list[History], left_out: OmissionCallback, for_spreadsheet: bool
) -> _Written:
    lines = []
    for one in histories:
        row = one.identifier
        revisions = tuple(
            PastRevision(past.version, past.at, past.agent, past.action, records.decode(past.record), past.note)
            for past in one.revisions
        )
        lines.append(
            ndjson.write(FullHistory(name=row.name, scheme=row.scheme, revisions=revisions, uuid_raw=one.uuid_raw))
        )
    return len(lines), b"".join(line + b"\n" for line in lines)


def _write_csv(
    registry: Registry, histories: list[History], left_out: OmissionCallback, for_spreadsheet: bool
) -> _Written:
    puts = _table_puts(histories, left_out)
    return len(puts), _format_csv([identifiers_csv.identifier_row(put) for put in puts], for_spreadsheet)


def _write_labels(
    registry: Registry, histories: list[History], left_out: OmissionCallback, for_spreadsheet: bool
) -> _Written:
    labels = []
    for one in histories:
        if one.identifier.scheme == "ibi":
            labels.append(one)
        else:
            left_out(f"{one.identifier.name} ({one.identifier.scheme}) is not an IBI; NDJSON contains it")
    puts = _table_puts(labels, left_out)
    return len(puts), _format_csv([label_table.label_row(put) for put in puts], for_spreadsheet)


def _table_puts(histories: Sequence[History], left_out: OmissionCallback) -> list[ImportPut]:
    """Return the current state of identifiers, as far as a row of a table can contain it."""
    puts = []
    for row in (one.identifier for one in histories):
        record = records.decode(row.record)
        if row.scheme == "ppid" or record.state == "merged":
            left_out(f"{row.name} ({row.scheme}, {record.state}) cannot be represented in a table; NDJSON contains it")
            continue
        target = first_stored_url(record)
        others = [value for value in record.values if value.text != target]
        if others:
            left_out(f"{len(others)} value(s) of {row.name} have no column; NDJSON contains them")
        put = ImportPut(
            line=0,
            name=row.name,
            aliases=record.other_names,
            target=target,
            about=record.about,
            creator=record.creator,
            owners=record.owners,
            created=record.created,
            state=record.state,
            reason=None if record.tombstone is None else record.tombstone.reason,
            replaced_by=None if record.tombstone is None else record.tombstone.replaced_by,
        )
        puts.append(put)
    return puts


def _write_batch(
    registry: Registry, histories: list[History], left_out: OmissionCallback, for_spreadsheet: bool
) -> _Written:
    lines: list[str] = []
    active = list(_active_handles(histories, left_out))
    for one in active:
        block, missing = batch_file.write(one.identifier.name, _handle_values(registry, one))
        lines.extend(block)
        for what in missing:
            left_out(what)
    return len(active), "".join(f"{line}\n" for line in lines).encode()


def _write_handles(
    registry: Registry, histories: list[History], left_out: OmissionCallback, for_spreadsheet: bool
) -> _Written:
    written: list[list[str]] = []
    active = list(_active_handles(histories, left_out))
    for one in active:
        written.extend(handles_table.handle_rows(one.identifier.name, _handle_values(registry, one)))
    return len(active), _format_csv(written, for_spreadsheet)


def _active_handles(histories: list[History], left_out: OmissionCallback) -> Iterator[History]:
    for one in histories:
        row = one.identifier
        if row.state != "active" or row.scheme == "ppid":
            left_out(f"{row.name} ({row.scheme}, {row.state}) cannot be on a Handle server; NDJSON contains it")
        else:
            yield one


def _handle_values(registry: Registry, one: History) -> tuple[Value, ...]:
    return handle_values(records.decode(one.identifier.record), registry.settings.type_prefix, one.revisions[-1].at)


def _format_csv(rows: list[list[str]], for_spreadsheet: bool = False) -> bytes:
    text = io.StringIO()
    written = [identifiers_csv.protect_cells(row) for row in rows] if for_spreadsheet else rows
    csv.writer(text, lineterminator="\n").writerows(written)
    return text.getvalue().encode()


def _encode_fraction(value: Any) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise NotImplementedError(type(value))


_Writer = Callable[[Registry, list[History], OmissionCallback, bool], _Written]
_WRITERS: Final[dict[Format, _Writer]] = {
    "ndjson": _write_ndjson,
    "csv": _write_csv,
    "batch": _write_batch,
    "handles": _write_handles,
    "labels": _write_labels,
}
