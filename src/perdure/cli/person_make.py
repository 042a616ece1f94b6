"""`perdure person observe` and `reconstruct`: say what a source shows, and conclude."""

from collections.abc import Mapping
from contextlib import suppress
from hashlib import file_digest, sha256
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer

from perdure import registry as use
from perdure.cli import fetching
from perdure.cli.person_said import (
    Activity,
    AlgorithmVersion,
    At,
    Chosen,
    Curator,
    CuratorName,
    Links,
    Namesakes,
    Notes,
    Work,
    as_person,
    naming_the_part,
    pairs,
    read_chosen,
    read_employment,
    read_links,
)
from perdure.cli.screen import as_json, printable, standard_input
from perdure.cli.session import Folder, Json, act, find_folder
from perdure.errors import InvalidInput
from perdure.exchange.claim_fields import claims_of
from perdure.exchange.observations import read_claims
from perdure.names.ppid_inputs import checked_timestamp, checked_url
from perdure.records.person import Claim, Reconstruction
from perdure.registry import Person
from perdure.registry.entities import Agent
from perdure.registry.registry import Registry

OBSERVE_EXAMPLES = """
**Examples**

- `perdure person observe https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html
  --claim name="Jan de Vries" --claim birth_date=1895-03~ --claim occupation=archivist`
- a name in its parts: `--claim name.given_name=Jan --claim name.surname_prefix=de --claim name.base_surname=Vries`
- language, confidence, where in the source, reasoning: `--claims claims.json`, which holds
  `[{"type": "birth_place", "value": "Breda", "confidence": 0.8, "where": {"page": "12"}}]`
- straight from the web, as it is now: `perdure person observe https://example.org/staff/jan --fetch
  --claim name="Jan de Vries"`
- fetched by another program: `curl -s URL | perdure person observe URL --at … --content -`
"""
RECONSTRUCT_EXAMPLES = """
**Examples**

- `perdure person reconstruct --observation POID-93b0-4476-560e-5ac1 --claim POID-93b0-4476-560e-5ac1:1,2
  --curator https://orcid.org/0000-0002-1825-0097 --at 2025-01-10T09:00:00Z`
- `… --link exact:wikidata:Q42 --link close:viaf:12345`
- `… --employment "NL-NH-AMS-M-RM;role=Senior Archivist;start=2015;end=2020"`
- by a program: `… --curator linker --algorithm-version 2.1`
"""


def observe(
    source_url: Annotated[str, typer.Argument(metavar="SOURCE_URL", help="Where the source was found.")],
    at: Annotated[
        str | None,
        typer.Option(
            help="When it was retrieved: ISO 8601 with a zone, as in 2025-01-09T10:30:00Z. Default with --fetch: now."
        ),
    ] = None,
    hash: Annotated[str | None, typer.Option(help="The SHA-256 of what was found.")] = None,
    content: Annotated[
        Path | None, typer.Option(help="The file that was found, to be hashed; - for standard input.", allow_dash=True)
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Fetch SOURCE_URL (http or https) now, and hash what is there.")
    ] = False,
    source_name: Annotated[str | None, typer.Option(help="What the source is called.")] = None,
    archive: Annotated[
        str | None,
        typer.Option(metavar="GHCID|URL", help="Who holds it: a GHCID, as in NL-NH-AMS-M-RM, or a web address."),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE=VALUE", help="What it says, as in birth_date=1895-03~; may be given many times."),
    ] = None,
    claims: Annotated[
        Path | None, typer.Option(help="A JSON file with a list of claims, for all that there is to say of each.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Write down what one source shows of a person, at one moment. It gets a POID, and never changes.

    The same source, time and content lead to the same POID and create nothing.
    """
    ways = {"--content": content is not None, "--hash": hash is not None, "--fetch": fetch}
    given = [way for way, is_given in ways.items() if is_given]
    if not given:
        reason = "say what was found: --content FILE, which is hashed, or its SHA-256 with --hash, or --fetch it now"
        raise InvalidInput("person", "content_hash", reason)
    if len(given) > 1:
        reason = f"{' and '.join(given)} each say what was found: only one of them may be given"
        raise InvalidInput("person", "content_hash", reason)
    if at is None and not fetch:
        raise InvalidInput("person", "retrieval_timestamp", "say when it was retrieved: --at 2025-01-09T10:30:00Z")
    said: tuple[Claim, ...] = claims_of(pairs(claim, "claim", "VALUE"))
    if claims is not None:
        said += read_claims(claims.read_bytes())
    found = _fetched(folder, source_url, at) if fetch else None
    if found is not None:
        retrieved, digest = at or found.at, found.digest
    else:
        retrieved, digest = at or "", hash or "" if content is None else _sha256(content)
    place = {"source_name": source_name, "holding_archive": archive}

    async def work(registry: Registry, by: Agent) -> Person:
        try:
            return await use.observe(registry, by, source_url, retrieved, digest, claims=said, **place)
        except InvalidInput as problem:
            raise naming_the_part(problem, said) from None

    made = act(folder, work)
    if found is not None:
        _say_fetched(found)
    _say_person(made, json, {"retrieval_timestamp": retrieved, "content_hash": digest} if found else {})


def reconstruct(
    observation: Annotated[
        list[str], typer.Option(metavar="POID", help="What it stands upon; may be given many times.")
    ],
    curator: Curator,
    at: At,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    claim: Chosen = None,
    link: Links = None,
    employment: Work = None,
    different_from: Namesakes = None,
    notes: Notes = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Conclude from observations who a person was. It gets a PRID, which stays when it is revised.

    The same observations, curator and time lead to the same PRID and create nothing.
    """
    said = Reconstruction(
        (), "", "", curator_name, algorithm_version, activity, read_chosen(claim), notes, read_links(link),
        read_employment(employment), tuple(different_from or ()),
    )  # fmt: skip
    made = act(folder, lambda registry, by: use.reconstruct(registry, by, observation, curator, at, said))
    _say_person(made, json)


def _fetched(folder: Path | None, source_url: str, at: str | None) -> fetching.Fetched:
    """What is at the source; not before all has been checked that can be, since it may take a while."""
    find_folder(folder)
    checked_url(source_url)
    if at is not None:
        checked_timestamp(at, "retrieval_timestamp")
    return fetching.fetch(source_url)


def _say_fetched(found: fetching.Fetched) -> None:
    with suppress(OSError):
        said = f"(fetched {found.size} bytes from {found.address} at {found.at}; their SHA-256 is {found.digest})"
        typer.echo(printable(said), err=True)


def _say_person(person: Person, json: bool, more: Mapping[str, str] = MappingProxyType({})) -> None:
    fields = as_person(person.name, uuid_raw=str(person.uuid_raw), created=person.created, **more)
    typer.echo(as_json(fields) if json else person.name)
    if not person.created:
        with suppress(OSError):
            typer.echo("(these inputs have led to it before; nothing was created)", err=True)


def _sha256(path: Path) -> str:
    if str(path) == "-":
        return sha256(standard_input("the content").read()).hexdigest()
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()
