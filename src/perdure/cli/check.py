"""`perdure check`: validate long lists of identifiers."""

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perdure.cli.check_summary import CheckSummary, Problem
from perdure.cli.exit_codes import PROBLEMS_FOUND
from perdure.cli.file_formats import parse_delimiter
from perdure.cli.line_input import plain_lines, table_lines
from perdure.cli.progress import byte_progress, open_problems_file, size_of
from perdure.cli.terminal import escape_control, make_console, open_standard_input, print_error, to_json

EXAMPLES = """
**Examples**

- `perdure check identifiers.txt`
- `perdure check --column handle --problems wrong.ndjson export.csv`
- `zcat persons.txt.gz | perdure check --scheme ppid --json -`
"""

_MAX_SHOWN_LENGTH = 80


class Scheme(StrEnum):
    handle = "handle"
    pilin = "pilin"
    ibi = "ibi"
    ppid = "ppid"
    orcid = "orcid"
    isni = "isni"
    viaf = "viaf"
    wikidata = "wikidata"
    ghcid = "ghcid"


def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to check, or - for standard input.", allow_dash=True)
    ],
    scheme: Annotated[
        Scheme | None, typer.Option(metavar="SCHEME", help=f"Expected scheme: {', '.join(Scheme)}.")
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Check this column of a CSV or TSV file: its heading, or its number, counted from 1."
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="Column delimiter. Default: tab for .tsv files, otherwise a comma."),
    ] = None,
    show: Annotated[int, typer.Option(metavar="N", min=0, help="Number of problems to show.")] = 20,
    problems: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all problems to this file, one JSON object per line.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Check a list of identifiers, one per line or one column of a table.

    Prints the number of valid identifiers of each scheme, and the reason why others are invalid, with a correction
    where only one is possible. Blank lines are skipped. Lists of any length are read in constant memory.

    Exit code 0: all are valid; 1: at least one is invalid; 2: the list could not be read.
    """
    separator = _column_delimiter(delimiter, file)
    summary = CheckSummary(scheme.value if scheme else None)
    examples: list[Problem] = []
    with ExitStack() as stack:
        stream = open_standard_input() if str(file) == "-" else stack.enter_context(file.open("rb"))
        sink = stack.enter_context(open_problems_file(problems, stream, "check")) if problems else None
        progress = stack.enter_context(byte_progress())
        task = progress.add_task("checking", total=size_of(stream))

        def advance(size: int) -> None:
            progress.advance(task, size)

        batches = plain_lines(stream, advance) if column is None else table_lines(stream, advance, column, separator)
        for batch in batches:
            problems_in_batch = summary.count(batch)
            examples += problems_in_batch[: show - len(examples)]
            if sink is not None:
                sink.writelines(to_json(problem.to_dict()) + "\n" for problem in problems_in_batch)
            progress.update(task, description=f"checking, {summary.total:,} so far")
    if json:
        report = summary.to_dict() | {"problems": [problem.to_dict() for problem in examples]}
        typer.echo(to_json(report))
    else:
        _print_report(make_console(), summary, examples)
    raise typer.Exit(PROBLEMS_FOUND if summary.total_wrong else 0)


def _column_delimiter(text: str | None, file: Path) -> str:
    if text is None:
        return "\t" if file.suffix == ".tsv" else ","
    return parse_delimiter(text, "check")


def _print_report(screen: Console, summary: CheckSummary, examples: list[Problem]) -> None:
    if not summary.total:
        print_error("the input is empty: nothing to check")
        return
    if examples:
        screen.print(_problems_table(examples))
        hidden = summary.total_wrong - len(examples)
        if hidden > 0:
            screen.print(f"… and {hidden:,} more: write all of them to a file with --problems FILE")
        screen.print()
    screen.print(_summary_table(summary))


def _problems_table(examples: list[Problem]) -> Table:
    table = Table("line", "identifier", "problem", box=box.HORIZONTALS, pad_edge=False)
    table.columns[0].justify = "right"
    table.columns[1].overflow = table.columns[2].overflow = "fold"
    for problem in examples:
        text = problem.text.strip()
        text = text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "…"
        wrong = Text(escape_control(problem.reason))
        if problem.suggestion:
            wrong.append(f"\ndid you mean {escape_control(problem.suggestion)}", style="green")
        table.add_row(str(problem.line), Text(escape_control(text)), wrong)
    return table


def _summary_table(summary: CheckSummary) -> Table:
    table = Table("scheme", "verdict", "count", box=box.HORIZONTALS, pad_edge=False, show_footer=True)
    table.columns[2].justify = "right"
    for scheme, count in summary.valid.most_common():
        table.add_row(scheme, Text("valid", style="green"), f"{count:,}")
    if summary.doubtful:
        table.add_row("handle", Text("of these doubtful: unregistered prefix", style="yellow"), f"{summary.doubtful:,}")
    for (scheme, part), count in summary.wrong.most_common():
        table.add_row(scheme, Text(f"invalid: {part}", style="red"), f"{count:,}")
    table.columns[0].footer = "all"
    blank = f", {summary.blank:,} blank" if summary.blank else ""
    table.columns[1].footer = f"{summary.total_valid:,} valid, {summary.total_wrong:,} invalid{blank}"
    table.columns[2].footer = f"{summary.total:,}"
    return table
