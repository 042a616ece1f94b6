"""Confirmation and final message of `perdure redact` and `perdure person redact`."""

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import run_anonymous
from perdure.errors import InvalidInput

ForGood = Annotated[bool, typer.Option("--for-good", help="Confirm. A redaction cannot be undone.")]


def check_confirmed(for_good: bool, scheme: str, instead: str) -> None:
    """Refuse a redaction that the user has not confirmed, and name the command that can be undone."""
    if not for_good:
        reason = f"a redaction cannot be undone: add --for-good to confirm, or use {instead}, which can be undone"
        raise InvalidInput(scheme, "for-good", reason)


def print_traces(folder: Path | None) -> None:
    """Print the command that compacts the database, if redacted bytes may remain in its file."""
    if run_anonymous(folder, use.find_traces):
        typer.echo("Redacted bytes may remain in unused parts of the database file. To remove them:  perdure compact")
