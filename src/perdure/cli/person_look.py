"""`perdure person show` and `history`: what is said of a person, by whom, and on what grounds."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from perdure import registry as use
from perdure.cli.look import told_redaction
from perdure.cli.person_said import Ppid, Prid, as_person
from perdure.cli.screen import as_json, console, printable, show_table
from perdure.cli.session import Folder, Json, look
from perdure.names import external
from perdure.records import record as records
from perdure.records.person import Claim, Employment, InSource, Observation, Reconstruction
from perdure.registry.entities import Agent, Revision
from perdure.registry.persons import PersonView, show_person, versions_of
from perdure.registry.registry import Registry

SHOW_EXAMPLES = """
**Examples**

- `perdure person show PRID-5ccc-3780-8c9c-5a90`
- as it was: `perdure person show PRID-5ccc-3780-8c9c-5a90 --version 1`
- the claims of an observation, with their numbers: `perdure person show POID-93b0-4476-560e-5ac1`
"""
HISTORY_EXAMPLES = "**Example**\n\n- `perdure person history PRID-5ccc-3780-8c9c-5a90`"

Fact = tuple[str, str]


def show(
    name: Ppid,
    version: Annotated[int | None, typer.Option(help="As it was at this version.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """What is said of a person: names, dates, claims with their sources, links, employment."""
    found = look(folder, lambda registry, by: show_person(registry, name, version=version, by=by))
    if json:
        typer.echo(as_json(_fields(found)))
        return
    screen = console()
    facts = [*_identity(found), *_said(found)]
    width = max(len(label) for label, _ in facts)
    for label, text in facts:
        screen.print(Text.assemble((f"{label:{width}}  ", "dim"), printable(text)), soft_wrap=True)
    claims = list(_claims(found))
    if claims:
        headings = ("claim", "type", "value", "standing", "where")
        show_table(headings, claims, whole=("claim", "type"))


def history(name: Prid, folder: Folder = None, json: Json = False) -> None:
    """Every version: when, by whom, what was done, and whose conclusion it is."""

    async def work(registry: Registry, by: Agent | None) -> list[Revision]:
        await versions_of(registry, name)  # refuses what is no person
        return await use.history(registry, name, by=by)

    revisions = look(folder, work)
    if json:
        for one in revisions:
            fields = {field: getattr(one, field) for field in ("version", "at", "agent", "action", "note")}
            typer.echo(as_json(fields | {"record": msgspec.json.decode(one.record)}))
        return
    rows = (
        (str(one.version), one.at[:19] + "Z", one.agent, one.action, _curator_at(one), one.note or "")
        for one in revisions
    )
    show_table(("version", "when", "who", "what", "curator", "note"), rows, whole=("version", "when"))


def _curator_at(revision: Revision) -> str:
    made = records.decode(revision.record).reconstruction
    return "" if made is None else made.curator_name or made.curator_id


def _fields(found: PersonView) -> dict[str, Any]:
    """The parts that persons have, without what only handles need."""
    view: dict[str, Any] = msgspec.to_builtins(found.view)
    for field in ("values", "handle_record", "names", "target", "about"):
        view.pop(field, None)
    view = as_person(found.view.name) | view | {"at": found.at, "newest_version": found.newest}
    if found.observations:
        view["observations"] = msgspec.to_builtins(found.observations)
    return view


def _identity(found: PersonView) -> Iterator[Fact]:
    view, stone = found.view, found.view.tombstone
    kind = "observation" if view.name.startswith("POID") else "reconstruction"
    yield "name", view.name
    yield "state", f"{kind}, {view.state}"
    yield "version", f"{view.version} of {found.newest}, made {found.at[:19]}Z"
    if stone is not None:
        yield "because", stone.reason
        if stone.replaced_by is not None:
            yield "see", stone.replaced_by
        for one in stone.successors:
            yield "see", one
    if view.restriction is not None:
        yield "restricted", f"{view.restriction.reason} (since {view.restriction.since})"
    for act in () if view.redaction is None else view.redaction.acts:
        yield "redacted", told_redaction(act)
    if view.authority.created is not None:
        yield "registered", f"{view.authority.created} by {view.authority.creator}"


def _said(found: PersonView) -> Iterator[Fact]:
    seen, made = found.view.observation, found.view.reconstruction
    if seen is not None:
        yield from _source(seen)
    if made is not None:
        yield from _conclusion(made)
        for poid in made.observation_ids:
            yield "observation", " · ".join((poid, *_briefly(found.observations.get(poid))))


def _source(seen: Observation) -> Iterator[Fact]:
    yield "source", seen.source_url
    if seen.source_name is not None:
        yield "called", seen.source_name
    if seen.holding_archive is not None:
        yield "held by", seen.holding_archive
    yield "retrieved", seen.retrieval_timestamp
    yield "sha-256", seen.content_hash


def _briefly(seen: Observation | None) -> Iterator[str]:
    if seen is None:
        yield "not shown"
        return
    if seen.source_name is not None:
        yield seen.source_name
    if seen.holding_archive is not None:
        yield seen.holding_archive
    yield seen.source_url
    yield seen.retrieval_timestamp


def _conclusion(made: Reconstruction) -> Iterator[Fact]:
    said = [one.said for one in made.claims if one.said is not None]
    for label, types in _HEADLINES:
        texts = [str(claim.value) for claim in said if claim.type in types]
        if texts:
            yield label, "; ".join(dict.fromkeys(texts))
    version = f", version {made.algorithm_version}" if made.algorithm_version else ""
    name = f" ({made.curator_name})" if made.curator_name else ""
    yield "concluded", f"{made.timestamp} by {made.curator_id}{version}{name}"
    if made.activity is not None:
        yield "activity", made.activity
    for link in made.links:
        yield f"{link.relation} match", external.ExternalId(link.scheme, link.value).iri
    for work in made.employment:
        yield "worked at", _employment(work)
    for other in made.different_from:
        yield "different from", other
    for other in made.replaces:
        yield "in place of", other
    if made.notes is not None:
        yield "notes", made.notes


_HEADLINES = (
    ("called", ("name",)),
    ("born", ("birth_date", "birth_place")),
    ("died", ("death_date", "death_place")),
)


def _employment(work: Employment) -> str:
    years = f"{work.start or '…'} – {work.end or '…'}" if work.start or work.end else None
    return ", ".join(filter(None, (work.institution, work.role, years)))


def _claims(found: PersonView) -> Iterator[tuple[str, ...]]:
    """With the numbers by which a reconstruction chooses them."""
    seen, made = found.view.observation, found.view.reconstruction
    if seen is not None:
        for number, claim in enumerate(seen.claims, 1):
            yield _row(str(number), claim)
    if made is not None:
        for chosen in made.claims:
            label = f"{chosen.observation_id}:{chosen.claim}"
            yield (label, "", "", "redacted", "") if chosen.said is None else _row(label, chosen.said)


def _row(label: str, claim: Claim) -> tuple[str, ...]:
    value = str(claim.value) + (f" ({claim.language})" if claim.language else "")
    standing = claim.status + ("" if claim.confidence is None else f" {claim.confidence:g}")
    if claim.reasoning is not None:
        standing += f": {claim.reasoning}"
    return label, claim.type, value, standing, _place(claim.where)


def _place(where: InSource | None) -> str:
    if where is None:
        return ""
    said = (("page", where.page), ("quote", where.quote), ("xpath", where.xpath))
    return ", ".join(f"{field} {text}" for field, text in said if text is not None)
