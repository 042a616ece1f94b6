"""`perdure export`: identifiers to a file."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_as_agent
from perdure.cli.file_formats import IdentifierFormat, format_from_suffix
from perdure.cli.output_file import Overwrite, check_output
from perdure.cli.progress import count_progress
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import print_error, to_json
from perdure.registry.entities import Agent
from perdure.store.file_sync import open_private

EXPORT_EXAMPLES = """
**Examples**

- everything with history, for another Perdure: `perdure export everything.ndjson`
- `perdure export --format batch --under 12345 moving-out.txt`
- `perdure export --format csv - | head`
- both labels of each IBI: `perdure export --format labels pairs.csv`
- for a spreadsheet program: `perdure export --for-spreadsheet names.csv`
"""

_MAX_SHOWN: Final = 20

Format = Annotated[
    IdentifierFormat | None,
    typer.Option(
        metavar="FORMAT",
        help="ndjson, csv, batch (batch file of a Handle server), handles (its SQL table, as CSV) or labels (pairs of "
        "IBI labels, as CSV). "
        "Default: by the suffix .ndjson, .csv or .txt.",
    ),
]


def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write, or - for standard output.", allow_dash=True)
    ],
    format: Format = None,
    under: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Export only identifiers under this prefix.")
    ] = None,
    for_spreadsheet: Annotated[
        bool,
        typer.Option(
            "--for-spreadsheet",
            help="csv, handles and labels: put an apostrophe before cells that a spreadsheet could run as a formula.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Export all identifiers. NDJSON is complete; the other formats contain only what other software reads.

    Only its owner can read the file, because it may contain values that are not public. The number of identifiers is
    printed on standard error if the export itself is on standard output.
    """
    chosen = format or (IdentifierFormat.ndjson if str(file) == "-" else format_from_suffix(file, IdentifierFormat))
    omissions = _OmissionReport()
    with ExitStack() as stack:
        to_stdout = str(file) == "-"
        if not to_stdout:
            check_output(file, overwrite, "export")
        partial = file.with_name(f".{file.name}.new")
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
    counts = {"exported": count, "left_out": omissions.count, "format": chosen.value, "file": str(file)}
    what = f"{count:,} {'identifier' if count == 1 else 'identifiers'}"
    line = to_json(counts) if json else f"Exported {what} to {'standard output' if to_stdout else file}."
    typer.echo(line, err=to_stdout)


class _OmissionReport:
    """Prints the first values that a format cannot contain, and counts the rest."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, what: str) -> None:
        self.count += 1
        if self.count <= _MAX_SHOWN:
            print_error(what)

    def print_remaining_count(self) -> None:
        if self.count > _MAX_SHOWN:
            print_error(f"… and {self.count - _MAX_SHOWN:,} more that the format cannot contain")
