"""`perdure person show` and `perdure person history`."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from perdure import registry as use
from perdure.cli.person_options import Ppid, Prid, person_fields
from perdure.cli.query import format_redaction
from perdure.cli.registry_session import Folder, Json, run_maybe_as_agent
from perdure.cli.terminal import escape_control, make_console, print_table, to_json
from perdure.names import external
from perdure.records import record as records
from perdure.records.person import Claim, Employment, InSource, Observation, Reconstruction
from perdure.registry.entities import Agent, Revision
from perdure.registry.persons import PersonView, list_person_versions, show_person
from perdure.registry.registry import Registry

SHOW_EXAMPLES = """
**Examples**

- `perdure person show PRID-5ccc-3780-8c9c-5a90`
- an old version: `perdure person show PRID-5ccc-3780-8c9c-5a90 --version 1`
- the claims of an observation, with their numbers: `perdure person show POID-93b0-4476-560e-5ac1`
"""
HISTORY_EXAMPLES = "**Example**\n\n- `perdure person history PRID-5ccc-3780-8c9c-5a90`"

Fact = tuple[str, str]


def show(
    name: Ppid,
    version: Annotated[int | None, typer.Option(metavar="N", help="Show this version. Default: the newest.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show a person: names, dates, claims with their sources, links and employment."""
    person = run_maybe_as_agent(folder, lambda registry, by: show_person(registry, name, version=version, by=by))
    if json:
        typer.echo(to_json(_person_fields(person)))
        return
    screen = make_console()
    facts = [*_identity_facts(person), *_content_facts(person)]
    width = max(len(label) for label, _ in facts)
    for label, text in facts:
        screen.print(Text.assemble((f"{label:{width}}  ", "dim"), escape_control(text)), soft_wrap=True)
    claims = list(_claim_rows(person))
    if claims:
        headings = ("claim", "type", "value", "status", "position")
        print_table(headings, claims, whole=("claim", "type"))


def history(name: Prid, folder: Folder = None, json: Json = False) -> None:
    """Show all versions of a person: date, agent, action and curator."""

    async def work(registry: Registry, by: Agent | None) -> list[Revision]:
        await list_person_versions(registry, name)  # raises an error for other identifiers
        return await use.history(registry, name, by=by)

    revisions = run_maybe_as_agent(folder, work)
    if json:
        for one in revisions:
            fields = {field: getattr(one, field) for field in ("version", "at", "agent", "action", "note")}
            typer.echo(to_json(fields | {"record": msgspec.json.decode(one.record)}))
        return
    rows = (
        (str(one.version), one.at[:19] + "Z", one.agent, one.action, _curator_at(one), one.note or "")
        for one in revisions
    )
    print_table(("version", "date", "agent", "action", "curator", "note"), rows, whole=("version", "date"))


def _curator_at(revision: Revision) -> str:
    reconstruction = records.decode(revision.record).reconstruction
    return "" if reconstruction is None else reconstruction.curator_name or reconstruction.curator_id


def _person_fields(person: PersonView) -> dict[str, Any]:
    """Return the JSON object of a person, without the fields that only handles have."""
    view: dict[str, Any] = msgspec.to_builtins(person.view)
    for field in ("values", "handle_record", "names", "target", "about"):
        view.pop(field, None)
    view = person_fields(person.view.name) | view | {"at": person.at, "newest_version": person.newest}
    if person.withdrawal is not None:
        view["withdrawal"] = person.withdrawal._asdict()
    if person.observations:
        view["observations"] = msgspec.to_builtins(person.observations)
    return view


def _identity_facts(person: PersonView) -> Iterator[Fact]:
    view, stone = person.view, person.view.tombstone
    kind = "observation" if view.name.startswith("POID") else "reconstruction"
    yield "name", view.name
    yield "state", f"{kind}, {view.state}"
    yield "version", f"{view.version} of {person.newest}, created {person.at[:19]}Z"
    if stone is not None:
        yield "reason", stone.reason
        if (gone := person.withdrawal) is not None:
            yield view.state, f"{gone.at} by {gone.by}" + (f" ({gone.by_identifier})" if gone.by_identifier else "")
        if stone.replaced_by is not None:
            yield "replaced by", stone.replaced_by
        for one in stone.successors:
            yield "split into", one
    if view.restriction is not None:
        yield "restricted", f"{view.restriction.reason} (since {view.restriction.since})"
    for act in () if view.redaction is None else view.redaction.acts:
        yield "redacted", format_redaction(act)
    if view.authority.created is not None:
        yield "registered", f"{view.authority.created} by {view.authority.creator}"


def _content_facts(person: PersonView) -> Iterator[Fact]:
    observation, reconstruction = person.view.observation, person.view.reconstruction
    if observation is not None:
        yield from _source_facts(observation)
    if reconstruction is not None:
        yield from _conclusion_facts(reconstruction)
        for poid in reconstruction.observation_ids:
            yield "observation", " · ".join((poid, *_summarise_source(person.observations.get(poid))))


def _source_facts(observation: Observation) -> Iterator[Fact]:
    yield "source", observation.source_url
    if observation.source_name is not None:
        yield "source name", observation.source_name
    if observation.holding_archive is not None:
        yield "held by", observation.holding_archive
    yield "retrieved", observation.retrieval_timestamp
    yield "sha-256", observation.content_hash


def _summarise_source(observation: Observation | None) -> Iterator[str]:
    if observation is None:
        yield "not public"
        return
    if observation.source_name is not None:
        yield observation.source_name
    if observation.holding_archive is not None:
        yield observation.holding_archive
    yield observation.source_url
    yield observation.retrieval_timestamp


def _conclusion_facts(reconstruction: Reconstruction) -> Iterator[Fact]:
    claims = [one.said for one in reconstruction.claims if one.said is not None]
    for label, types in _HEADLINES:
        texts = [str(claim.value) for claim in claims if claim.type in types]
        if texts:
            yield label, "; ".join(dict.fromkeys(texts))
    version = f", version {reconstruction.algorithm_version}" if reconstruction.algorithm_version else ""
    name = f" ({reconstruction.curator_name})" if reconstruction.curator_name else ""
    yield "reconstructed", f"{reconstruction.timestamp} by {reconstruction.curator_id}{version}{name}"
    if reconstruction.activity is not None:
        yield "activity", reconstruction.activity
    for link in reconstruction.links:
        yield f"{link.relation} match", external.ExternalId(link.scheme, link.value).iri
    for work in reconstruction.employment:
        yield "employment", _format_employment(work)
    for other in reconstruction.different_from:
        yield "different from", other
    for other in reconstruction.replaces:
        yield "replaces", other
    if reconstruction.notes is not None:
        yield "notes", reconstruction.notes


_HEADLINES = (
    ("person name", ("name",)),
    ("born", ("birth_date", "birth_place")),
    ("died", ("death_date", "death_place")),
)


def _format_employment(work: Employment) -> str:
    years = f"{work.start or '…'} – {work.end or '…'}" if work.start or work.end else None
    return ", ".join(filter(None, (work.institution, work.role, years)))


def _claim_rows(person: PersonView) -> Iterator[tuple[str, ...]]:
    """Yield the claims as rows, with the numbers that `reconstruct --claim` takes."""
    observation, reconstruction = person.view.observation, person.view.reconstruction
    if observation is not None:
        for number, claim in enumerate(observation.claims, 1):
            yield _claim_row(str(number), claim)
    if reconstruction is not None:
        for chosen in reconstruction.claims:
            label = f"{chosen.observation_id}:{chosen.claim}"
            yield (label, "", "", "redacted", "") if chosen.said is None else _claim_row(label, chosen.said)


def _claim_row(label: str, claim: Claim) -> tuple[str, ...]:
    value = str(claim.value) + (f" ({claim.language})" if claim.language else "")
    status = claim.status + ("" if claim.confidence is None else f" {claim.confidence:g}")
    if claim.reasoning is not None:
        status += f": {claim.reasoning}"
    return label, claim.type, value, status, _format_source_position(claim.where)


def _format_source_position(where: InSource | None) -> str:
    if where is None:
        return ""
    parts = (("page", where.page), ("quote", where.quote), ("xpath", where.xpath))
    return ", ".join(f"{field} {text}" for field, text in parts if text is not None)
