"""`perdure person observe` and `perdure person reconstruct`."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import download
from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, check_registry, run_as_agent
from perdure.cli.file_formats import hash_file
from perdure.cli.person_options import (
    Activity,
    AlgorithmVersion,
    At,
    ChosenClaims,
    Curator,
    CuratorName,
    DifferentFrom,
    EmploymentOption,
    Links,
    Notes,
    parse_chosen_claims,
    parse_employment,
    parse_links,
    parse_pairs,
    print_person,
    with_part_name,
)
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import escape_control
from perdure.errors import InvalidInput
from perdure.formats.claim_fields import build_claims
from perdure.formats.observations_json import read_claims
from perdure.names.ppid_inputs import check_timestamp, check_url
from perdure.records.person import Claim, Reconstruction
from perdure.registry import Person
from perdure.registry.entities import Agent

OBSERVE_EXAMPLES = """
**Examples**

- `perdure person observe https://example.org/staff/jan --at 2025-01-09T10:30:00Z --content page.html
  --claim name="Jan de Vries" --claim birth_date=1895-03~ --claim occupation=archivist`
- a name in parts: `--claim name.given_name=Jan --claim name.surname_prefix=de --claim name.base_surname=Vries`
- with language, confidence, position in the source or reasoning: `--claims claims.json`, which holds
  `[{"type": "birth_place", "value": "Breda", "confidence": 0.8, "where": {"page": "12"}}]`
- download the source now: `perdure person observe https://example.org/staff/jan --fetch
  --claim name="Jan de Vries"`
- downloaded by another program: `curl -s URL | perdure person observe URL --at … --content -`
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
    source_url: Annotated[str, typer.Argument(metavar="SOURCE_URL", help="URL of the source.")],
    at: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Date of retrieval: ISO 8601 with a time zone, as in 2025-01-09T10:30:00Z. Default with --fetch: now.",
        ),
    ] = None,
    hash: Annotated[str | None, typer.Option(metavar="SHA256", help="SHA-256 digest of the content.")] = None,
    content: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the content, to be hashed; - for standard input.", allow_dash=True
        ),
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Download SOURCE_URL (http or https) now, and hash its content.")
    ] = False,
    source_name: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the source.")] = None,
    archive: Annotated[
        str | None,
        typer.Option(
            metavar="GHCID|URL", help="Archive that holds the source: a GHCID, as in NL-NH-AMS-M-RM, or a URL."
        ),
    ] = None,
    claim: Annotated[
        list[str] | None,
        typer.Option(metavar="TYPE=VALUE", help="Claim about the person, as in birth_date=1895-03~. Repeatable."),
    ] = None,
    claims: Annotated[
        Path | None, typer.Option(metavar="FILE", help="JSON file with a list of claims, with all their fields.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Record an observation: a person as described by one source at one time. It gets a POID, and never changes.

    The same source, time and content always give the same POID, and create nothing new.
    """
    contents = {"--content": content is not None, "--hash": hash is not None, "--fetch": fetch}
    given = [option for option, is_given in contents.items() if is_given]
    if not given:
        reason = "the content is required: --content FILE, its SHA-256 with --hash, or --fetch to download it"
        raise InvalidInput("person", "content_hash", reason)
    if len(given) > 1:
        reason = f"only one of these options is allowed: {', '.join(given)}"
        raise InvalidInput("person", "content_hash", reason)
    if at is None and not fetch:
        raise InvalidInput(
            "person", "retrieval_timestamp", "the date of retrieval is required: --at 2025-01-09T10:30:00Z"
        )
    all_claims: tuple[Claim, ...] = build_claims(parse_pairs(claim, "claim", "VALUE"))
    if claims is not None:
        all_claims += read_claims(claims.read_bytes())
    source = _fetch_source(folder, source_url, at) if fetch else None
    if source is not None:
        retrieved, digest = at or source.at, source.digest
    else:
        retrieved, digest = at or "", hash or "" if content is None else hash_file(content)
    origin = {"source_name": source_name, "holding_archive": archive}

    async def work(registry: AnyRegistry, by: Agent) -> Person:
        try:
            return await use.observe(registry, by, source_url, retrieved, digest, claims=all_claims, **origin)
        except InvalidInput as problem:
            raise with_part_name(problem, all_claims) from None

    person = run_as_agent(folder, work)
    if source is not None:
        _print_fetched(source)
    print_person(person, json, {"retrieval_timestamp": retrieved, "content_hash": digest} if source else {})


def reconstruct(
    observation: Annotated[
        list[str], typer.Option(metavar="POID", help="Observation on which it is based. Repeatable.")
    ],
    curator: Curator,
    at: At,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    claim: ChosenClaims = None,
    link: Links = None,
    employment: EmploymentOption = None,
    different_from: DifferentFrom = None,
    notes: Notes = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Record a reconstruction: a curator's conclusion from observations. It gets a PRID, which revisions keep.

    The same observations, curator and time always give the same PRID, and create nothing new.
    """
    reconstruction = Reconstruction(
        (), "", "", curator_name, algorithm_version, activity, parse_chosen_claims(claim), notes, parse_links(link),
        parse_employment(employment), tuple(different_from or ()),
    )  # fmt: skip
    person = run_as_agent(
        folder, lambda registry, by: use.reconstruct(registry, by, observation, curator, at, reconstruction)
    )
    print_person(person, json)


def _fetch_source(folder: Path | None, source_url: str, at: str | None) -> download.Download:
    """Download the source. Check all other inputs first, because a download may take long."""
    check_registry(folder)
    check_url(source_url)
    if at is not None:
        check_timestamp(at, "retrieval_timestamp")
    return download.download(source_url)


def _print_fetched(source: download.Download) -> None:
    with suppress(OSError):
        message = f"(downloaded {source.size} bytes from {source.address} at {source.at}; SHA-256 {source.digest})"
        typer.echo(escape_control(message), err=True)
