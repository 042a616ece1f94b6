"""`perdure person merge`, `split`, `undo`, `restrict`, `lift`: acts that can be taken back. And `redact`, for good."""

from typing import Annotated

import typer

from perdure import registry as use
from perdure.cli.person_said import (
    Activity,
    AlgorithmVersion,
    AtOrNow,
    Curator,
    CuratorName,
    Ppid,
    Prid,
    as_person,
    concluded,
)
from perdure.cli.redaction import ForGood, check_confirmed, print_traces
from perdure.cli.screen import as_json, printable
from perdure.cli.session import Folder, Json, act
from perdure.cli.statements import Version, Why
from perdure.errors import InvalidInput, WrongState
from perdure.registry import Curation, Person
from perdure.registry.entities import Agent
from perdure.registry.persons import show_person
from perdure.registry.registry import Registry

_BY = "--curator https://orcid.org/0000-0002-1825-0097"
MERGE_EXAMPLES = f"""
**Example**

- `perdure person merge PRID-1b91-673b-631c-5ff5 --into PRID-5ccc-3780-8c9c-5a90 --reason "the same baptism" {_BY}`
"""
SPLIT_EXAMPLES = f"""
**Example**

- `perdure person split PRID-5ccc-3780-8c9c-5a90 --part POID-93b0-4476-560e-5ac1 --part POID-5841-3d40-65d0-5c6X
  --reason "father and son" {_BY}`
"""
UNDO_EXAMPLES = f"""
**Examples**

- `perdure person undo PRID-1b91-673b-631c-5ff5 --reason "two baptisms after all" {_BY}`
- a split: `perdure person undo PRID-5ccc-3780-8c9c-5a90 --reason "one person after all"`
"""
RESTRICT_EXAMPLES = """
**Example**

- `perdure person restrict PRID-5ccc-3780-8c9c-5a90 --reason "a living person"`
"""
REDACT_EXAMPLES = """
**Example**

- `perdure person redact POID-93b0-4476-560e-5ac1 --reason "court order 2025/12" --for-good`
"""
LIFT_EXAMPLES = """
**Example**

- `perdure person lift PRID-5ccc-3780-8c9c-5a90 --reason "died in 2024"`
"""


def merge(
    name: Prid,
    into: Annotated[str, typer.Option(metavar="PRID", help="The one that stays, and takes up what the other says.")],
    curator: Curator,
    reason: Why,
    at: AtOrNow = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Two were one person: the first PRID leads to the other from now on. Can be undone."""

    async def work(registry: Registry, by: Agent) -> int:
        curation = Curation(curator, concluded(at, registry), curator_name, algorithm_version, activity)
        return await use.merge(registry, by, name, into, curation, reason, expected_version=if_version)

    version = act(folder, work)
    said = f"{name} leads to {into} now, which is at version {version}"
    typer.echo(as_json(as_person(into, version=version, merged=name)) if json else printable(said))


def split(
    name: Prid,
    part: Annotated[
        list[str],
        typer.Option(metavar="POID,POID", help="The observations of one of the persons; once for each person."),
    ],
    curator: Curator,
    reason: Why,
    at: AtOrNow = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """One was several persons: each part gets a PRID of its own, in place of this one. Can be undone.

    Each observation goes to one part. Links, employment and namesakes are nobody's until a curator says whose.
    """
    parts = [[poid for one in text.split(",") if (poid := one.strip())] for text in part]

    async def work(registry: Registry, by: Agent) -> list[Person]:
        curation = Curation(curator, concluded(at, registry), curator_name, algorithm_version, activity)
        return await use.split(registry, by, name, parts, curation, reason, expected_version=if_version)

    made = act(folder, work)
    if json:
        typer.echo(as_json(as_person(name, successors=[one.name for one in made])))
        return
    for one, poids in zip(made, parts, strict=True):
        typer.echo(f"{one.name}\t{printable(', '.join(poids))}")


def undo(
    name: Annotated[str, typer.Argument(metavar="PRID", help="The one that was merged into another, or split.")],
    reason: Why,
    curator: Annotated[
        str | None, typer.Option(help="Who concludes that: of a merge, or of a split whose parts have learnt more.")
    ] = None,
    at: Annotated[str | None, typer.Option(help="And when, ISO 8601 with a zone. Default: now.")] = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Take a merge or a split back: the PRID stands again. That it was done, and undone, stays in the history."""

    async def work(registry: Registry, by: Agent) -> tuple[str, int]:
        view = (await show_person(registry, name, by=by)).view
        stone = view.tombstone
        curation = None
        if curator is not None:
            curation = Curation(curator, concluded(at, registry), curator_name, algorithm_version, activity)
        if stone is not None and stone.successors:
            return view.name, await use.undo_split(registry, by, name, reason, curation)
        if stone is not None and stone.replaced_by is not None and stone.merged_at is None:
            # It came by a split that was undone. To undo the undoing is to split again.
            raise WrongState(view.name, f"replaced by {stone.replaced_by}", "merged or split: split that one instead")
        if stone is None or stone.merged_at is None:
            raise WrongState(view.name, view.state, "merged or split")
        if curation is None:
            reason_against = f"{view.name} was merged: say who concludes that it was wrong (--curator)"
            raise InvalidInput("person", "curator", reason_against)
        risen, _ = await use.undo_merge(registry, by, name, curation, reason)
        return view.name, risen

    _say(*act(folder, work), json, "stands again")


def restrict(name: Ppid, reason: Why, if_version: Version = None, folder: Folder = None, json: Json = False) -> None:
    """Show nothing of what is said of a person, but why. The identifier still resolves; see also `lift`."""
    version = act(folder, lambda registry, by: use.restrict(registry, by, name, reason, expected_version=if_version))
    _say(name, version, json, "is restricted")


def lift(name: Ppid, reason: Why, if_version: Version = None, folder: Folder = None, json: Json = False) -> None:
    """Show again what was restricted."""
    version = act(
        folder, lambda registry, by: use.lift_restriction(registry, by, name, reason, expected_version=if_version)
    )
    _say(name, version, json, "is shown again")


def redact(
    name: Ppid,
    reason: Why,
    for_good: ForGood = False,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Take what is said of a person out of every version, as the law may want. That it was done, and why, stays.

    What reconstructions took from an observation goes with it. Backups that were made before still hold everything.
    """
    check_confirmed(for_good, "person", "perdure person restrict")
    version, others = act(
        folder, lambda registry, by: use.redact(registry, by, name, reason, expected_version=if_version)
    )
    if json:
        typer.echo(as_json(as_person(name, version=version, redacted_too=others)))
        return
    _say(name, version, json, "is redacted")
    for other in others:
        typer.echo(f"{other} does not show any more what it took from there")
    print_traces(folder)


def _say(name: str, version: int, json: bool, what: str) -> None:
    said = printable(f"{name} {what}, at version {version}")
    typer.echo(as_json(as_person(name, version=version)) if json else said)
