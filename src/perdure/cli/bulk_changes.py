"""`perdure bulk`: withdraw and transfer many identifiers, list bulk changes, and undo them."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import run_as_agent
from perdure.cli.bulk_session import (
    BulkOptions,
    DryRun,
    Problems,
    Yes,
    change_after_preview,
    change_fields,
    exit_if_refused,
    undo_after_preview,
)
from perdure.cli.help import CommandGroup
from perdure.cli.name_list import NameList
from perdure.cli.query_options import (
    ChangedBefore,
    ChangedSince,
    ContainedText,
    CreatedBefore,
    CreatedSince,
    Creator,
    Owner,
    Scheme,
    State,
    TargetBegins,
    TargetContains,
    Under,
    ValueType,
    build_query,
)
from perdure.cli.record_options import Reason
from perdure.cli.registry_session import Folder, Json
from perdure.cli.terminal import escape_control, print_table, to_json
from perdure.errors import InvalidInput
from perdure.registry import BulkChange, BulkRequest, IdentifierQuery, NameSource, QuerySource
from perdure.registry.bulk_changes import Source

EXAMPLES = """
**Examples**

- `perdure bulk withdraw names.txt --reason "returned to their owner"`
- `perdure bulk transfer maria --owner jan --under 12345`
- `perdure bulk list`
- `perdure bulk undo 1f0c5a9b3e`
"""
_WITHDRAW_EXAMPLES = """
**Examples**

- the names of a file, one per line: `perdure bulk withdraw names.txt --reason "returned to their owner"`
- those that pass every filter: `perdure bulk withdraw --under 12345/map- --changed-before 2020-01-01 --reason "lost"`
- `grep maps names.txt | perdure bulk withdraw - --reason "returned to their owner" --yes`
"""
_TRANSFER_EXAMPLES = """
**Examples**

- `perdure bulk transfer maria names.txt`
- `perdure bulk transfer maria --owner jan --reason "jan has retired"`
"""
_LIST_EXAMPLES = "**Example**\n\n- `perdure bulk list`"
_SHOW_EXAMPLES = "**Example**\n\n- `perdure bulk show 1f0c5a9b3e --json`"
_UNDO_EXAMPLES = "**Example**\n\n- `perdure bulk undo 1f0c5a9b3e --dry-run`"

app = CommandGroup(help="Withdraw or transfer many identifiers as one act; list such acts, and undo them.")

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the bulk change, as perdure bulk list shows it.")]
NameFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="File with one name per line, as `perdure list` prints them, or - for standard input.",
        allow_dash=True,
    ),
]


@app.command(epilog=_WITHDRAW_EXAMPLES)
def withdraw(
    reason: Reason,
    file: NameFile = None,
    under: Under = None,
    state: State = None,
    scheme: Scheme = None,
    creator: Creator = None,
    owner: Owner = None,
    created_since: CreatedSince = None,
    created_before: CreatedBefore = None,
    changed_since: ChangedSince = None,
    changed_before: ChangedBefore = None,
    target_begins: TargetBegins = None,
    target_contains: TargetContains = None,
    type: ValueType = None,
    text: ContainedText = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    problems: Problems = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Withdraw the identifiers of a list, or those that pass every filter. The reason is public. Can be undone.

    After an interruption, run the same command again: it continues where it stopped.
    """
    options = BulkOptions(dry_run, yes, problems, json, str(file) != "-")
    _run_change(folder, BulkRequest(kind="withdraw", reason=reason), file, build_query(locals()), options)


@app.command(epilog=_TRANSFER_EXAMPLES)
def transfer(
    to: Annotated[str, typer.Argument(metavar="AGENT", help="New owner.")],
    file: NameFile = None,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Reason, for the history.")] = None,
    under: Under = None,
    state: State = None,
    scheme: Scheme = None,
    creator: Creator = None,
    owner: Owner = None,
    created_since: CreatedSince = None,
    created_before: CreatedBefore = None,
    changed_since: ChangedSince = None,
    changed_before: ChangedBefore = None,
    target_begins: TargetBegins = None,
    target_contains: TargetContains = None,
    type: ValueType = None,
    text: ContainedText = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    problems: Problems = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Transfer the identifiers of a list, or those that pass every filter, to another agent. Can be undone.

    After an interruption, run the same command again: it continues where it stopped.
    """
    options = BulkOptions(dry_run, yes, problems, json, str(file) != "-")
    _run_change(folder, BulkRequest(kind="transfer", receiver=to, reason=reason), file, build_query(locals()), options)


@app.command("list", epilog=_LIST_EXAMPLES)
def list_(folder: Folder = None, json: Json = False) -> None:
    """List the bulk changes, the newest first: your own, and as an administrator also those of others."""
    changes = run_as_agent(folder, use.list_bulk_changes)
    if json:
        for change in changes:
            typer.echo(to_json(change_fields(change)))
        return
    rows = (
        (change.id, change.started[:19] + "Z", change.agent, change.request.kind, change.state, f"{change.changed:,}")
        for change in changes
    )
    print_table(("id", "started", "agent", "kind", "state", "changed"), rows, whole=("id", "started"))


@app.command(epilog=_SHOW_EXAMPLES)
def show(id: Id, folder: Folder = None, json: Json = False) -> None:
    """Show a bulk change: what was requested, its counts, and the first problems."""
    change = run_as_agent(folder, lambda registry, by: use.find_bulk_change(registry, by, id))
    if json:
        typer.echo(to_json(change_fields(change)))
        return
    for label, fact in _describe(change):
        typer.echo(f"{label:10}  {escape_control(fact)}")


@app.command(epilog=_UNDO_EXAMPLES)
def undo(
    id: Id,
    dry_run: DryRun = False,
    yes: Yes = False,
    problems: Problems = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Undo a bulk change: every identifier gets a new version with the content that it had before.

    An identifier that was changed since is reported, and stays as it is.
    """
    options = BulkOptions(dry_run, yes, problems, json)
    change = run_as_agent(folder, lambda registry, by: undo_after_preview(registry, by, id, options))
    exit_if_refused(change.undo_refused)


def _run_change(
    folder: Path | None, request: BulkRequest, file: Path | None, query: IdentifierQuery, options: BulkOptions
) -> None:
    """Change the names of a file, or those that a query selects."""
    if (file is None) == (query == IdentifierQuery()):
        raise InvalidInput("bulk", "names", "give a FILE with names, or - for standard input, or at least one filter")

    def run(request: BulkRequest, source: Source) -> BulkChange:
        return run_as_agent(folder, lambda registry, by: change_after_preview(registry, by, request, source, options))

    if file is None:
        change = run(msgspec.structs.replace(request, query=query), QuerySource(query))
    else:
        with NameList(file) as names:
            source = NameSource(names)
            change = run(msgspec.structs.replace(request, names=source.digest()), source)
    exit_if_refused(change.refused)


def _describe(change: BulkChange) -> list[tuple[str, str]]:
    request = change.request
    filters = {} if request.query is None else msgspec.to_builtins(request.query)
    facts = [
        ("id", change.id),
        ("kind", request.kind),
        ("state", change.state),
        ("agent", change.agent),
        ("started", change.started),
        ("ended", change.ended),
        ("from", request.old),
        ("to", request.new or request.receiver),
        ("reason", request.reason),
        ("names", "a list" if request.names else " ".join(f"{key}={value}" for key, value in filters.items()) or "all"),
        ("changed", f"{change.changed:,} of {change.seen:,}"),
        ("refused", f"{change.refused:,}"),
        ("restored", f"{change.undone:,}" if change.undone else None),
        *((problem.name, problem.reason) for problem in change.problems),
    ]
    return [(label, fact) for label, fact in facts if fact is not None]
