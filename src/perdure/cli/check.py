"""`perdure check`: is every identifier of a long list right?"""

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perdure.cli.lines import plain_lines, table_lines
from perdure.cli.progress import problems_file, share_bar, size_of
from perdure.cli.screen import as_json, complain, console, printable, standard_input
from perdure.cli.tally import Problem, Tally
from perdure.errors import InvalidInput

EXAMPLES = """
**Examples**

- `perdure check identifiers.txt`
- `perdure check --column handle --problems wrong.ndjson export.csv`
- `zcat persons.txt.gz | perdure check --scheme ppid --json -`
"""

_LONGEST_SHOWN = 80


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
        Path, typer.Argument(metavar="FILE", help="The file to check, or - for standard input.", allow_dash=True)
    ],
    scheme: Annotated[Scheme | None, typer.Option(help="The scheme that every identifier should be of.")] = None,
    column: Annotated[
        str | None,
        typer.Option(
            help="Check this column of a CSV or TSV file: its heading, or its number from 1 if there is none."
        ),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What separates columns; tab for .tsv files, else a comma.")
    ] = None,
    show: Annotated[int, typer.Option(min=0, help="How many problems to show.")] = 20,
    problems: Annotated[
        Path | None, typer.Option(help="Write every problem to this file, one JSON object per line.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The report as one JSON object.")] = False,
) -> None:
    """Check a list of identifiers, one per line or one column of a table.

    Reads a list of any length in constant memory and prints how many identifiers of each scheme are right, what is
    wrong with the others and, where only one can have been meant, the right one. Blank lines are passed over. Exit
    code 0: all are valid; 1: at least one is not; 2: the list could not be read.
    """
    separator = _separator(delimiter, file)
    tally = Tally(scheme.value if scheme else None)
    shown: list[Problem] = []
    with ExitStack() as stack:
        stream = standard_input() if str(file) == "-" else stack.enter_context(file.open("rb"))
        sink = stack.enter_context(problems_file(problems, stream, "check")) if problems else None
        progress = stack.enter_context(share_bar())
        task = progress.add_task("checking", total=size_of(stream))

        def advance(size: int) -> None:
            progress.advance(task, size)

        batches = plain_lines(stream, advance) if column is None else table_lines(stream, advance, column, separator)
        for batch in batches:
            found = tally.count(batch)
            shown += found[: show - len(shown)]
            if sink is not None:
                sink.writelines(as_json(problem.as_object()) + "\n" for problem in found)
            progress.update(task, description=f"checking, {tally.total:,} so far")
    if json:
        report = tally.as_object() | {"problems": [problem.as_object() for problem in shown]}
        typer.echo(as_json(report))
    else:
        _print(console(), tally, shown)
    raise typer.Exit(1 if tally.total_wrong else 0)


def _separator(delimiter: str | None, file: Path) -> str:
    if delimiter is None:
        return "\t" if file.suffix == ".tsv" else ","
    separator = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    if len(separator) != 1 or separator in '"\r\n':
        raise InvalidInput(
            "check", "delimiter", "one character, no quotation mark, separates columns (or the word tab)"
        )
    return separator


def _print(screen: Console, tally: Tally, shown: list[Problem]) -> None:
    if not tally.total:
        complain("there was nothing to check")
        return
    if shown:
        screen.print(_problems(shown))
        hidden = tally.total_wrong - len(shown)
        if hidden > 0:
            screen.print(f"… and {hidden:,} more: write them all to a file with --problems FILE")
        screen.print()
    screen.print(_summary(tally))


def _problems(shown: list[Problem]) -> Table:
    table = Table("line", "identifier", "what is wrong", box=box.HORIZONTALS, pad_edge=False)
    table.columns[0].justify = "right"
    table.columns[1].overflow = table.columns[2].overflow = "fold"
    for problem in shown:
        text = problem.text.strip()
        text = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
        wrong = Text(printable(problem.reason))
        if problem.suggestion:
            wrong.append(f"\ndid you mean {printable(problem.suggestion)}", style="green")
        table.add_row(str(problem.line), Text(printable(text)), wrong)
    return table


def _summary(tally: Tally) -> Table:
    table = Table("scheme", "verdict", "count", box=box.HORIZONTALS, pad_edge=False, show_footer=True)
    table.columns[2].justify = "right"
    for scheme, count in tally.valid.most_common():
        table.add_row(scheme, Text("valid", style="green"), f"{count:,}")
    if tally.doubtful:
        table.add_row("handle", Text("of these doubtful: no registered prefix", style="yellow"), f"{tally.doubtful:,}")
    for (scheme, part), count in tally.wrong.most_common():
        table.add_row(scheme, Text(f"invalid: {part}", style="red"), f"{count:,}")
    table.columns[0].footer = "all"
    blank = f", {tally.blank:,} blank" if tally.blank else ""
    table.columns[1].footer = f"{tally.total_valid:,} valid, {tally.total_wrong:,} invalid{blank}"
    table.columns[2].footer = f"{tally.total:,}"
    return table
