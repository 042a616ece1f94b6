"""Exports into bytes, and imports of them into another registry."""

from collections.abc import Iterable
from typing import Any

from tests.registry_fixture import Office

from perdure.formats import batch_file, handles_table, identifiers_csv, ndjson
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import Entry
from perdure.registry import ImportOptions, Tally, export, import_entries


def write_export(office: Office, format: str = "ndjson", by: Any = None, **options: Any) -> bytes:
    async def work() -> bytes:
        agent = by or office.admin
        return b"".join([data async for _, data in export(office.registry, agent, format, **options)])

    return office.run(work())


def lines(data: bytes) -> Iterable[tuple[int, bytes]]:
    return enumerate(data.splitlines(), 1)


def text_lines(data: bytes) -> list[str]:
    return [f"{line}\n" for line in data.decode().split("\n")[:-1]]


def entries(data: bytes, format: str) -> Iterable[Entry]:
    if format == "ndjson":
        return ndjson.read(lines(data))
    if format == "batch":
        return batch_file.read((number, line.rstrip("\n")) for number, line in enumerate(text_lines(data), 1))
    rows = read_rows(text_lines(data))
    return handles_table.read_handles(rows) if format == "handles" else identifiers_csv.read_identifiers(rows)


def move(data: bytes, format: str, into: Office, **options: Any) -> tuple[Tally, list[Any]]:
    problems: list[Any] = []
    tally = into.do(import_entries, entries(data, format), ImportOptions(**options), report=problems.append)
    return tally, problems
