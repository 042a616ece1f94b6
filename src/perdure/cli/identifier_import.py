"""`perdure import`: identifiers from a file."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_as_agent
from perdure.cli.exit_codes import SOME_REFUSED
from perdure.cli.file_formats import ImportFormat, format_from_suffix, parse_delimiter
from perdure.cli.import_report import ProblemReport, print_tally
from perdure.cli.import_source import SourceOptions, check_source_options, detect_format, digest_file, read_entries
from perdure.cli.line_input import text_stream
from perdure.cli.progress import byte_progress, open_problems_file, size_of
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import is_at_terminal, open_standard_input, print_error
from perdure.errors import Conflict, InvalidInput, NoSuchPrefix, quote_text
from perdure.formats.claim_fields import parse_pairs
from perdure.formats.table_columns import parse_date
from perdure.registry import ImportOptions, Tally
from perdure.registry.entities import Agent

IMPORT_EXAMPLES = """
**Examples**

- CSV with the columns name, target, who, what, when, where, creator, owners, created, state, reason, replaced_by:
  `perdure import names.csv`
- a spreadsheet with other headings: `perdure import books.csv --encoding cp1252 --map name=Kennung --map target=Link
  --map what=Titel`
- check first, and collect what is refused: `perdure import --dry-run --problems refused.ndjson everything.ndjson`
- a batch file of a Handle server: `perdure import --any-suffix batch.txt`
- the `handles` table of a Handle server, with its prefixes: `perdure import --format handles handles.csv
  --new-prefixes --ignore-case --mend`
- the `handle` table of DSpace: `perdure import --format dspace handle.csv
  --target-pattern https://repo.example.org/items/{resource_id}`
- the same, with an address for each type: `--target-pattern item=https://…/items/{resource_id}
  --target-pattern collection=https://…/collections/{resource_id}`
- pairs of IBI labels, with the columns repository_name, ibip, target …: `perdure import pairs.csv --new-prefixes`
- records of URLib in XML or BibTeX, with the prefixes of their labels: `perdure import urlib export.xml --new-prefixes`
"""

_HINTS: Final = {
    NoSuchPrefix.code: "add it with perdure prefix add, or with --new-prefixes",
    "any_suffix": "add --any-suffix",
    "created": "2010-12-31, 31.12.2010 and 2010-12-31 10:00:00 are understood, too",
    "creator": "the authors of a work belong in a column who",
}
_WITH_NEW_PREFIXES: Final = {NoSuchPrefix.code: "add it with perdure prefix add"}
_HANDLES_HINTS: Final = {Conflict.code: "if its rows do not follow one another, sort the table by handle and idx"}

Format = Annotated[
    ImportFormat | None,
    typer.Option(
        metavar="FORMAT",
        help="ndjson, csv, batch (batch file of a Handle server), handles (its SQL table), dspace (its table "
        "handle), urlib (full XML or BibTeX of URLib) or labels (pairs of IBI labels). Default: by the suffix .ndjson, "
        ".csv, .tsv or .txt, and labels by the columns repository_name and ibip.",
    ),
]


def import_(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[FORMAT] FILE", help="File to import, or - for standard input; a format may be before it."
        ),
    ],
    format: Format = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check all lines, but write nothing.")] = False,
    update: Annotated[bool, typer.Option("--update", help="Update names that exist: they get a new version.")] = False,
    mend: Annotated[
        bool,
        typer.Option(
            "--mend",
            help="Repair addresses with one sure repair: blanks around and in them, and www. without http://. "
            "Other addresses that are not valid come in verbatim, and do not redirect.",
        ),
    ] = False,
    any_suffix: Annotated[bool, typer.Option("--any-suffix", help="Accept any suffix under a PILIN prefix.")] = False,
    new_prefixes: Annotated[
        bool,
        typer.Option(
            "--new-prefixes", help="Add the prefixes that names need, with the minter chosen. Answer the next option."
        ),
    ] = False,
    ignore_case: Annotated[
        bool | None,
        typer.Option(
            "--ignore-case/--case-sensitive",
            help="With --new-prefixes: whether case is ignored in suffixes, as Handle servers do. It never changes.",
        ),
    ] = None,
    creator: Annotated[
        str | None, typer.Option(metavar="ID", help="Creator of names without one. Default: you.")
    ] = None,
    created: Annotated[
        str | None,
        typer.Option(metavar="DATE", help="Creation date of names without any date, as in 2010-12-31. Default: now."),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            help="csv: column of a field, or of values of a type. Repeatable; other columns are left out. "
            "Default: columns are found by their headings.",
        ),
    ] = None,
    target_pattern: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TYPE=]URL",
            help="dspace, urlib: address of a name, with columns in braces: "
            "https://repo.example.org/items/{resource_id}; for one type of dspace: item=URL or 2=URL. Repeatable.",
        ),
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="dspace: a table of addresses, with the columns handle (or resource_id) and url.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="CHAR", help="Tables: column delimiter. Default: comma, semicolon or tab, as in line 1."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(metavar="NAME", help="Encoding, as in latin-1 or cp1252. Default: UTF-8.")
    ] = None,
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
            metavar="FILE",
            help="Write to this NDJSON file what was refused, and what was not imported exactly as it is.",
            dir_okay=False,
        ),
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Import identifiers from a file. Invalid lines are reported and skipped; all others are imported.

    No name is lost because its address is not valid: the address is stored verbatim, and leads nowhere until it is
    replaced. After an interruption, run the same command again: it continues where it stopped, and changes nothing
    twice.
    """
    file, chosen_format = _parse_words(words, format)
    is_stated = format is not None or len(words) > 1
    source = SourceOptions(
        format=chosen_format,
        encoding=encoding,
        delimiter=None if delimiter is None else parse_delimiter(delimiter, "import"),
        mapped=tuple(parse_pairs(map, "import", "map", "--map ", "COLUMN")),
        from_spreadsheet=from_spreadsheet,
        patterns=tuple(target_pattern or ()),
        targets=targets,
    )
    if chosen_format is ImportFormat.csv and not is_stated:
        source = detect_format(file, source)
    check_source_options(source)
    options = ImportOptions(
        update=update,
        strict=strict,
        dry_run=dry_run,
        any_suffix=any_suffix,
        source="standard input" if str(file) == "-" else file.name,
        mend=mend,
        creator=creator,
        created=parse_date(created),
        new_prefixes=_choose_case(
            new_prefixes, ignore_case, source.format, can_ask=str(file) != "-" and is_at_terminal()
        ),
    )
    with ExitStack() as stack:
        stream = stack.enter_context(file.open("rb")) if str(file) != "-" else open_standard_input("lines")
        hints = _HINTS | (_WITH_NEW_PREFIXES if new_prefixes else {})
        report = ProblemReport(hints=hints | (_HANDLES_HINTS if source.format is ImportFormat.handles else {}))

        async def work(registry: AnyRegistry, by: Agent) -> Tally:
            what = msgspec.structs.replace(options, strict=False, dry_run=False, source="")
            checkpoint = digest_file(stream, source, what)
            if again and checkpoint is not None:
                await use.forget_checkpoint(registry, by, checkpoint)
            before = await use.read_checkpoint(registry, by, checkpoint) if checkpoint is not None else Tally()
            resumes = before.entries > 0 and not dry_run
            if resumes and not before.finished:
                print_error(f"resuming after line {before.line:,}, where an earlier import stopped")
            if problems is not None:
                report.sink = stack.enter_context(
                    open_problems_file(problems, stream, "import", append=resumes, at_once=True)
                )
            with byte_progress() as bar:
                report.screen = bar.console
                task = bar.add_task("importing", total=size_of(stream))
                counted = text_stream(stream, lambda count: bar.advance(task, count))
                entries = read_entries(counted, source)
                return await use.import_entries(registry, by, entries, options, checkpoint=checkpoint, report=report)

        tally = run_as_agent(folder, work)
    report.print_remaining_count()
    print_tally(tally, options.dry_run, json)
    if tally.refused or tally.left_out:
        raise typer.Exit(SOME_REFUSED)


def _parse_words(words: Sequence[str], chosen: ImportFormat | None) -> tuple[Path, ImportFormat]:
    """Return the file and its format, which may be written before it, as in `perdure import urlib FILE`."""
    *before, last = words
    if len(before) > 1:
        raise InvalidInput("import", "file", "one file at a time, with at most a format before it")
    if before:
        if before[0] not in list(ImportFormat):
            reason = f"{quote_text(before[0])} is not a format: use {', '.join(ImportFormat)}"
            raise InvalidInput("import", "format", reason)
        if chosen not in (None, before[0]):
            raise InvalidInput("import", "format", f"the format is given twice: {before[0]} and {chosen}")
        chosen = ImportFormat(before[0])
    file = Path(last)
    if not before and last in list(ImportFormat) and not file.exists():
        raise InvalidInput("import", "file", f"the file is missing: perdure import {last} FILE")
    return file, chosen or format_from_suffix(file, ImportFormat)


def _choose_case(
    new_prefixes: bool, ignore_case: bool | None, format: ImportFormat, *, can_ask: bool
) -> Literal["ignore-case", "case-sensitive", "labels"] | None:
    """Return how new prefixes compare suffixes. There is no default, because it can never be changed: ask for it."""
    if format in (ImportFormat.urlib, ImportFormat.labels):
        if ignore_case is not None:
            reason = "IBI labels have their own rule: case is ignored, but not in legacy labels in base 53"
            raise InvalidInput("import", "ignore_case", reason)
        return "labels" if new_prefixes else None
    if not new_prefixes:
        if ignore_case is not None:
            raise InvalidInput("import", "ignore_case", "--ignore-case and --case-sensitive require --new-prefixes")
        return None
    if ignore_case is None and can_ask:
        ignore_case = typer.confirm(
            "Handle servers ignore case in suffixes: AB and ab are one name there. This can never be changed.\n"
            "Ignore case under the new prefixes?",
            err=True,
            default=None,
        )
    if ignore_case is None:
        reason = (
            "is case ignored in the suffixes of the new prefixes? Handle servers ignore it by default: "
            "add --ignore-case; or add --case-sensitive. This can never be changed, and nothing was written"
        )
        raise InvalidInput("import", "new_prefixes", reason)
    return "ignore-case" if ignore_case else "case-sensitive"
