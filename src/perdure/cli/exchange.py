"""`perdure import` and `perdure export`: moving in, and out, with everything."""

import hashlib
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
import typer

from perdure import registry as use
from perdure.cli.lines import bounded_lines, text_stream
from perdure.cli.problem_report import ProblemReport
from perdure.cli.progress import count_bar, problems_file, share_bar, size_of
from perdure.cli.screen import as_json, complain, standard_input
from perdure.cli.session import Folder, Json, act
from perdure.errors import InvalidInput
from perdure.exchange import batch_file, ndjson, tables
from perdure.exchange.entry import Entry
from perdure.registry import Options, Tally
from perdure.registry.entities import Agent
from perdure.registry.registry import Registry
from perdure.store.folders import open_private

IMPORT_EXAMPLES = """
**Examples**

- columns name, target, who, what, when, where, creator, owners, created, state: `perdure import names.csv`
- `perdure import --dry-run --problems refused.ndjson everything.ndjson`
- a batch file of a Handle server: `perdure import --any-suffix batch.txt`
- the `handles` table of a Handle server or of DSpace: `perdure import --format handles handles.csv`
"""
EXPORT_EXAMPLES = """
**Examples**

- complete, with history, for another Perdure: `perdure export everything.ndjson`
- `perdure export --format batch --under 12345 moving-out.txt`
- `perdure export --format csv - | head`
- to look at with a spreadsheet program: `perdure export --for-spreadsheet names.csv`
"""

_SOME_REFUSED = 1
_SHOWN = 20
_CHUNK = 1 << 20
_LONGEST_LINE = 1 << 24


class Format(StrEnum):
    ndjson = "ndjson"
    csv = "csv"
    batch = "batch"
    handles = "handles"


_BY_ENDING = {".ndjson": Format.ndjson, ".jsonl": Format.ndjson, ".csv": Format.csv, ".txt": Format.batch}

FormatOption = Annotated[
    Format | None,
    typer.Option(
        help="ndjson, csv, batch (the batch files of Handle servers) or handles (their SQL table). "
        "Default: by the ending .ndjson, .csv or .txt."
    ),
]


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What to bring in, or - for standard input.", allow_dash=True)
    ],
    format: FormatOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every line, and write nothing.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Names that exist get a new version with what the file says.")
    ] = False,
    any_suffix: Annotated[
        bool, typer.Option("--any-suffix", help="Take names under a PILIN prefix as they come.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first line that is refused.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Begin at the first line, though the file was imported before.")
    ] = False,
    from_spreadsheet: Annotated[
        bool,
        typer.Option("--from-spreadsheet", help="A table of export --for-spreadsheet: take its apostrophes out again."),
    ] = False,
    problems: Annotated[
        Path | None, typer.Option(help="Write refused lines here, one JSON object each.", dir_okay=False)
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Bring identifiers in. Bad lines are reported and left out; the rest is imported.

    It can be interrupted and run again: it goes on where it stopped, and changes nothing twice.
    """
    options = Options(update, strict, dry_run, any_suffix, "standard input" if str(file) == "-" else file.name)
    chosen = format or _by_ending(file)
    if from_spreadsheet and chosen not in (Format.csv, Format.handles):
        raise InvalidInput("import", "from_spreadsheet", f"only a table has cells, and {chosen.value} is none")
    with ExitStack() as stack:
        stream = stack.enter_context(file.open("rb")) if str(file) != "-" else standard_input("entries")
        report = ProblemReport()

        async def work(registry: Registry, by: Agent) -> Tally:
            checkpoint = _checkpoint(stream, f"{chosen}, from a spreadsheet" if from_spreadsheet else chosen, options)
            if again and checkpoint is not None:
                await use.forget_checkpoint(registry, by, checkpoint)
            before = await use.imported_so_far(registry, by, checkpoint) if checkpoint is not None else Tally()
            goes_on = before.entries > 0 and not dry_run
            if goes_on and not before.finished:
                complain(f"going on after line {before.line:,}, where an earlier run stopped")
            if problems is not None:
                report.sink = stack.enter_context(problems_file(problems, stream, "import", append=goes_on))
            with share_bar() as bar:
                report.screen = bar.console
                task = bar.add_task("importing", total=size_of(stream))
                counted = text_stream(stream, lambda count: bar.advance(task, count))
                entries = _entries(counted, chosen, from_spreadsheet)
                return await use.import_entries(registry, by, entries, options, checkpoint=checkpoint, report=report)

        tally = act(folder, work)
    _say_tally(tally, options, report, json)
    if tally.refused:
        raise typer.Exit(_SOME_REFUSED)


def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Where to write, or - for standard output.", allow_dash=True)
    ],
    format: FormatOption = None,
    under: Annotated[str | None, typer.Option(help="Only what lies under this prefix.")] = None,
    for_spreadsheet: Annotated[
        bool,
        typer.Option(
            "--for-spreadsheet",
            help="In a table (csv, handles), put an apostrophe before cells that a spreadsheet could run as a formula.",
        ),
    ] = False,
    folder: Folder = None,
) -> None:
    """Write everything out. NDJSON is complete and loses nothing; the others carry what other software reads.

    A file is readable by its owner alone: it may hold values that are not public.
    """
    chosen = format or (Format.ndjson if str(file) == "-" else _by_ending(file))
    left_out = _LeftOut()
    with ExitStack() as stack:
        to_screen = str(file) == "-"
        fresh = file.with_name(f".{file.name}.new")
        if not to_screen and not file.parent.is_dir():
            raise InvalidInput("export", "file", f"there is no folder {file.parent} to write {file.name} into")
        stream: BinaryIO = sys.stdout.buffer if to_screen else stack.enter_context(open_private(fresh))

        async def work(registry: Registry, by: Agent) -> int:
            count = 0
            total = (await registry.store.read(lambda reader: reader.counts()))["identifiers"]
            with count_bar("identifiers") as bar:
                task = bar.add_task("exporting", total=None if under else total)
                async for written, data in use.export(
                    registry, by, chosen.value, under=under, left_out=left_out, for_spreadsheet=for_spreadsheet
                ):
                    stream.write(data)
                    count += written
                    bar.advance(task, written)
            return count

        try:
            count = act(folder, work)
        except BaseException:
            if not to_screen:
                fresh.unlink(missing_ok=True)
            raise
    if not to_screen:
        fresh.replace(file)
    left_out.say_how_many_more()
    if not to_screen:
        typer.echo(f"{count} identifiers were written to {file}")


def _by_ending(file: Path) -> Format:
    try:
        return _BY_ENDING[file.suffix.lower()]
    except KeyError:
        raise InvalidInput("file", "format", "say which format it is: --format ndjson, csv, batch or handles") from None


def _entries(stream: io.BufferedReader, format: Format, from_spreadsheet: bool) -> Iterator[Entry]:
    lines = bounded_lines(stream, _LONGEST_LINE)
    if format is Format.ndjson:
        return ndjson.read(lines)
    text = ((number, line.decode("utf-8", "surrogateescape")) for number, line in lines)
    if format is Format.batch:
        return batch_file.read((number, line.rstrip("\r\n")) for number, line in text)
    rows = tables.rows(line for _, line in text)
    if from_spreadsheet:
        rows = tables.unprotect_cells(rows)
    return tables.read_identifiers(rows) if format is Format.csv else tables.read_handles(rows)


def _checkpoint(stream: io.BufferedReader, format: str, options: Options) -> str | None:
    """What tells this file from others: its content, and how it is read."""
    if not stream.seekable():
        return None
    digest = hashlib.sha256(f"{format}|{options.update}|{options.any_suffix}".encode())
    while chunk := stream.read(_CHUNK):
        digest.update(chunk)
    stream.seek(0)
    return digest.hexdigest()


class _LeftOut:
    """What a format cannot carry: the first of it onto the screen, the rest counted."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, what: str) -> None:
        self._count += 1
        if self._count <= _SHOWN:
            complain(what)

    def say_how_many_more(self) -> None:
        if self._count > _SHOWN:
            complain(f"… and {self._count - _SHOWN:,} more that the format cannot carry")


def _say_tally(tally: Tally, options: Options, report: ProblemReport, json: bool) -> None:
    report.say_how_many_more()
    if tally.finished and tally.resumed and tally.resumed == tally.entries and not json:
        typer.echo("This file was imported before; nothing was changed. To go over it again: --again")
        return
    if json:
        typer.echo(as_json(msgspec.to_builtins(tally) | {"dry_run": options.dry_run}))
        return
    would = "would be " if options.dry_run else ""
    counts = [f"{getattr(tally, what):,} {would}{what}" for what in ("created", "changed", "unchanged", "refused")]
    typer.echo(", ".join(counts))
