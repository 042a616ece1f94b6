"""`perdure list`: identifiers by what their records state."""

import csv
import sys
from typing import Annotated, Any

import typer

from perdure import registry as use
from perdure.cli.exit_codes import NOTHING_FOUND
from perdure.cli.query_options import (
    ChangedBefore,
    ChangedSince,
    ContainedText,
    CreatedBefore,
    CreatedSince,
    Creator,
    Owner,
    Scheme,
    State,
    TargetBegins,
    TargetContains,
    Under,
    ValueType,
    build_query,
)
from perdure.cli.registry_session import Folder, Json, run_as_agent
from perdure.cli.terminal import escape_control, to_json
from perdure.errors import InvalidInput
from perdure.formats.identifiers_csv import protect_cells
from perdure.records import record as records
from perdure.records.authority_metadata import to_seconds
from perdure.records.target import first_url
from perdure.registry.entities import Agent, History
from perdure.registry.registry import Registry

EXAMPLES = """
**Examples**

- `perdure list --under 12345`
- `perdure list --state withdrawn --changed-since 2026-01-01`
- `perdure list --target-begins http://old.example.org/ --csv > old.csv`
- `perdure list --owner maria --type 10320/loc --json`
"""
_COLUMNS = ("name", "scheme", "state", "version", "created", "changed", "creator", "owners", "target")


def list_(
    under: Under = None,
    state: State = None,
    scheme: Scheme = None,
    creator: Creator = None,
    owner: Owner = None,
    created_since: CreatedSince = None,
    created_before: CreatedBefore = None,
    changed_since: ChangedSince = None,
    changed_before: ChangedBefore = None,
    target_begins: TargetBegins = None,
    target_contains: TargetContains = None,
    type: ValueType = None,
    text: ContainedText = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print a CSV table with all columns.")] = False,
    for_spreadsheet: Annotated[
        bool,
        typer.Option(
            "--for-spreadsheet",
            help="With --csv: put an apostrophe before cells that a spreadsheet could run as a formula.",
        ),
    ] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """List identifiers, all of them or those that pass every filter, in the order of their names.

    The list is as long as it needs to be, and is printed while it is read.
    """
    if (csv and json) or (for_spreadsheet and not csv):
        raise InvalidInput("list", "csv", "choose --csv (with or without --for-spreadsheet), or --json")
    query = build_query(locals())
    printer = _CsvPrinter(for_spreadsheet) if csv else _JsonPrinter() if json else _LinePrinter()

    async def work(registry: Registry, by: Agent) -> int:
        count = 0
        async for found in use.select_identifiers(registry, by, query):
            for stored in found:
                printer.print_row(stored)
            count += len(found)
        return count

    if not run_as_agent(folder, work):
        typer.echo("No identifiers found.", err=True)
        raise typer.Exit(NOTHING_FOUND)


def _row_fields(stored: History) -> dict[str, Any]:
    row, record = stored.identifier, records.decode(stored.identifier.record)
    changed = to_seconds(stored.revisions[-1].at) if stored.revisions else None
    cells = (row.name, row.scheme, row.state, row.version, row.created, changed)
    target = first_url(record) if row.state == "active" else None
    return dict(zip(_COLUMNS, (*cells, record.creator, list(record.owners), target), strict=True))


class _LinePrinter:
    """Prints each name with its target, or its state."""

    def print_row(self, stored: History) -> None:
        row = stored.identifier
        target = row.target or (first_url(records.decode(row.record)) if row.state == "active" else None)
        typer.echo(f"{escape_control(row.name)}\t{escape_control(target or row.state)}")


class _JsonPrinter:
    """Prints one JSON object per line."""

    def print_row(self, stored: History) -> None:
        typer.echo(to_json(_row_fields(stored)))


class _CsvPrinter:
    """Prints a table with a header row. Several owners are separated by blanks."""

    def __init__(self, for_spreadsheet: bool) -> None:
        self._protect = for_spreadsheet
        self._writer = csv.writer(sys.stdout, lineterminator="\n")
        self._has_header = False

    def print_row(self, stored: History) -> None:
        if not self._has_header:
            self._writer.writerow(_COLUMNS)
            self._has_header = True
        fields = _row_fields(stored) | {"owners": " ".join(_row_fields(stored)["owners"])}
        cells = ["" if cell is None else str(cell) for cell in fields.values()]
        self._writer.writerow(protect_cells(cells) if self._protect else cells)
