"""`perdure mint`: new identifiers."""

import asyncio
import signal
import sys
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from perdure import registry as use
from perdure.cli.exit_codes import INTERRUPTED
from perdure.cli.file_formats import hash_file
from perdure.cli.person_options import print_person
from perdure.cli.progress import count_progress
from perdure.cli.record_options import Ttl, Values, What, When, Where, Who, build_about, parse_values
from perdure.cli.registry_session import Folder, run_as_agent
from perdure.cli.terminal import to_json
from perdure.errors import InvalidInput
from perdure.names import instant
from perdure.records.value import stated_ttl
from perdure.registry import MintedIdentifier, Statement
from perdure.registry.entities import Agent
from perdure.registry.registry import Registry

EXAMPLES = """
**Examples**

- `perdure mint 12345 https://example.org/thesis.pdf --what "On lasting" --who "M. Silva"`
- `perdure mint 12345 --count 10000 > reserved.txt`
- both labels of an IBI identifier: `perdure mint sid.inpe.br/mtc-m18 https://example.org/`
- `perdure mint POID --source https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html`
- `perdure mint PRID --observation POID-93b0-4476-560e-5ac1 --curator https://orcid.org/… --at 2025-01-09T10:30:00Z`
"""


def mint(
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="Handle prefix, IBI subsystem, POID or PRID.")],
    target: Annotated[
        str | None,
        typer.Argument(metavar="TARGET", help="URL to which the identifier resolves. Without one it is reserved."),
    ] = None,
    count: Annotated[int, typer.Option(metavar="N", help="Number of identifiers to mint.")] = 1,
    suffix: Annotated[
        list[str] | None,
        typer.Option(metavar="SUFFIX", help="Suffix, if the minter of the prefix is chosen. Repeatable."),
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
    folder: Folder = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per identifier.")] = False,
) -> None:
    """Mint identifiers. Each is stored on disk before it is printed, and is never issued again.

    With a target or a value, identifiers resolve at once. Without, they are reserved (see `perdure bind`).
    """
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
    run_as_agent(
        folder, lambda registry, by: _mint_and_print(registry, by, prefix, count, statement, suffix or [], json)
    )


async def _mint_and_print(
    registry: Registry, by: Agent, prefix: str, count: int, statement: Statement, suffixes: list[str], json: bool
) -> None:
    total = len(suffixes) or count
    interrupted = asyncio.Event()  # Ctrl-C stops after printing the names that are on disk
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupted.set)
    with count_progress("names", is_hidden=sys.stdout.isatty()) as bar:  # names on the terminal show the progress
        task = bar.add_task("minting", total=total)
        async for chunk in use.mint_in_chunks(registry, by, prefix, count, statement=statement, suffixes=suffixes):
            for one in chunk:
                typer.echo(
                    to_json(_minted_fields(one))
                    if json
                    else one.name
                    if one.alias is None
                    else f"{one.name}\t{one.alias}"
                )
            bar.advance(task, len(chunk))
            if interrupted.is_set():
                raise typer.Exit(INTERRUPTED)


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
