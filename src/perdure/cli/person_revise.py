"""`perdure person revise`: think again, and keep what was thought before."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from perdure import registry as use
from perdure.cli.person_said import (
    Activity,
    AlgorithmVersion,
    AtOrNow,
    Chosen,
    CuratorName,
    Links,
    Namesakes,
    Notes,
    Prid,
    Work,
    as_person,
    concluded,
    read_chosen,
    read_employment,
    read_links,
)
from perdure.cli.screen import as_json, complain, printable
from perdure.cli.session import Folder, Json, act
from perdure.cli.statements import Version
from perdure.errors import InvalidInput, WrongState
from perdure.names import ppid
from perdure.records.person import Reconstruction
from perdure.registry.entities import Agent
from perdure.registry.persons import show_person
from perdure.registry.registry import Registry

EXAMPLES = """
**Examples**

- one link more, so all of them: `perdure person revise PRID-5ccc-3780-8c9c-5a90 --link exact:wikidata:Q42
  --link exact:viaf:12345`
- nothing said of namesakes any more: `perdure person revise PRID-5ccc-3780-8c9c-5a90 --clear different-from`
- `perdure person revise PRID-5ccc-3780-8c9c-5a90 --notes "See the letters" --if-version 3`
"""


class Part(StrEnum):
    claims = "claims"
    links = "links"
    employment = "employment"
    different_from = "different-from"
    notes = "notes"


def revise(
    name: Prid,
    observation: Annotated[
        list[str] | None, typer.Option(metavar="POID", help="What it stands upon now: all of them.")
    ] = None,
    curator: Annotated[str | None, typer.Option(help="Who revises it. Default: who concluded it before.")] = None,
    at: AtOrNow = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    claim: Chosen = None,
    link: Links = None,
    employment: Work = None,
    different_from: Namesakes = None,
    notes: Notes = None,
    clear: Annotated[list[Part] | None, typer.Option(help="Say no more of this.")] = None,
    reason: Annotated[str | None, typer.Option(help="Why, for the history.")] = None,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Conclude something else: the PRID gets a new version, and the old one stays readable.

    What is not given stays as it is. What is given takes the place of all that was there of its kind.
    """
    given: dict[str, Any] = {
        "observation_ids": observation,
        "claims": read_chosen(claim),
        "links": read_links(link),
        "employment": read_employment(employment),
        "different_from": tuple(different_from or ()),
        "notes": notes,
    }
    given = {field: said for field, said in given.items() if said}
    for part in clear or ():
        field = part.value.replace("-", "_")
        if field in given:
            raise InvalidInput("person", "clear", f"{part.value} cannot be both given and cleared")
        given[field] = None if part is Part.notes else ()
    who = {"curator_name": curator_name, "algorithm_version": algorithm_version, "activity": activity}
    told = {field: said for field, said in who.items() if said is not None}
    if not given and not told and curator is None and at is None:
        raise InvalidInput("person", "inputs", "say what to revise, as in --notes …; see perdure person revise --help")
    # Another curator brings their own name and version: those of the one before would be wrong of them.
    given |= told if curator is None else {"curator_id": curator, **who}

    async def work(registry: Registry, by: Agent) -> tuple[str, int, int]:
        before = await show_person(registry, name, by=by)
        present = before.view.reconstruction
        if before.view.name.startswith("POID"):
            raise InvalidInput(
                "person", "name", f"{before.view.name} is an observation, which never changes: revise a PRID"
            )
        if present is None:
            hidden = "restricted" if before.view.redaction is None else "redacted"
            raise WrongState(before.view.name, hidden, "shown to you")
        made = _revised(present, given | {"timestamp": concluded(at, registry)}, claims_given=bool(claim))
        version = await use.revise_reconstruction(
            registry,
            by,
            name,
            made.observation_ids,
            made.curator_id,
            made.timestamp,
            made,
            expected_version=before.newest if if_version is None else if_version,
            note=reason,
        )
        return before.view.name, version, before.newest

    right, version, before = act(folder, work)
    fields = as_person(right, version=version)
    unchanged = " (it says this already; nothing was changed)" if version == before else ""
    typer.echo(as_json(fields) if json else f"{printable(right)} is at version {version}{unchanged}")


def _revised(present: Reconstruction, given: dict[str, Any], *, claims_given: bool) -> Reconstruction:
    """The present conclusion with what is given; the claims of an observation go when it goes."""
    made = msgspec.structs.replace(present, **given)
    if claims_given or made.observation_ids == present.observation_ids:
        return made
    observations = ppid.canonical_observations(made.observation_ids)
    kept = tuple(one for one in made.claims if one.observation_id in observations)
    if len(kept) < len(made.claims):
        complain(f"claims that go with the observations that make them: {len(made.claims) - len(kept)}")
    return msgspec.structs.replace(made, claims=kept)
