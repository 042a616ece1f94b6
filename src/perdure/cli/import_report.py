"""Report of an import: refused lines and notices, in a file or on the screen, and the counts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TextIO

import msgspec
import typer
from rich.console import Console

from perdure.cli.terminal import print_error, to_json
from perdure.formats.import_entries import Notice, RejectedLine
from perdure.registry import Tally

_MAX_SHOWN: Final = 20
_COUNTS: Final = ("created", "changed", "unchanged", "refused")


class ProblemReport:
    """Receives problems one by one. `screen` is the console of a progress bar, which stays below the messages.

    `hints` are the options that help, by the part or the code of an error. A file of problems does not have them.
    """

    def __init__(
        self,
        sink: TextIO | None = None,
        screen: Console | None = None,
        hints: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.sink = sink
        self.screen = screen
        self._hints = hints
        self._count = 0

    def __call__(self, problem: RejectedLine | Notice) -> None:
        if self.sink is not None:
            fields = msgspec.structs.asdict(problem) | {"refused": isinstance(problem, RejectedLine)}
            self.sink.write(to_json(fields) + "\n")
            return
        self._count += 1
        if self._count <= _MAX_SHOWN:
            print_error(f"line {problem.line}: {problem.reason}{self._find_hint(problem)}", self.screen)

    def print_remaining_count(self) -> None:
        if self._count > _MAX_SHOWN:
            print_error(f"… and {self._count - _MAX_SHOWN:,} more: write all of them to a file with --problems FILE")

    def _find_hint(self, problem: RejectedLine | Notice) -> str:
        if isinstance(problem, Notice):
            return ""
        hint = self._hints.get(problem.part or "") or self._hints.get(problem.code or "")
        return f" ({hint})" if hint else ""


def print_tally(tally: Tally, dry_run: bool, json: bool) -> None:
    """Print what an import of identifiers has done, or what it would do."""
    if tally.finished and tally.resumed and tally.resumed == tally.entries and not json:
        typer.echo("This file was imported before; nothing was changed. To import it again: --again")
        return
    if json:
        typer.echo(to_json(msgspec.to_builtins(tally) | {"dry_run": dry_run}))
        return
    would = "would be " if dry_run else ""
    typer.echo(", ".join(f"{getattr(tally, what):,} {would}{what}" for what in _COUNTS))
    if tally.verbatim:
        leads = "1 address is" if tally.verbatim == 1 else f"{tally.verbatim:,} addresses are"
        typer.echo(f"{leads} not valid: {would or 'they were '}stored verbatim, and lead nowhere. To mend one:")
        typer.echo("  perdure set NAME https://…   (or import with --mend --update)")
    if tally.mended:
        were = would or ("was " if tally.mended == 1 else "were ")
        typer.echo(f"{tally.mended:,} address{'' if tally.mended == 1 else 'es'} {were}mended.")
    if tally.left_out:
        were = would or ("was " if tally.left_out == 1 else "were ")
        what = "value could not be stored, and" if tally.left_out == 1 else "values could not be stored, and"
        typer.echo(f"{tally.left_out:,} {what} {were}left out. To list all: --again --problems FILE")
