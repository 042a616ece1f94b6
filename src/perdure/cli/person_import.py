"""`perdure person import`: observations by the hundred thousand, a few hundred in each transaction."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.lines import bounded_lines, text_stream
from perdure.cli.person_said import naming_the_part, pairs
from perdure.cli.problem_report import ProblemReport
from perdure.cli.progress import problems_file, share_bar, size_of
from perdure.cli.screen import as_json, complain, standard_input
from perdure.cli.session import Folder, Json, act
from perdure.errors import InvalidInput, PerdureError
from perdure.exchange import observation_tables, observations
from perdure.exchange.claim_fields import Said
from perdure.exchange.entry import Refused
from perdure.exchange.observations import Seen
from perdure.registry.entities import Agent
from perdure.registry.persons.bulk import observe_many
from perdure.registry.registry import Registry

IMPORT_EXAMPLES = """
**Examples**

- one JSON object a line, with the fields of the API: `perdure person import observations.ndjson`
- a spreadsheet, saved as CSV in UTF-8: `perdure person import burials.csv --map source_url=Link --map name=Naam
  --map birth_date=Geboren --map burial_place=Plaats --set retrieval_timestamp=2025-01-09T10:30:00Z`
- names in their parts: `--map name.given_name=Voornaam --map name.patronym=Patroniem
  --map name.surname_prefix=Tussenvoegsel --map name.base_surname=Achternaam`
- of all the claims of a row: `--map page=Folio --set language=nl --set confidence=0.9`
- try it first: `perdure person import burials.csv --map … --dry-run`
"""

_CHUNK = 500
_SOME_REFUSED = 1
_LONGEST_LINE = 1 << 22


class Format(StrEnum):
    ndjson = "ndjson"
    csv = "csv"


_BY_ENDING = {".ndjson": Format.ndjson, ".jsonl": Format.ndjson, ".csv": Format.csv, ".tsv": Format.csv}


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What to bring in, or - for standard input.", allow_dash=True)
    ],
    format: Annotated[
        Format | None, typer.Option(help="ndjson or csv. Default: by the ending .ndjson, .csv or .tsv.")
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=COLUMN", help="CSV: which column brings a field. Without any: by the headings."),
    ] = None,
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD=TEXT", help="CSV: what holds for every row that says nothing of it."),
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="CSV: what separates columns. Default: comma, semicolon or tab, as it is found.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every line, and write nothing.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first line that is refused.")] = False,
    problems: Annotated[
        Path | None, typer.Option(help="Write refused lines here, one JSON object each.", dir_okay=False)
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Bring observations in. Bad lines are reported and left out; the rest is imported.

    It can be interrupted and run again: the same observation is never made twice. A row without a content_hash is
    hashed itself.
    """
    chosen = format or _by_ending(file)
    if chosen is Format.ndjson and (map or set or delimiter):
        raise InvalidInput("import", "map", "--map, --set and --delimiter are for CSV: NDJSON names its fields itself")
    columns = pairs(map, "map", "COLUMN"), pairs(set, "set", "TEXT")
    with ExitStack() as stack:
        stream = stack.enter_context(file.open("rb")) if str(file) != "-" else standard_input("observations")
        sink = stack.enter_context(problems_file(problems, stream, "import")) if problems is not None else None
        bar = stack.enter_context(share_bar())
        task = bar.add_task("importing", total=size_of(stream))
        lines = bounded_lines(text_stream(stream, lambda count: bar.advance(task, count)), _LONGEST_LINE)
        entries = observations.read(lines) if chosen is Format.ndjson else _rows(lines, columns, _separator(delimiter))
        going = _Import(entries, strict, dry_run, ProblemReport(sink, bar.console))
        note = f"imported from {_ascii(file.name)}" if str(file) != "-" else "imported from standard input"
        act(folder, lambda registry, by: going.run(registry, by, note))
    going.say(json)
    if going.tally["refused"]:
        raise typer.Exit(_SOME_REFUSED)


class _Import:
    """The walk over a file, and what came of it."""

    def __init__(self, entries: Iterator[Seen | Refused], strict: bool, dry_run: bool, report: ProblemReport) -> None:
        self._entries = entries
        self._strict = strict
        self._dry_run = dry_run
        self._report = report
        self.tally = Counter(created=0, unchanged=0, refused=0)

    async def run(self, registry: Registry, by: Agent, note: str) -> None:
        while chunk := list(islice(self._entries, _CHUNK)):
            wrong = await self._looked_at(registry, by, chunk, note, trial=True) if self._strict else []
            if wrong:
                chunk = [one for one in chunk if one.line < wrong[0].line]
            for problem in await self._looked_at(registry, by, chunk, note):
                self.tally["refused"] += 1
                self._report(problem)
            if wrong:
                before = "" if self._dry_run else " (the lines before it were imported)"
                raise InvalidInput("import", "line", f"line {wrong[0].line}: {wrong[0].reason}{before}")

    async def _looked_at(
        self, registry: Registry, by: Agent, chunk: list[Seen | Refused], note: str, *, trial: bool = False
    ) -> list[Refused]:
        """What is refused, in the order of the lines; the rest is made and counted, or, as a trial, neither."""
        seen = [one for one in chunk if isinstance(one, Seen)]
        said = [one.observation for one in seen]
        outcomes = await observe_many(registry, by, said, note=note, dry_run=trial or self._dry_run)
        refused = [one for one in chunk if isinstance(one, Refused)]
        for one, outcome in zip(seen, outcomes, strict=True):
            if isinstance(outcome, PerdureError):
                part, rule = getattr(outcome, "part", None), getattr(outcome, "rule", None)
                refused.append(Refused(one.line, _why(outcome, one), part=part, rule=rule))
            elif not trial:
                self.tally["created" if outcome.created else "unchanged"] += 1
        return sorted(refused, key=lambda problem: problem.line)

    def say(self, json: bool) -> None:
        """What came of it."""
        self._report.say_how_many_more()
        counts = self.tally
        if json:
            typer.echo(as_json(dict(counts) | {"dry_run": self._dry_run}))
        elif counts["unchanged"] and not counts["created"] and not counts["refused"]:
            typer.echo(f"All {counts['unchanged']:,} observations were known already; nothing was created")
        else:
            would = "would be " if self._dry_run else ""
            typer.echo(", ".join(f"{count:,} {would}{what}" for what, count in counts.items()))


def _why(problem: PerdureError, one: Seen) -> str:
    if isinstance(problem, InvalidInput):
        return naming_the_part(problem, one.observation.claims).reason
    return str(problem)


def _rows(
    lines: Iterator[tuple[int, bytes]], columns: tuple[list[Said], list[Said]], separator: str | None
) -> Iterator[Seen | Refused]:
    text = (line.decode("utf-8", "surrogateescape") for _, line in lines)
    mapped, fixed = columns
    table, entries = observation_tables.read(observation_tables.rows(text, separator), mapped, fixed)
    if not mapped and table.left_out:
        complain(f"columns that are left out, since they name no field: {', '.join(table.left_out)} (see --map)")
    return entries


def _by_ending(file: Path) -> Format:
    try:
        return _BY_ENDING[file.suffix.lower()]
    except KeyError:
        raise InvalidInput("file", "format", "say which format it is: --format ndjson or csv") from None


def _separator(delimiter: str | None) -> str | None:
    separator = None if delimiter is None else {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        reason = "one character, no quotation mark, separates columns (or the word tab)"
        raise InvalidInput("import", "delimiter", reason)
    return separator


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()
