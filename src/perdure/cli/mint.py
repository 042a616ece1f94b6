"""`perdure mint`: names that last."""

import asyncio
import signal
from contextlib import suppress
from fractions import Fraction
from hashlib import file_digest
from pathlib import Path
from typing import Annotated

import typer

from perdure import registry as use
from perdure.cli.progress import count_bar
from perdure.cli.screen import as_json
from perdure.cli.session import Folder, act
from perdure.cli.statements import Values, What, When, Where, Who, read_about, read_values
from perdure.errors import InvalidInput
from perdure.names import instant
from perdure.registry import Minted, Person, Statement
from perdure.registry.entities import Agent
from perdure.registry.registry import Registry

_INTERRUPTED = 130

EXAMPLES = """
**Examples**

- `perdure mint 12345 https://example.org/thesis.pdf --what "On lasting" --who "M. Silva"`
- `perdure mint 12345 --count 10000 > reserved.txt`
- both labels of an IBI: `perdure mint sid.inpe.br/mtc-m18 https://example.org/`
- `perdure mint POID --source https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html`
- `perdure mint PRID --observation POID-93b0-4476-560e-5ac1 --curator https://orcid.org/… --at 2025-01-09T10:30:00Z`
"""


def mint(
    prefix: Annotated[str, typer.Argument(metavar="PREFIX", help="A Handle prefix, an IBI subsystem, POID or PRID.")],
    target: Annotated[
        str | None, typer.Argument(metavar="TARGET", help="Where the identifier leads. Without one it is reserved.")
    ] = None,
    count: Annotated[int, typer.Option(help="How many.")] = 1,
    suffix: Annotated[
        list[str] | None, typer.Option(help="A suffix, where the prefix lets people choose; may be given many times.")
    ] = None,
    value: Values = None,
    who: Who = None,
    what: What = None,
    when: When = None,
    where: Where = None,
    creator: Annotated[str | None, typer.Option(help="Who creates the identifier. Default: you.")] = None,
    owner: Annotated[list[str] | None, typer.Option(help="Who answers for it, if not the creator.")] = None,
    source: Annotated[str | None, typer.Option(help="POID: the URL where the observation was found.")] = None,
    at: Annotated[
        str | None, typer.Option(help="POID, PRID: when it was retrieved or made, ISO 8601 with a zone.")
    ] = None,
    hash: Annotated[str | None, typer.Option(help="POID: the SHA-256 of what was found.")] = None,
    content: Annotated[
        Path | None, typer.Option(help="POID: the file that was found, to be hashed.", exists=True, dir_okay=False)
    ] = None,
    observation: Annotated[list[str] | None, typer.Option(help="PRID: a POID that it is made from.")] = None,
    curator: Annotated[str | None, typer.Option(help="PRID: who made it.")] = None,
    folder: Folder = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object per identifier.")] = False,
) -> None:
    """Mint identifiers: new names that are on disk before you see them, and that nobody gets again.

    With a target or a value they lead there at once; without, they are reserved (see `perdure bind`).
    """
    if prefix.upper() == "POID":
        _refuse_more(count, target, value, suffix)
        person = act(folder, lambda registry, by: use.observe(registry, by, *_observed(source, at, hash, content)))
        _say_person(person, json)
        return
    if prefix.upper() == "PRID":
        _refuse_more(count, target, value, suffix)
        if not observation or curator is None or at is None:
            raise InvalidInput("ppid", "inputs", "a PRID is made from --observation, --curator and --at")
        made = act(folder, lambda registry, by: use.reconstruct(registry, by, observation, curator, at))
        _say_person(made, json)
        return
    if source or at or hash or content or observation or curator:
        raise InvalidInput(
            "mint", "inputs", "--source, --at, --hash, --content, --observation and --curator are for POID and PRID"
        )
    if suffix and count != 1:
        raise InvalidInput("mint", "count", "give --suffix for each name, and no --count")
    said = Statement(target, read_values(value), read_about(who, what, when, where), creator, tuple(owner or ()))
    act(folder, lambda registry, by: _mint(registry, by, prefix, count, said, suffix or [], json))


async def _mint(
    registry: Registry, by: Agent, prefix: str, count: int, said: Statement, suffixes: list[str], json: bool
) -> None:
    total = len(suffixes) or count
    stopped = asyncio.Event()  # Ctrl-C ends it after the names that are on disk already have been printed
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stopped.set)
    with count_bar("names") as bar:
        task = bar.add_task("minting", total=total)
        async for chunk in use.mint_in_chunks(registry, by, prefix, count, said=said, suffixes=suffixes):
            for one in chunk:
                typer.echo(
                    as_json(_fields(one)) if json else one.name if one.alias is None else f"{one.name}\t{one.alias}"
                )
            bar.advance(task, len(chunk))
            if stopped.is_set():
                raise typer.Exit(_INTERRUPTED)


def _fields(one: Minted) -> dict[str, str]:
    fields = {"name": one.name}
    if one.alias is not None:
        fields["alias"] = one.alias
    if one.date is not None:
        fields["date"] = instant.to_iso(Fraction(one.date))
    return fields


def _say_person(person: Person, json: bool) -> None:
    fields = {"name": person.name, "uuid_raw": str(person.uuid_raw), "created": person.created}
    typer.echo(as_json(fields) if json else person.name)
    if not person.created:
        with suppress(OSError):
            typer.echo("(these inputs have led to it before; nothing was created)", err=True)


def _observed(source: str | None, at: str | None, hash: str | None, content: Path | None) -> tuple[str, str, str]:
    if source is None or at is None or (hash is None) == (content is None):
        raise InvalidInput("ppid", "inputs", "a POID is made from --source, --at, and --hash or --content")
    if content is None:
        return source, at, hash or ""
    with content.open("rb") as stream:
        return source, at, file_digest(stream, "sha256").hexdigest()


def _refuse_more(count: int, target: str | None, value: list[str] | None, suffix: list[str] | None) -> None:
    if count != 1 or target is not None or value or suffix:
        raise InvalidInput(
            "ppid", "inputs", "a person identifier is made from its inputs alone: no target, value, suffix or count"
        )
