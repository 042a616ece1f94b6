"""`perdure person merge`, `split`, `undo`, `restrict`, `lift`, which can be undone; and `redact`, which cannot."""

from typing import Annotated

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_as_agent
from perdure.cli.person_options import (
    Activity,
    AlgorithmVersion,
    AtOrNow,
    Curator,
    CuratorName,
    Ppid,
    Prid,
    dropped_field,
    person_fields,
    print_dropped,
    timestamp_or_now,
)
from perdure.cli.record_options import Reason, Version
from perdure.cli.redaction_options import ForGood, check_confirmed, print_traces
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.errors import InvalidInput, WrongState
from perdure.registry import Curation, Person
from perdure.registry.entities import Agent
from perdure.registry.persons import DroppedItem

_CURATOR_EXAMPLE = "--curator https://orcid.org/0000-0002-1825-0097"
MERGE_EXAMPLES = f"""
**Example**

- `perdure person merge PRID-1b91-673b-631c-5ff5 --into PRID-5ccc-3780-8c9c-5a90 --reason "the same baptism"
  {_CURATOR_EXAMPLE}`
"""
SPLIT_EXAMPLES = f"""
**Example**

- `perdure person split PRID-5ccc-3780-8c9c-5a90 --part POID-93b0-4476-560e-5ac1 --part POID-5841-3d40-65d0-5c6X
  --reason "father and son" {_CURATOR_EXAMPLE}`
"""
UNDO_EXAMPLES = f"""
**Examples**

- `perdure person undo PRID-1b91-673b-631c-5ff5 --reason "two baptisms after all" {_CURATOR_EXAMPLE}`
- a split: `perdure person undo PRID-5ccc-3780-8c9c-5a90 --reason "one person after all"`
"""
RESTRICT_EXAMPLES = """
**Examples**

- `perdure person restrict PRID-5ccc-3780-8c9c-5a90 --reason "a living person"`
- with its observations: `perdure person restrict PRID-5ccc-3780-8c9c-5a90 --reason "a living person"
  --with-observations`
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
    into: Annotated[str, typer.Option(metavar="PRID", help="PRID that remains, and gets the data of the other.")],
    curator: Curator,
    reason: Reason,
    at: AtOrNow = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Merge two reconstructions of the same person: the first PRID redirects to the other. Can be undone."""

    async def work(registry: AnyRegistry, by: Agent) -> tuple[int, list[DroppedItem]]:
        curation = Curation(curator, timestamp_or_now(at, registry), curator_name, algorithm_version, activity)
        version = await use.merge(registry, by, name, into, curation, reason, expected_version=if_version)
        merged = (await use.show_person(registry, name, by=by)).newest
        lost = await use.list_dropped(registry, name, merged, by=by, into=[(into, version)])
        return version, lost + await use.list_dropped(registry, into, version, by=by)

    version, dropped = run_as_agent(folder, work)
    print_dropped(dropped, f"{into} has not taken over")
    message = f"Merged {name} into {into}, now version {version}."
    fields = person_fields(into, version=version, merged=name) | dropped_field(dropped)
    typer.echo(to_json(fields) if json else escape_control(message))


def split(
    name: Prid,
    part: Annotated[
        list[str],
        typer.Option(metavar="POID,POID", help="Observations of one of the persons. Repeat for each person."),
    ],
    curator: Curator,
    reason: Reason,
    at: AtOrNow = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Split a reconstruction of several persons: each part gets its own PRID, which replaces this one. Can be undone.

    Each observation belongs to one part. Links, employment and namesakes are not copied: add them to the right part
    with `perdure person revise`.
    """
    parts = [[poid for one in text.split(",") if (poid := one.strip())] for text in part]

    async def work(registry: AnyRegistry, by: Agent) -> tuple[list[Person], list[DroppedItem]]:
        curation = Curation(curator, timestamp_or_now(at, registry), curator_name, algorithm_version, activity)
        persons = await use.split(registry, by, name, parts, curation, reason, expected_version=if_version)
        withdrawn = (await use.show_person(registry, name, by=by)).newest
        into = [(person.name, 1) for person in persons]
        return persons, await use.list_dropped(registry, name, withdrawn, by=by, into=into)

    successors, dropped = run_as_agent(folder, work)
    print_dropped(dropped, "no part has taken over")
    if json:
        typer.echo(to_json(person_fields(name, successors=[one.name for one in successors]) | dropped_field(dropped)))
        return
    for one, poids in zip(successors, parts, strict=True):
        typer.echo(f"{one.name}\t{escape_control(', '.join(poids))}")


def undo(
    name: Annotated[str, typer.Argument(metavar="PRID", help="PRID that was merged or split.")],
    reason: Reason,
    curator: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Curator. Required for a merge, and for a split whose parts were changed since."
        ),
    ] = None,
    at: Annotated[
        str | None, typer.Option(metavar="DATE", help="Date of the decision, ISO 8601 with a time zone. Default: now.")
    ] = None,
    curator_name: CuratorName = None,
    algorithm_version: AlgorithmVersion = None,
    activity: Activity = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Undo a merge or a split: the PRID becomes active again. Both actions stay in the history."""

    async def work(registry: AnyRegistry, by: Agent) -> tuple[str, int]:
        view = (await use.show_person(registry, name, by=by)).view
        stone = view.tombstone
        curation = None
        if curator is not None:
            curation = Curation(curator, timestamp_or_now(at, registry), curator_name, algorithm_version, activity)
        if stone is not None and stone.successors:
            return view.name, await use.undo_split(registry, by, name, reason, curation)
        if stone is not None and stone.replaced_by is not None and stone.merged_at is None:
            # This PRID is a part of a split that was undone. To undo that, split again.
            raise WrongState(view.name, f"replaced by {stone.replaced_by}", "merged or split: split that one instead")
        if stone is None or stone.merged_at is None:
            raise WrongState(view.name, view.state, "merged or split")
        if curation is None:
            missing = f"{view.name} was merged: --curator is required to undo a merge"
            raise InvalidInput("person", "curator", missing)
        version, _ = await use.undo_merge(registry, by, name, curation, reason)
        return view.name, version

    _print_version(*run_as_agent(folder, work), json, "Reactivated")


def restrict(
    name: Ppid,
    reason: Reason,
    with_observations: Annotated[
        bool,
        typer.Option(
            "--with-observations",
            help="Restrict the observations of a reconstruction too, and what was merged into it.",
        ),
    ] = False,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Hide the data about a person, and show only the reason. The identifier still resolves. Undo with `lift`.

    The observations of a reconstruction, and reconstructions that were merged into it, still show the person. They are
    named, or restricted with --with-observations.
    """

    async def work(registry: AnyRegistry, by: Agent) -> tuple[int, list[str], list[str]]:
        before = (await use.show_person(registry, name, by=by)).view.reconstruction
        sources = () if before is None else (*before.observation_ids, *before.replaces)
        public = await use.list_public_persons(registry, sources)
        version = await use.restrict(
            registry, by, name, reason, with_observations=with_observations, expected_version=if_version
        )
        still_public = await use.list_public_persons(registry, sources)
        return version, [one for one in public if one not in still_public], still_public

    version, restricted, still_public = run_as_agent(folder, work)
    if json:
        observations = [one for one in still_public if one.startswith("POID")]
        reconstructions = [one for one in still_public if one not in observations]
        fields = {
            "restricted_too": restricted,
            "public_observations": observations,
            "public_reconstructions": reconstructions,
        }
        typer.echo(to_json(person_fields(name, version=version, **{key: one for key, one in fields.items() if one})))
        return
    _print_version(name, version, json, "Restricted")
    for one in restricted:
        typer.echo(f"Restricted {one}, too.")
    if still_public:
        print_error(
            f"still shown by {', '.join(still_public)}: "
            "restrict these too, or run the same command again with --with-observations"
        )


def lift(name: Ppid, reason: Reason, if_version: Version = None, folder: Folder = None, json: Json = False) -> None:
    """Lift a restriction: show the data about a person again."""
    version = run_as_agent(
        folder, lambda registry, by: use.lift_restriction(registry, by, name, reason, expected_version=if_version)
    )
    _print_version(name, version, json, "Lifted the restriction of")


def redact(
    name: Ppid,
    reason: Reason,
    for_good: ForGood = False,
    if_version: Version = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Permanently remove the data about a person from all versions, for example by court order.

    The redaction and its reason stay visible. Data that reconstructions took from an observation is removed too.
    Earlier backups still contain everything.
    """
    check_confirmed(for_good, "person", "perdure person restrict")
    version, others = run_as_agent(
        folder, lambda registry, by: use.redact(registry, by, name, reason, expected_version=if_version)
    )
    if json:
        typer.echo(to_json(person_fields(name, version=version, redacted_too=others)))
        return
    _print_version(name, version, json, "Redacted")
    for other in others:
        typer.echo(f"Removed data of {name} from {other}.")
    print_traces(folder)


def _print_version(name: str, version: int, json: bool, action: str) -> None:
    message = escape_control(f"{action} {name}, now version {version}.")
    typer.echo(to_json(person_fields(name, version=version)) if json else message)
