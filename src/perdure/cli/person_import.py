"""`perdure person import`: many observations from a file, a few hundred in each transaction."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.exit_codes import SOME_REFUSED
from perdure.cli.file_formats import ObservationFormat, format_from_suffix, parse_delimiter
from perdure.cli.import_report import ProblemReport
from perdure.cli.line_input import bounded_lines, text_stream
from perdure.cli.person_options import parse_pairs, with_part_name
from perdure.cli.progress import byte_progress, open_problems_file, size_of
from perdure.cli.registry_session import Folder, Json, run_as_agent
from perdure.cli.terminal import open_standard_input, print_error, to_json
from perdure.errors import InvalidInput, PerdureError
from perdure.formats import observations_csv, observations_json
from perdure.formats.claim_fields import FieldText
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import RejectedLine
from perdure.formats.observations_json import ObservationRow
from perdure.registry.entities import Agent
from perdure.registry.persons.bulk_observations import observe_many
from perdure.registry.registry import Registry

IMPORT_EXAMPLES = """
**Examples**

- one JSON object per line, with the fields of the API: `perdure person import observations.ndjson`
- a spreadsheet, saved as CSV in UTF-8: `perdure person import burials.csv --map source_url=Link --map name=Naam
  --map birth_date=Geboren --map burial_place=Plaats --set retrieval_timestamp=2025-01-09T10:30:00Z`
- names in parts: `--map name.given_name=Voornaam --map name.patronym=Patroniem
  --map name.surname_prefix=Tussenvoegsel --map name.base_surname=Achternaam`
- fields of all claims of a row: `--map page=Folio --set language=nl --set confidence=0.9`
- check without importing: `perdure person import burials.csv --map … --dry-run`
"""

_CHUNK = 500
_MAX_LINE_BYTES = 1 << 22


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to import, or - for standard input.", allow_dash=True)
    ],
    format: Annotated[
        ObservationFormat | None,
        typer.Option(metavar="FORMAT", help="ndjson or csv. Default: by the suffix .ndjson, .csv or .tsv."),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            help="CSV: column of a field. Repeatable. Default: columns are found by their headings.",
        ),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=TEXT", help="CSV: value of a field for all rows without one. Repeatable."),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHAR", help="CSV: column delimiter. Default: comma, semicolon or tab, found automatically."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check all lines, but write nothing.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first invalid line.")] = False,
    problems: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write invalid lines, with their errors, to this NDJSON file.", dir_okay=False
        ),
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Import observations from a file. Invalid lines are reported and skipped; all others are imported.

    After an interruption, run the same command again: no observation is created twice. For a row without a
    content_hash, the row itself is hashed.
    """
    chosen = format or format_from_suffix(file, ObservationFormat)
    if chosen is ObservationFormat.ndjson and (map or set or delimiter):
        raise InvalidInput("import", "map", "--map, --set and --delimiter are for CSV: NDJSON names its fields itself")
    columns = parse_pairs(map, "map", "COLUMN"), parse_pairs(set, "set", "TEXT")
    with ExitStack() as stack:
        stream = stack.enter_context(file.open("rb")) if str(file) != "-" else open_standard_input("observations")
        sink = stack.enter_context(open_problems_file(problems, stream, "import")) if problems is not None else None
        bar = stack.enter_context(byte_progress())
        task = bar.add_task("importing", total=size_of(stream))
        lines = bounded_lines(text_stream(stream, lambda count: bar.advance(task, count)), _MAX_LINE_BYTES)
        entries = (
            observations_json.read(lines)
            if chosen is ObservationFormat.ndjson
            else _read_csv(lines, columns, None if delimiter is None else parse_delimiter(delimiter, "import"))
        )
        importer = _Import(entries, strict, dry_run, ProblemReport(sink, bar.console))
        note = f"imported from {_escape_non_ascii(file.name)}" if str(file) != "-" else "imported from standard input"
        run_as_agent(folder, lambda registry, by: importer.run(registry, by, note))
    importer.print_result(json)
    if importer.tally["refused"]:
        raise typer.Exit(SOME_REFUSED)


class _Import:
    """An import in progress, and its counts."""

    def __init__(
        self, entries: Iterator[ObservationRow | RejectedLine], strict: bool, dry_run: bool, report: ProblemReport
    ) -> None:
        self._entries = entries
        self._strict = strict
        self._dry_run = dry_run
        self._report = report
        self.tally = Counter(created=0, unchanged=0, refused=0)
        self._withdrawn = 0  # of the unchanged ones

    async def run(self, registry: Registry, by: Agent, note: str) -> None:
        while chunk := list(islice(self._entries, _CHUNK)):
            wrong = await self._process_chunk(registry, by, chunk, note, trial=True) if self._strict else []
            if wrong:
                chunk = [one for one in chunk if one.line < wrong[0].line]
            for problem in await self._process_chunk(registry, by, chunk, note):
                self.tally["refused"] += 1
                self._report(problem)
            if wrong:
                before = "" if self._dry_run else " (earlier lines were imported)"
                raise InvalidInput("import", "line", f"line {wrong[0].line}: {wrong[0].reason}{before}")

    async def _process_chunk(
        self,
        registry: Registry,
        by: Agent,
        chunk: list[ObservationRow | RejectedLine],
        note: str,
        *,
        trial: bool = False,
    ) -> list[RejectedLine]:
        """Import a chunk, and return the refused lines in order. As a trial, check only, and count nothing."""
        seen = [one for one in chunk if isinstance(one, ObservationRow)]
        observations = [one.observation for one in seen]
        outcomes = await observe_many(registry, by, observations, note=note, dry_run=trial or self._dry_run)
        refused = [one for one in chunk if isinstance(one, RejectedLine)]
        for one, outcome in zip(seen, outcomes, strict=True):
            if isinstance(outcome, PerdureError):
                part, rule = getattr(outcome, "part", None), getattr(outcome, "rule", None)
                refused.append(RejectedLine(one.line, _explain_refusal(outcome, one), part=part, rule=rule))
            elif not trial:
                self.tally["created" if outcome.created else "unchanged"] += 1
                self._withdrawn += outcome.state != "active"
        return sorted(refused, key=lambda problem: problem.line)

    def print_result(self, json: bool) -> None:
        """Print the counts."""
        self._report.print_remaining_count()
        counts = self.tally
        if self._withdrawn:
            print_error(f"{self._withdrawn:,} of these observations are withdrawn, and stay so")
        if json:
            withdrawn = {"withdrawn": self._withdrawn} if self._withdrawn else {}
            typer.echo(to_json(dict(counts) | withdrawn | {"dry_run": self._dry_run}))
        elif counts["unchanged"] and not counts["created"] and not counts["refused"]:
            typer.echo(f"All {counts['unchanged']:,} observations exist already; nothing was created.")
        else:
            would = "would be " if self._dry_run else ""
            typer.echo(", ".join(f"{count:,} {would}{what}" for what, count in counts.items()))


def _explain_refusal(problem: PerdureError, one: ObservationRow) -> str:
    if isinstance(problem, InvalidInput):
        return with_part_name(problem, one.observation.claims).reason
    return str(problem)


def _read_csv(
    lines: Iterator[tuple[int, bytes]], columns: tuple[list[FieldText], list[FieldText]], separator: str | None
) -> Iterator[ObservationRow | RejectedLine]:
    text = (line.decode("utf-8", "surrogateescape") for _, line in lines)
    mapped, fixed = columns
    table, entries = observations_csv.read(read_rows(text, separator), mapped, fixed)
    if not mapped and table.unused_columns:
        print_error(f"skipped columns, which are not fields: {', '.join(table.unused_columns)} (see --map)")
    return entries


def _escape_non_ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()
