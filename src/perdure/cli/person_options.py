"""Options of the `perdure person` commands: claims, links, employment, curator and date."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Annotated, Any, Final, cast, get_args

import msgspec
import typer

from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.errors import InvalidInput, InvalidName, quote_text
from perdure.formats import claim_fields
from perdure.formats.claim_fields import FieldText
from perdure.names import ppid, recognise
from perdure.records.authority_metadata import to_seconds
from perdure.records.person import ChosenClaim, Claim, Employment, Link, Relation
from perdure.registry import Person
from perdure.registry.persons import DroppedItem, DroppedLink
from perdure.registry.registry import Registry

_NUMBERS: Final = re.compile(r"[0-9]{1,6}(?:,[0-9]{1,6})*")
_CLAIM_PART: Final = re.compile(r"claims\[([0-9]+)\]")
_RELATIONS: Final = get_args(Relation)
_EMPLOYMENT_FIELDS: Final = ("role", "start", "end")

Prid = Annotated[str, typer.Argument(metavar="PRID", help="Reconstruction (PRID).")]
Ppid = Annotated[str, typer.Argument(metavar="PPID", help="Observation (POID) or reconstruction (PRID).")]
Curator = Annotated[
    str, typer.Option(metavar="ID", help="Curator: an ORCID, a URL, a handle or a PRID; or the name of a program.")
]
At = Annotated[
    str,
    typer.Option(metavar="DATE", help="Date of the decision: ISO 8601 with a time zone, as in 2025-01-09T10:30:00Z."),
]
AtOrNow = Annotated[
    str | None, typer.Option(metavar="DATE", help="Date of the decision: ISO 8601 with a time zone. Default: now.")
]
CuratorName = Annotated[str | None, typer.Option(metavar="NAME", help="Name of the curator, for display.")]
AlgorithmVersion = Annotated[
    str | None, typer.Option(metavar="VERSION", help="Version of the program, if the curator is a program.")
]
Activity = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Activity that led to the decision, as in 'record linkage'.")
]
ChosenClaims = Annotated[
    list[str] | None,
    typer.Option(
        "--claim",
        metavar="POID:NUMBER",
        help="Claim of an observation, by its number in `person show POID`; several: POID-…:1,3. Repeatable.",
    ),
]
Links = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        metavar="exact|close:SCHEME:ID",
        help="The same person (exact) or a similar one (close) in orcid, isni, viaf or wikidata. Repeatable.",
    ),
]
AddedLinks = Annotated[
    list[str] | None,
    typer.Option("--add-link", metavar="exact|close:SCHEME:ID", help="Add one link; all others stay. Repeatable."),
]
DroppedLinks = Annotated[
    list[str] | None,
    typer.Option(
        "--drop-link", metavar="[exact|close:]SCHEME:ID", help="Remove one link; all others stay. Repeatable."
    ),
]
EmploymentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--employment",
        metavar="GHCID[;role=…;start=…;end=…]",
        help="Employment at an institution; dates in EDTF. Repeatable.",
    ),
]
DifferentFrom = Annotated[
    list[str] | None,
    typer.Option(
        "--different-from", metavar="PRID", help="A different person who could be confused with this one. Repeatable."
    ),
]
Notes = Annotated[str | None, typer.Option(metavar="TEXT", help="Notes for other curators.")]


def person_fields(name: str, **fields: Any) -> dict[str, Any]:
    """Return the JSON object of a person. `ppid` is canonical, as in the API; `name` is as in other commands."""
    return {"ppid": recognise(name).canonical or name, "name": name, **fields}


def print_person(person: Person, json: bool, extra: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print a person identifier that was created, or that existed already."""
    fields = person_fields(person.name, uuid_raw=str(person.uuid_raw), created=person.created, **extra)
    stone = person.tombstone
    if stone is not None:
        fields |= {"state": person.state, "tombstone": msgspec.to_builtins(stone)}
    typer.echo(to_json(fields) if json else person.name)
    if not person.created:
        ended = "" if stone is None else f", and is {person.state}: {stone.reason}"
        with suppress(OSError):
            typer.echo(escape_control(f"(this identifier exists already{ended}; nothing was created)"), err=True)


def dropped_field(dropped: Sequence[DroppedItem]) -> dict[str, Any]:
    """Return the field of the JSON object of a person with what an act dropped, if it dropped anything."""
    return {"dropped": msgspec.to_builtins(dropped)} if dropped else {}


def print_dropped(dropped: Sequence[DroppedItem], what: str = "dropped") -> None:
    """Name on standard error what an act dropped. The old version still has it."""
    for one in dropped:
        print_error(f"{what} ({one.part.replace('_', ' ')}): {one.item}")


def timestamp_or_now(at: str | None, registry: Registry) -> str:
    """Return the given date, or the present time."""
    return at or to_seconds(registry.current_time())


def with_part_name(problem: InvalidInput, claims: Sequence[Claim]) -> InvalidInput:
    """Return an error that names the invalid part, and the type of an invalid claim."""
    if problem.reason.startswith(f"{problem.part} "):
        return problem
    number = _CLAIM_PART.match(problem.part)
    about = f" ({claims[int(number[1]) - 1].type})" if number and int(number[1]) <= len(claims) else ""
    return type(problem)(problem.scheme, problem.part, f"{problem.part}{about}: {problem.reason}", problem.rule)


def parse_pairs(texts: Sequence[str] | None, option: str, value_name: str) -> list[FieldText]:
    """Parse options of the form `FIELD=TEXT`."""
    return claim_fields.parse_pairs(texts, "person", option, f"--{option} ", value_name)


def parse_chosen_claims(texts: Sequence[str] | None) -> tuple[ChosenClaim, ...]:
    """Parse `POID:NUMBER,NUMBER`."""
    chosen = []
    for text in texts or ():
        name, _, numbers = text.rpartition(":")
        if not _NUMBERS.fullmatch(numbers):
            reason = (
                f"--claim {quote_text(text)} is invalid: write an observation and numbers of claims, as in POID-…:1,3"
            )
            raise InvalidInput("person", "claim", reason)
        try:
            poid = ppid.canonical(name)
        except InvalidName as problem:
            raise InvalidInput("person", "claim", f"--claim {quote_text(text)}: {problem.reason}") from None
        chosen += [ChosenClaim(poid, int(number)) for number in numbers.split(",")]
    return tuple(chosen)


def parse_links(texts: Sequence[str] | None, option: str = "--link") -> tuple[Link, ...]:
    """Parse `RELATION:SCHEME:ID`. The identifier itself may contain colons."""
    links = []
    for text in texts or ():
        relation, _, rest = text.partition(":")
        scheme, _, value = rest.partition(":")
        if relation not in _RELATIONS or not value:
            reason = f"{option} {quote_text(text)} is invalid: write it as in exact:viaf:12345 or close:wikidata:Q42"
            raise InvalidInput("person", "link", reason)
        links.append(Link(cast(Relation, relation), scheme.lower(), value.strip()))
    return tuple(links)


def parse_dropped_links(texts: Sequence[str] | None) -> tuple[DroppedLink, ...]:
    """Parse `SCHEME:ID`, or `RELATION:SCHEME:ID`."""
    links = []
    for text in texts or ():
        first, _, rest = text.partition(":")
        relation = cast(Relation, first) if first in _RELATIONS else None
        scheme, _, value = (text if relation is None else rest).partition(":")
        if not value:
            reason = f"--drop-link {quote_text(text)} is invalid: write it as in viaf:12345 or close:wikidata:Q42"
            raise InvalidInput("person", "drop_link", reason)
        links.append(DroppedLink(scheme.lower(), value.strip(), relation))
    return tuple(links)


def parse_employment(texts: Sequence[str] | None) -> tuple[Employment, ...]:
    """Parse `GHCID;role=…;start=…;end=…`."""
    employment = []
    for text in texts or ():
        institution, *rest = (piece.strip() for piece in text.split(";"))
        fields: dict[str, str] = {}
        for piece in filter(None, rest):
            field, _, value = (part.strip() for part in piece.partition("="))
            if field not in _EMPLOYMENT_FIELDS or not value or field in fields:
                reason = (
                    f"--employment {quote_text(text)} is invalid: "
                    "after the GHCID, role=…, start=… and end=… are allowed, each once"
                )
                raise InvalidInput("person", "employment", reason)
            fields[field] = value
        employment.append(Employment(institution=institution, **fields))
    return tuple(employment)
