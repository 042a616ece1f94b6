"""Export: everything out, in formats that this registry and others read, in constant memory.

Secrets never go out: keys stay where they are, and records hold none.
"""

import csv
import io
from collections.abc import AsyncIterator, Callable
from fractions import Fraction
from typing import Any, Final, Literal

import msgspec

from perdure.errors import InvalidInput
from perdure.exchange import batch_file, ndjson, tables
from perdure.exchange.entry import PastRevision, Put, Whole
from perdure.records import record as records
from perdure.records.authority import handle_values
from perdure.records.target import location
from perdure.registry.authority import require
from perdure.registry.entities import EVERYWHERE, Agent, History, Identifier, counter
from perdure.registry.naming import keys_under, known_prefix
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry

Format = Literal["ndjson", "csv", "batch", "handles"]
_CHUNK: Final = 2000
_VERSION: Final = 1
_TABLES: Final = ("csv", "handles")

LeftOut = Callable[[str], None]


async def export(
    registry: Registry,
    by: Agent,
    format: Format = "ndjson",
    *,
    under: str | None = None,
    left_out: LeftOut = lambda what: None,
    for_spreadsheet: bool = False,
) -> AsyncIterator[tuple[int, bytes]]:
    """The registry, or what lies under one prefix: how many identifiers, and the bytes that they are written in.

    NDJSON is complete, with every version. The other formats say what is so now; what they cannot carry is told.
    `for_spreadsheet` protects the cells of a table that a spreadsheet program could run as a formula.
    """
    if for_spreadsheet and format not in _TABLES:
        raise InvalidInput("export", "for_spreadsheet", f"only a table has cells: take one of {', '.join(_TABLES)}")
    beginning = await registry.store.read(lambda reader: _permitted(registry, reader, by, under))
    if format == "ndjson" and under is None:
        yield 0, await registry.store.read(lambda reader: _settings(registry, reader))
    if format in _TABLES:
        yield 0, _written([list(tables.IDENTIFIER_COLUMNS if format == "csv" else tables.HANDLE_COLUMNS)])
    key = ""
    while True:

        def work(reader: Reader, key: str = key) -> tuple[str, list[History]]:
            found = reader.histories(key, _CHUNK, beginning)
            own = [one for one in found if one.identifier.subject == one.identifier.key]
            return found[-1].identifier.key if found else "", own

        key, own = await registry.store.read(work)
        if not key:
            return
        if format in _TABLES:
            rows = (_rows if format == "csv" else _handle_rows)(registry, own, left_out)
            data = _written([tables.protect_cells(row) for row in rows] if for_spreadsheet else rows)
        else:
            data = (_ndjson if format == "ndjson" else _batch)(registry, own, left_out)
        yield len(own), data


def _permitted(registry: Registry, reader: Reader, by: Agent, under: str | None) -> str | None:
    prefix = None if under is None else known_prefix(reader, under)
    require(reader, by, "admin", EVERYWHERE if prefix is None else prefix.key, registry.now())
    return None if prefix is None else keys_under(prefix)


def _settings(registry: Registry, reader: Reader) -> bytes:
    timelines = reader.timelines()
    namespace = str(registry.ppid_namespace)
    lines = [ndjson.write_setting("registry", {"id": registry.id, "ppid_namespace": namespace, "perdure": _VERSION})]
    for prefix in reader.prefixes():
        last = timelines.get(counter(prefix) if prefix.minter == "sequential" else prefix.key)
        fields = msgspec.to_builtins(prefix, enc_hook=_text) | ({} if last is None else {"last": str(last)})
        lines.append(ndjson.write_setting("prefix", fields))
    for agent in reader.agents():
        lines.append(ndjson.write_setting("agent", msgspec.to_builtins(agent)))
        for one in reader.grants(agent.id):
            fields = msgspec.to_builtins(one) | {"identifier": agent.identifier}
            lines.append(ndjson.write_setting("grant", fields))
    return b"".join(line + b"\n" for line in lines)


def _ndjson(registry: Registry, histories: list[History], left_out: LeftOut) -> bytes:
    lines = []
    for one in histories:
        row = one.identifier
        revisions = tuple(
            PastRevision(past.version, past.at, past.agent, past.action, records.decode(past.record), past.note)
            for past in one.revisions
        )
        lines.append(ndjson.write(Whole(name=row.name, scheme=row.scheme, revisions=revisions, uuid_raw=one.uuid_raw)))
    return b"".join(line + b"\n" for line in lines)


def _rows(registry: Registry, histories: list[History], left_out: LeftOut) -> list[list[str]]:
    written = []
    for row in (one.identifier for one in histories):
        record = records.decode(row.record)
        if row.scheme == "ppid" or record.state not in ("active", "reserved"):
            left_out(f"{row.name} ({row.scheme}, {record.state}) has no place in a table; NDJSON carries it")
            continue
        target = location(record)
        others = [value for value in record.values if value.text != target]
        if others:
            left_out(f"{len(others)} value(s) of {row.name} have no column; NDJSON carries them")
        put = Put(
            line=0,
            name=row.name,
            target=target,
            about=record.about,
            creator=record.creator,
            owners=record.owners,
            created=record.created,
            state="active" if record.state == "active" else "reserved",
        )
        written.append(tables.identifier_row(put))
    return written


def _batch(registry: Registry, histories: list[History], left_out: LeftOut) -> bytes:
    lines: list[str] = []
    for row in _active_handles(histories, left_out):
        block, missing = batch_file.write(row.name, _values(registry, row))
        lines.extend(block)
        for what in missing:
            left_out(what)
    return "".join(f"{line}\n" for line in lines).encode()


def _handle_rows(registry: Registry, histories: list[History], left_out: LeftOut) -> list[list[str]]:
    written: list[list[str]] = []
    for row in _active_handles(histories, left_out):
        written.extend(tables.handle_rows(row.name, _values(registry, row)))
    return written


def _active_handles(histories: list[History], left_out: LeftOut) -> list[Identifier]:
    rows = [one.identifier for one in histories]
    for row in rows:
        if row.state != "active" or row.scheme == "ppid":
            left_out(f"{row.name} ({row.scheme}, {row.state}) is nothing that a Handle server keeps; NDJSON carries it")
    return [row for row in rows if row.state == "active" and row.scheme != "ppid"]


def _values(registry: Registry, row: Identifier) -> Any:
    return handle_values(records.decode(row.record), registry.settings.type_prefix)


def _written(rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _text(value: Any) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise NotImplementedError(type(value))
