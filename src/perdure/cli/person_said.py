"""What a person says of persons on the command line: claims, links, employment, and who concluded it."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Final, cast, get_args

import typer

from perdure.errors import InvalidInput, InvalidName, shown
from perdure.exchange.claim_fields import Said, taken_apart
from perdure.names import ppid, recognise
from perdure.records.authority import to_seconds
from perdure.records.person import ChosenClaim, Claim, Employment, Link, Relation
from perdure.registry.registry import Registry

_NUMBERS: Final = re.compile(r"[0-9]{1,6}(?:,[0-9]{1,6})*")
_NUMBERED: Final = re.compile(r"claims\[([0-9]+)\]")
_RELATIONS: Final = get_args(Relation)
_WORK: Final = ("role", "start", "end")

Prid = Annotated[str, typer.Argument(metavar="PRID", help="The reconstruction.")]
Ppid = Annotated[str, typer.Argument(metavar="PPID", help="An observation (POID) or a reconstruction (PRID).")]
Curator = Annotated[
    str, typer.Option(help="Who concludes it: an ORCID, a web address, a handle or a PRID; or the name of a program.")
]
At = Annotated[str, typer.Option(help="When it was concluded: ISO 8601 with a zone, as in 2025-01-09T10:30:00Z.")]
AtOrNow = Annotated[str | None, typer.Option(help="When it is concluded: ISO 8601 with a zone. Default: now.")]
CuratorName = Annotated[str | None, typer.Option(help="The curator's name, for people to read.")]
AlgorithmVersion = Annotated[
    str | None, typer.Option(help="The version of the program, where the curator is one; then it needs no web address.")
]
Activity = Annotated[str | None, typer.Option(help="What was done to come to it, as in 'record linkage'.")]
Chosen = Annotated[
    list[str] | None,
    typer.Option(
        "--claim",
        metavar="POID:NUMBER",
        help="A claim to take over, by its number in `person show POID`; several as in POID-…:1,3.",
    ),
]
Links = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        metavar="exact|close:SCHEME:ID",
        help="The same person (exact), or much like them (close), in orcid, isni, viaf or wikidata.",
    ),
]
Work = Annotated[
    list[str] | None,
    typer.Option(
        "--employment", metavar="GHCID[;role=…;start=…;end=…]", help="Work for an institution; dates in EDTF."
    ),
]
Namesakes = Annotated[
    list[str] | None, typer.Option("--different-from", metavar="PRID", help="Somebody like them who is another.")
]
Notes = Annotated[str | None, typer.Option(help="What the next curator should know.")]


def as_person(name: str, **said: Any) -> dict[str, Any]:
    """For programs: the identifier as the API calls it, in its right spelling; and by the word of other commands."""
    return {"ppid": recognise(name).canonical or name, "name": name, **said}


def concluded(at: str | None, registry: Registry) -> str:
    """When something is concluded: now, if nobody says when."""
    return at or to_seconds(registry.now())


def naming_the_part(problem: InvalidInput, claims: Sequence[Claim]) -> InvalidInput:
    """The same problem, told with the part that is wrong; and a claim by its type, since few people number claims."""
    if problem.reason.startswith(f"{problem.part} "):
        return problem
    number = _NUMBERED.match(problem.part)
    about = f" ({claims[int(number[1]) - 1].type})" if number and int(number[1]) <= len(claims) else ""
    return type(problem)(problem.scheme, problem.part, f"{problem.part}{about}: {problem.reason}", problem.rule)


def pairs(texts: Sequence[str] | None, option: str, right: str) -> list[Said]:
    """`FIELD=TEXT`, each taken apart."""
    found = []
    for text in texts or ():
        pair = taken_apart(text)
        if pair is None:
            raise InvalidInput("person", option, f"--{option} {shown(text)}: write it as FIELD={right}")
        found.append(pair)
    return found


def read_chosen(texts: Sequence[str] | None) -> tuple[ChosenClaim, ...]:
    """`POID:NUMBER,NUMBER`."""
    chosen = []
    for text in texts or ():
        name, _, numbers = text.rpartition(":")
        if not _NUMBERS.fullmatch(numbers):
            reason = (
                f"--claim {shown(text)}: write the observation and the claim's number, as in POID-…:1 or POID-…:1,3"
            )
            raise InvalidInput("person", "claim", reason)
        try:
            poid = ppid.canonical(name)
        except InvalidName as problem:
            raise InvalidInput("person", "claim", f"--claim {shown(text)}: {problem.reason}") from None
        chosen += [ChosenClaim(poid, int(number)) for number in numbers.split(",")]
    return tuple(chosen)


def read_links(texts: Sequence[str] | None) -> tuple[Link, ...]:
    """`RELATION:SCHEME:ID`; the identifier itself may hold colons."""
    links = []
    for text in texts or ():
        relation, _, rest = text.partition(":")
        scheme, _, value = rest.partition(":")
        if relation not in _RELATIONS or not value:
            reason = (
                f"--link {shown(text)}: write exact or close, the system and the identifier, as in exact:viaf:12345"
            )
            raise InvalidInput("person", "link", reason)
        links.append(Link(cast(Relation, relation), scheme.lower(), value.strip()))
    return tuple(links)


def read_employment(texts: Sequence[str] | None) -> tuple[Employment, ...]:
    """`GHCID;role=…;start=…;end=…`."""
    found = []
    for text in texts or ():
        institution, *rest = (piece.strip() for piece in text.split(";"))
        told: dict[str, str] = {}
        for piece in filter(None, rest):
            field, _, said = (part.strip() for part in piece.partition("="))
            if field not in _WORK or not said or field in told:
                reason = f"--employment {shown(text)}: after the GHCID come role=…, start=… and end=…, each once"
                raise InvalidInput("person", "employment", reason)
            told[field] = said
        found.append(Employment(institution=institution, **told))
    return tuple(found)
