"""`perdure person revise`: a new version of a reconstruction."""

from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_as_agent
from perdure.cli.person_options import (
    Activity,
    AddedLinks,
    AlgorithmVersion,
    AtOrNow,
    ChosenClaims,
    CuratorName,
    DifferentFrom,
    DroppedLinks,
    EmploymentOption,
    Links,
    Notes,
    Prid,
    dropped_field,
    parse_chosen_claims,
    parse_dropped_links,
    parse_employment,
    parse_links,
    person_fields,
    print_dropped,
    timestamp_or_now,
)
from perdure.cli.record_options import Version
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import escape_control, to_json
from perdure.errors import InvalidInput, WrongState
from perdure.names import ppid
from perdure.records.person import Reconstruction
from perdure.registry.entities import Agent
from perdure.registry.persons import DroppedItem, combine_links

EXAMPLES = """
**Examples**

- add a link, and remove one: `perdure person revise PRID-5ccc-3780-8c9c-5a90 --add-link exact:wikidata:Q42
  --drop-link viaf:12345`
- remove all namesakes: `perdure person revise PRID-5ccc-3780-8c9c-5a90 --clear different-from`
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
        list[str] | None,
        typer.Option(metavar="POID", help="All observations on which the new version is based. Repeatable."),
    ] = None,
    curator: Annotated[
        str | None, typer.Option(metavar="ID", help="Curator of the revision. Default: the current curator.")
    ] = None,
    at: AtOrNow = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    claim: ChosenClaims = None,
    link: Links = None,
    add_link: AddedLinks = None,
    drop_link: DroppedLinks = None,
    employment: EmploymentOption = None,
    different_from: DifferentFrom = None,
    notes: Notes = None,
    clear: Annotated[
        list[Part] | None, typer.Option(metavar="PART", help=f"Remove this part: {', '.join(Part)}. Repeatable.")
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Reason, for the history.")] = None,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Revise a reconstruction: the PRID gets a new version, and old versions stay readable.

    Parts that are not given stay unchanged. A given part replaces the whole old part, and what the new version no
    longer has is named. To add or remove single links, use --add-link and --drop-link.
    """
    add, drop = parse_links(add_link, "--add-link"), parse_dropped_links(drop_link)
    if (add or drop) and (link or Part.links in (clear or ())):
        replaces_all = "--link and --clear links replace all links: do not combine them with --add-link or --drop-link"
        raise InvalidInput("person", "links", replaces_all)
    given: dict[str, Any] = {
        "observation_ids": observation,
        "claims": parse_chosen_claims(claim),
        "links": parse_links(link),
        "employment": parse_employment(employment),
        "different_from": tuple(different_from or ()),
        "notes": notes,
    }
    given = {field: value for field, value in given.items() if value}
    for part in clear or ():
        field = part.value.replace("-", "_")
        if field in given:
            raise InvalidInput("person", "clear", f"{part.value} cannot be both given and cleared")
        given[field] = None if part is Part.notes else ()
    attribution = {"curator_name": curator_name, "algorithm_version": algorithm_version, "activity": activity}
    changed = {field: value for field, value in attribution.items() if value is not None}
    if not given and not changed and not add and not drop and curator is None and at is None:
        raise InvalidInput(
            "person", "inputs", "nothing to revise: give a part, as in --notes TEXT; see perdure person revise --help"
        )
    # The name and version of the previous curator do not apply to another curator.
    given |= changed if curator is None else {"curator_id": curator, **attribution}
    has_only_links = not given and at is None

    async def work(registry: AnyRegistry, by: Agent) -> tuple[str, int, int, list[DroppedItem]]:
        before = await use.show_person(registry, name, by=by)
        present = before.view.reconstruction
        if before.view.name.startswith("POID"):
            raise InvalidInput(
                "person", "name", f"{before.view.name} is an observation, and observations never change: revise a PRID"
            )
        if present is None:
            hidden = "restricted" if before.view.redaction is None else "redacted"
            raise WrongState(before.view.name, hidden, "shown to you")
        parts = given | {"timestamp": timestamp_or_now(at, registry)}
        if add or drop:
            parts["links"] = combine_links(present.links, add, drop)
            if has_only_links and parts["links"] == present.links:
                return before.view.name, before.newest, before.newest, []
        revised = _revise_reconstruction(present, parts, claims_given=bool(claim))
        version = await use.revise_reconstruction(
            registry,
            by,
            name,
            revised.observation_ids,
            revised.curator_id,
            revised.timestamp,
            revised,
            expected_version=before.newest if if_version is None else if_version,
            note=reason,
        )
        dropped = [] if version == before.newest else await use.list_dropped(registry, before.view.name, version, by=by)
        return before.view.name, version, before.newest, dropped

    canonical, version, before, dropped = run_as_agent(folder, work)
    print_dropped(dropped)
    fields = person_fields(canonical, version=version) | dropped_field(dropped)
    unchanged = " (unchanged: it had this content already)" if version == before else ""
    typer.echo(to_json(fields) if json else f"Saved {escape_control(canonical)} as version {version}{unchanged}.")


def _revise_reconstruction(present: Reconstruction, given: dict[str, Any], *, claims_given: bool) -> Reconstruction:
    """Return the present reconstruction with the given parts. Claims of removed observations are removed too."""
    revised = msgspec.structs.replace(present, **given)
    if claims_given or revised.observation_ids == present.observation_ids:
        return revised
    observations = ppid.canonical_observations(revised.observation_ids)
    return msgspec.structs.replace(
        revised, claims=tuple(one for one in revised.claims if one.observation_id in observations)
    )
