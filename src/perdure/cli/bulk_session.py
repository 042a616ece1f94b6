"""The run of a bulk change on the terminal: preview, question, progress, result."""

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TextIO

import msgspec
import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry
from perdure.cli.exit_codes import SOME_REFUSED
from perdure.cli.progress import count_progress
from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.errors import InvalidInput
from perdure.registry import BulkChange, BulkRequest, BulkStep
from perdure.registry.bulk_changes import BulkProblem, Example, Source
from perdure.registry.entities import Agent

_MOST_SHOWN: Final = 20  # problems
_POSITIONS: Final = ("cursor", "undo_cursor", "first", "last")
_MOST_EXAMPLES: Final = 10

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Change without a preview and a question, as in scripts.")]
Problems = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write identifiers that cannot be changed, with the reasons, to this NDJSON file."
    ),
]


class BulkOptions(NamedTuple):
    """The options of a bulk command. A command whose names come from standard input cannot ask a question."""

    dry_run: bool
    yes: bool
    problems: Path | None
    json: bool
    can_ask: bool = True


class _ProblemReport:
    """Writes problems to a file, or the first ones to standard error."""

    def __init__(self, path: Path | None) -> None:
        self._sink: TextIO | None = None
        self._count = 0
        if path is not None:
            self._sink = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8")

    def add(self, problem: BulkProblem) -> None:
        self._count += 1
        if self._sink is not None:
            self._sink.write(to_json(msgspec.to_builtins(problem)) + "\n")
        elif self._count <= _MOST_SHOWN:
            print_error(f"{problem.name}: {problem.reason}")

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()
        elif self._count > _MOST_SHOWN:
            print_error(f"… and {self._count - _MOST_SHOWN:,} more: write all of them to a file with --problems FILE")


async def change_after_preview(
    registry: AnyRegistry, by: Agent, request: BulkRequest, source: Source, options: BulkOptions
) -> BulkChange:
    """Show a preview, ask, and apply. Raise InvalidInput if there is no terminal to ask at, and `--yes` is missing."""
    expected: int | None = None
    unfinished = None if options.dry_run else await use.find_unfinished(registry, by, request)
    if not options.yes or options.dry_run:
        steps = use.run_bulk_change(registry, by, request, source, dry_run=True)
        preview = await _follow(steps, "looking", None, options)
        if options.dry_run or not (preview.changed or unfinished):
            _print_result(preview, options.json)
            return preview
        expected = preview.changed
        _print_result(preview, as_json=False, to_error=True)
        _confirm(options)
    if unfinished is not None:
        print_error(f"continuing {unfinished.id}, which has changed {unfinished.changed:,} identifiers already")
        expected = None if expected is None else expected + unfinished.changed
    steps = use.run_bulk_change(registry, by, request, source)
    change = await _follow(steps, "changing", expected, options)
    _print_result(change, options.json)
    return change


async def undo_after_preview(registry: AnyRegistry, by: Agent, id: str, options: BulkOptions) -> BulkChange:
    """Show how many identifiers would be restored, ask, and restore them."""
    if not options.yes or options.dry_run:
        preview = await _follow(use.undo_bulk_change(registry, by, id, dry_run=True), "looking", None, options)
        text = f"{preview.undone:,} of {preview.changed:,} identifiers would be restored"
        if options.dry_run or not preview.undone:
            typer.echo(to_json(change_fields(preview)) if options.json else f"{text}.")
            return preview
        typer.echo(f"{text}.", err=True)
        _confirm(options)
    change = await _follow(use.undo_bulk_change(registry, by, id), "restoring", None, options)
    text = f"Restored {change.undone:,} of {change.changed:,} identifiers."
    typer.echo(to_json(change_fields(change)) if options.json else text)
    return change


def change_fields(change: BulkChange) -> dict[str, Any]:
    """Return the JSON object of a bulk change, without the positions at which it would continue."""
    fields: dict[str, Any] = msgspec.to_builtins(change)
    return {field: value for field, value in fields.items() if field not in _POSITIONS}


def exit_if_refused(refused: int) -> None:
    """End with the exit code for identifiers that could not be changed."""
    if refused:
        raise typer.Exit(SOME_REFUSED)


def _confirm(options: BulkOptions) -> None:
    if not (options.can_ask and sys.stdin.isatty() and sys.stderr.isatty()):
        reason = "nothing was changed: add --yes to apply the change, or --dry-run to see the preview only"
        raise InvalidInput("bulk", "yes", reason)
    typer.confirm("Apply this?", abort=True, err=True)


async def _follow(steps: AsyncIterator[BulkStep], what: str, total: int | None, options: BulkOptions) -> BulkChange:
    """Show the progress, and return the last state. A preview shows examples."""
    report, shown = _ProblemReport(options.problems), 0
    change: BulkChange | None = None
    try:
        with count_progress("identifiers") as bar:
            task = bar.add_task(what, total=total)
            async for step in steps:
                change = step.change
                bar.update(task, completed=change.undone or (change.changed if total else change.seen))
                for problem in step.problems:
                    report.add(problem)
                for example in step.examples[: _MOST_EXAMPLES - shown] if what == "looking" else ():
                    _print_example(example, options.json)
                    shown += 1
    finally:
        report.close()
    if change is None:
        raise InvalidInput("bulk", "names", "there is nothing to do")
    return change


def _print_example(example: Example, as_json: bool) -> None:
    """Print a change that would be made, on standard error: the result alone is for programs."""
    text = f"{example.name}  {example.before or '(none)'} → {example.after or '(none)'}"
    if not as_json:
        typer.echo(escape_control(text), err=True)


def _print_result(change: BulkChange, as_json: bool, *, to_error: bool = False) -> None:
    if as_json:
        typer.echo(to_json(change_fields(change)))
        return
    would = "would change" if change.state == "preview" else "changed"
    urls = f" ({change.urls:,} URLs)" if change.request.kind == "retarget" else ""
    text = f"{change.changed:,} of {change.seen:,} identifiers {would}{urls}, {change.refused:,} refused."
    if change.is_recorded:
        text += f" To undo this:  perdure bulk undo {change.id}"
    typer.echo(text, err=to_error)
