"""`perdure mint`: new identifiers."""

import asyncio
import re
import signal
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Final

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_as_agent
from perdure.cli.exit_codes import INTERRUPTED
from perdure.cli.file_formats import hash_file, parse_delimiter
from perdure.cli.mint_table import TableOptions, mint_table
from perdure.cli.person_options import print_person
from perdure.cli.progress import count_progress
from perdure.cli.record_options import Ttl, Values, What, When, Where, Who, build_about, parse_values
from perdure.cli.registry_session import Folder
from perdure.cli.terminal import print_error, to_json
from perdure.errors import InvalidInput, NoSuchPrefix, quote_text
from perdure.formats.claim_fields import parse_pairs
from perdure.formats.minting_table import NAME_COLUMN
from perdure.names import ibi, instant
from perdure.records.value import stated_ttl
from perdure.registry import MintedIdentifier, Statement
from perdure.registry.also_known import MOST_OTHER_NAMES, other_names
from perdure.registry.entities import Agent
from perdure.timelines.clock import SystemClock, now_seconds

_HANDLE: Final = re.compile(r"([0-9][0-9.]*)/([A-Za-z0-9._-]+)")  # without characters that a shell would interpret

EXAMPLES = """
**Examples**

- `perdure mint 12345 https://example.org/thesis.pdf --what "On lasting" --who "M. Silva"`
- `perdure mint 12345 --count 10000 > reserved.txt`
- a name for each row of a table, in the copy theses-minted.csv: `perdure mint 12345 --from theses.csv --dry-run`,
  then without `--dry-run`
- a table with other headings: `perdure mint 12345 --from theses.csv --map target=Link --map what=Titel`
- from a pool of IBI subsystems: `perdure mint main https://example.org/`
- both labels of an IBI identifier: `perdure mint sid.inpe.br/mtc-m18 https://example.org/`
- `perdure mint POID --source https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html`
- `perdure mint PRID --observation POID-93b0-4476-560e-5ac1 --curator https://orcid.org/… --at 2025-01-09T10:30:00Z`
"""


def mint(
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Handle prefix, IBI subsystem, pool, POID or PRID.")],
    target: Annotated[
        str | None,
        typer.Argument(metavar="TARGET", help="URL to which the identifier resolves. Without one it is reserved."),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", help="Number of identifiers to mint.")] = 1,
    suffix: Annotated[
        list[str] | None,
        typer.Option(metavar="SUFFIX", help="Suffix, if the minter of the prefix is chosen. Repeatable."),
    ] = None,
    item_key: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="Key of the item, for a pool with the policy hash: it decides the subsystem."),
    ] = None,
    value: Values = None,
    who: Who = None,
    what: What = None,
    when: When = None,
    where: Where = None,
    creator: Annotated[
        str | None, typer.Option(metavar="ID", help="Creator (hdl: or https: identifier). Default: you.")
    ] = None,
    owner: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Owner (hdl: or https: identifier), if not the creator. Repeatable."),
    ] = None,
    ttl: Ttl = None,
    source: Annotated[str | None, typer.Option(metavar="URL", help="POID: URL of the source.")] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="DATE", help="POID, PRID: date of retrieval or reconstruction, ISO 8601 with a time zone."
        ),
    ] = None,
    hash: Annotated[str | None, typer.Option(metavar="SHA256", help="POID: SHA-256 digest of the content.")] = None,
    content: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="POID: file with the content, to be hashed.", exists=True, dir_okay=False),
    ] = None,
    observation: Annotated[
        list[str] | None, typer.Option(metavar="POID", help="PRID: observation on which it is based. Repeatable.")
    ] = None,
    curator: Annotated[str | None, typer.Option(metavar="ID", help="PRID: curator.")] = None,
    from_table: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="CSV table with one row for each name, or - for standard input. Columns: target (or url), who, what "
            "(or title), when, where, creator, owners, suffix. All others are copied as they are.",
            allow_dash=True,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="--from: file for the table with names, or - for standard output. Default: FILE-minted.csv.",
            dir_okay=False,
            allow_dash=True,
        ),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            help="--from: column of a field. Repeatable. Default: columns are found by their headings.",
        ),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHAR", help="--from: column delimiter. Default: comma, semicolon or tab, found automatically."
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="--from: encoding of the table, as in latin-1 or cp1252. Default: UTF-8."),
    ] = None,
    name_column: Annotated[
        str, typer.Option(metavar="COLUMN", help="--from: column for the names. A row that has one there keeps it.")
    ] = NAME_COLUMN,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="--from: check all rows, but mint nothing.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="--from: if a row is invalid, mint nothing.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", "--force", help="--from: overwrite an existing output file.")
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="--from: mint new names for a table that was minted before. After an interruption, continue without.",
        ),
    ] = False,
    problems: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="--from: write invalid rows, with their errors, to this NDJSON file.", dir_okay=False
        ),
    ] = None,
    folder: Folder = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per identifier, or the counts.")] = False,
) -> None:
    """Mint identifiers. Each is stored on disk before it is printed, and is never issued again.

    With a target or a value, identifiers resolve at once. Without, they are reserved (see `perdure bind`).

    With --from, an interrupted command is run again: rows that have names get the same ones, and the rest are minted.
    """
    table_options = TableOptions(
        output,
        tuple(parse_pairs(map, "mint", "map", "--map ", "COLUMN")),
        None if delimiter is None else parse_delimiter(delimiter, "mint"),
        name_column,
        dry_run,
        strict,
        overwrite,
        again,
        problems,
        json,
        ttl,
        encoding,
    )
    if from_table is not None:
        is_other = target or value or suffix or who or what or when or where or creator or owner or count != 1
        if is_other or item_key or source or at or hash or content or observation or curator:
            raise InvalidInput(
                "mint", "from", "--from cannot be combined with a target, --count or a description: use columns"
            )
        mint_table(folder, prefix, from_table, table_options)
        return
    if table_options != TableOptions(json=json, ttl=ttl):
        raise InvalidInput(
            "mint",
            "from",
            "--output, --map, --delimiter, --encoding, --name-column, --dry-run, --strict, --overwrite, --again and "
            "--problems are only for --from",
        )
    if prefix.upper() == "POID":
        _check_no_other_inputs(count, target, value, suffix)
        person = run_as_agent(
            folder, lambda registry, by: use.observe(registry, by, *_observation_inputs(source, at, hash, content))
        )
        print_person(person, json)
        return
    if prefix.upper() == "PRID":
        _check_no_other_inputs(count, target, value, suffix)
        if not observation or curator is None or at is None:
            raise InvalidInput("ppid", "inputs", "a PRID requires --observation, --curator and --at")
        person = run_as_agent(folder, lambda registry, by: use.reconstruct(registry, by, observation, curator, at))
        print_person(person, json)
        return
    if source or at or hash or content or observation or curator:
        raise InvalidInput(
            "mint",
            "inputs",
            "--source, --at, --hash, --content, --observation and --curator are only for POID and PRID",
        )
    if suffix and count != 1:
        raise InvalidInput("mint", "count", "--count cannot be combined with --suffix: repeat --suffix for each name")
    about, owners = build_about(who, what, when, where), tuple(owner or ())
    statement = Statement(target, parse_values(value, ttl=ttl), about, creator, owners, stated_ttl(ttl))
    try:
        run_as_agent(
            folder,
            lambda registry, by: _mint_and_print(registry, by, prefix, count, statement, suffix or [], item_key, json),
        )
    except NoSuchPrefix:
        _refuse_whole_name(prefix)
        raise


def _refuse_whole_name(text: str) -> None:
    """Explain how to mint a handle that was given instead of its prefix."""
    match = _HANDLE.fullmatch(text)
    if match is not None:
        reason = f"{quote_text(text)} is a name, and not a prefix: perdure mint {match[1]} --suffix {match[2]}"
        raise InvalidInput("mint", "prefix", reason)


async def _mint_and_print(
    registry: AnyRegistry,
    by: Agent,
    prefix: str,
    count: int,
    statement: Statement,
    suffixes: list[str],
    item_key: str | None,
    json: bool,
) -> None:
    total = len(suffixes) or count
    interrupted = asyncio.Event()  # Ctrl-C stops after printing the names that are on disk
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    others: list[str] | None = None
    with count_progress("names", is_hidden=sys.stdout.isatty()) as bar:  # names on the terminal show the progress
        task = bar.add_task("minting", total=total)
        chunks = use.mint_in_chunks(
            registry, by, prefix, count, statement=statement, suffixes=suffixes, item_key=item_key
        )
        async for chunk in chunks:
            if others is None:
                others = await _find_other_names(registry, statement.target, chunk)
            for one in chunk:
                typer.echo(
                    to_json(_minted_fields(one) | ({"also_known_as": others} if others else {}))
                    if json
                    else one.name
                    if one.alias is None
                    else f"{one.name}\t{one.alias}"
                )
            bar.advance(task, len(chunk))
            if interrupted.is_set():
                raise typer.Exit(INTERRUPTED)
    if others and not json:
        print_error(f"{statement.target} is also known as {', '.join(others)}")


async def _find_other_names(registry: AnyRegistry, target: str | None, minted: Sequence[MintedIdentifier]) -> list[str]:
    """Return the names that the target has already, if labels of IBI were minted: they may mean the same item."""
    if target is None or not minted or not ibi.is_valid(minted[0].name):
        return []
    hits = await use.find_by_value(registry, target, limit=len(minted) + MOST_OTHER_NAMES)
    # The clock of another machine, which has minted, may be ahead of this one.
    until = max(now_seconds(SystemClock()), *(one.date for one in minted if one.date is not None))
    return list(other_names(hits, [one.name for one in minted], until))


def _minted_fields(minted: MintedIdentifier) -> dict[str, str]:
    fields = {"name": minted.name}
    if minted.alias is not None:
        fields["alias"] = minted.alias
    if minted.date is not None:
        fields["date"] = instant.to_iso(Fraction(minted.date))
    return fields


def _observation_inputs(
    source: str | None, at: str | None, hash: str | None, content: Path | None
) -> tuple[str, str, str]:
    if source is None or at is None or (hash is None) == (content is None):
        raise InvalidInput("ppid", "inputs", "a POID requires --source, --at, and either --hash or --content")
    if content is None:
        return source, at, hash or ""
    return source, at, hash_file(content)


def _check_no_other_inputs(count: int, target: str | None, value: list[str] | None, suffix: list[str] | None) -> None:
    if count != 1 or target is not None or value or suffix:
        raise InvalidInput("ppid", "inputs", "POID and PRID accept no target, --value, --suffix or --count")
