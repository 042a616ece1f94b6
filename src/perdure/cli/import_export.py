"""`perdure import` and `perdure export`: identifiers from files and to files."""

import hashlib
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_as_agent
from perdure.cli.exit_codes import SOME_REFUSED
from perdure.cli.file_formats import IdentifierFormat, format_from_suffix
from perdure.cli.import_report import ProblemReport
from perdure.cli.line_input import bounded_lines, text_stream
from perdure.cli.progress import byte_progress, count_progress, open_problems_file, size_of
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import open_standard_input, print_error, to_json
from perdure.errors import InvalidInput
from perdure.formats import batch_file, identifiers_csv, ndjson
from perdure.formats.csv_rows import read_rows
from perdure.formats.import_entries import Entry
from perdure.registry import ImportOptions, Tally
from perdure.registry.entities import Agent
from perdure.store.file_sync import open_private

IMPORT_EXAMPLES = """
**Examples**

- CSV with the columns name, target, who, what, when, where, creator, owners, created, state: `perdure import names.csv`
- `perdure import --dry-run --problems refused.ndjson everything.ndjson`
- a batch file of a Handle server: `perdure import --any-suffix batch.txt`
- the `handles` table of a Handle server: `perdure import --format handles handles.csv`
"""
EXPORT_EXAMPLES = """
**Examples**

- everything with history, for another Perdure: `perdure export everything.ndjson`
- `perdure export --format batch --under 12345 moving-out.txt`
- `perdure export --format csv - | head`
- for a spreadsheet program: `perdure export --for-spreadsheet names.csv`
"""

_MAX_SHOWN = 20
_CHUNK = 1 << 20
_MAX_LINE_BYTES = 1 << 24


FormatOption = Annotated[
    IdentifierFormat | None,
    typer.Option(
        metavar="FORMAT",
        help="ndjson, csv, batch (batch file of a Handle server) or handles (its SQL table, as CSV). "
        "Default: by the suffix .ndjson, .csv or .txt.",
    ),
]


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to import, or - for standard input.", allow_dash=True)
    ],
    format: FormatOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check all lines, but write nothing.")] = False,
    update: Annotated[bool, typer.Option("--update", help="Update names that exist: they get a new version.")] = False,
    any_suffix: Annotated[bool, typer.Option("--any-suffix", help="Accept any suffix under a PILIN prefix.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first invalid line.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Start at the first line, even if the file was imported before.")
    ] = False,
    from_spreadsheet: Annotated[
        bool,
        typer.Option("--from-spreadsheet", help="Remove the apostrophes that export --for-spreadsheet added."),
    ] = False,
    problems: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write invalid lines, with their errors, to this NDJSON file.", dir_okay=False
        ),
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Import identifiers from a file. Invalid lines are reported and skipped; all others are imported.

    After an interruption, run the same command again: it continues where it stopped, and changes nothing twice.
    """
    options = ImportOptions(update, strict, dry_run, any_suffix, "standard input" if str(file) == "-" else file.name)
    chosen = format or format_from_suffix(file, IdentifierFormat)
    if from_spreadsheet and chosen not in (IdentifierFormat.csv, IdentifierFormat.handles):
        raise InvalidInput(
            "import", "from_spreadsheet", f"--from-spreadsheet requires the format csv or handles, not {chosen.value}"
        )
    with ExitStack() as stack:
        stream = stack.enter_context(file.open("rb")) if str(file) != "-" else open_standard_input("lines")
        report = ProblemReport()

        async def work(registry: AnyRegistry, by: Agent) -> Tally:
            checkpoint = _checkpoint_id(
                stream, f"{chosen}, from a spreadsheet" if from_spreadsheet else chosen, options
            )
            if again and checkpoint is not None:
                await use.forget_checkpoint(registry, by, checkpoint)
            before = await use.read_checkpoint(registry, by, checkpoint) if checkpoint is not None else Tally()
            resumes = before.entries > 0 and not dry_run
            if resumes and not before.finished:
                print_error(f"resuming after line {before.line:,}, where an earlier import stopped")
            if problems is not None:
                report.sink = stack.enter_context(open_problems_file(problems, stream, "import", append=resumes))
            with byte_progress() as bar:
                report.screen = bar.console
                task = bar.add_task("importing", total=size_of(stream))
                counted = text_stream(stream, lambda count: bar.advance(task, count))
                entries = _read_entries(counted, chosen, from_spreadsheet)
                return await use.import_entries(registry, by, entries, options, checkpoint=checkpoint, report=report)

        tally = run_as_agent(folder, work)
    _print_tally(tally, options, report, json)
    if tally.refused:
        raise typer.Exit(SOME_REFUSED)


def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write, or - for standard output.", allow_dash=True)
    ],
    format: FormatOption = None,
    under: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Export only identifiers under this prefix.")
    ] = None,
    for_spreadsheet: Annotated[
        bool,
        typer.Option(
            "--for-spreadsheet",
            help="csv and handles: put an apostrophe before cells that a spreadsheet could run as a formula.",
        ),
    ] = False,
    folder: Folder = None,
) -> None:
    """Export all identifiers. NDJSON is complete; the other formats contain only what other software reads.

    Only its owner can read the file, because it may contain values that are not public.
    """
    chosen = format or (IdentifierFormat.ndjson if str(file) == "-" else format_from_suffix(file, IdentifierFormat))
    omissions = _OmissionReport()
    with ExitStack() as stack:
        to_stdout = str(file) == "-"
        partial = file.with_name(f".{file.name}.new")
        if not to_stdout and not file.parent.is_dir():
            raise InvalidInput("export", "file", f"folder not found: {file.parent}")
        stream: BinaryIO = sys.stdout.buffer if to_stdout else stack.enter_context(open_private(partial))

        async def work(registry: AnyRegistry, by: Agent) -> int:
            count = 0
            total = await use.count_identifiers(registry)
            with count_progress("identifiers") as bar:
                task = bar.add_task("exporting", total=None if under else total)
                async for written, data in use.export(
                    registry, by, chosen.value, under=under, left_out=omissions, for_spreadsheet=for_spreadsheet
                ):
                    stream.write(data)
                    count += written
                    bar.advance(task, written)
            return count

        try:
            count = run_as_agent(folder, work)
        except BaseException:
            if not to_stdout:
                partial.unlink(missing_ok=True)
            raise
    if not to_stdout:
        partial.replace(file)
    omissions.print_remaining_count()
    if not to_stdout:
        typer.echo(f"Exported {count} identifiers to {file}.")


def _read_entries(stream: io.BufferedReader, format: IdentifierFormat, from_spreadsheet: bool) -> Iterator[Entry]:
    lines = bounded_lines(stream, _MAX_LINE_BYTES)
    if format is IdentifierFormat.ndjson:
        return ndjson.read(lines)
    text = ((number, line.decode("utf-8", "surrogateescape")) for number, line in lines)
    if format is IdentifierFormat.batch:
        return batch_file.read((number, line.rstrip("\r\n")) for number, line in text)
    rows = read_rows((line for _, line in text), longest=identifiers_csv.LONGEST_ROW)
    if from_spreadsheet:
        rows = identifiers_csv.unprotect_cells(rows)
    return (
        identifiers_csv.read_identifiers(rows) if format is IdentifierFormat.csv else identifiers_csv.read_handles(rows)
    )


def _checkpoint_id(stream: io.BufferedReader, format: str, options: ImportOptions) -> str | None:
    """Return a digest of the content of a file and of the options, or None for a pipe."""
    if not stream.seekable():
        return None
    digest = hashlib.sha256(f"{format}|{options.update}|{options.any_suffix}".encode())
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    stream.seek(0)
    return digest.hexdigest()


class _OmissionReport:
    """Prints the first values that a format cannot contain, and counts the rest."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, what: str) -> None:
        self._count += 1
        if self._count <= _MAX_SHOWN:
            print_error(what)

    def print_remaining_count(self) -> None:
        if self._count > _MAX_SHOWN:
            print_error(f"… and {self._count - _MAX_SHOWN:,} more that the format cannot contain")


def _print_tally(tally: Tally, options: ImportOptions, report: ProblemReport, json: bool) -> None:
    report.print_remaining_count()
    if tally.finished and tally.resumed and tally.resumed == tally.entries and not json:
        typer.echo("This file was imported before; nothing was changed. To import it again: --again")
        return
    if json:
        typer.echo(to_json(msgspec.to_builtins(tally) | {"dry_run": options.dry_run}))
        return
    would = "would be " if options.dry_run else ""
    counts = [f"{getattr(tally, what):,} {would}{what}" for what in ("created", "changed", "unchanged", "refused")]
    typer.echo(", ".join(counts))
