"""What `perdure redact` and `perdure person redact` have in common: the confirmation, and the bytes that may remain."""

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.session import read
from perdure.errors import InvalidInput
from perdure.registry.redaction import leaves_traces

ForGood = Annotated[bool, typer.Option("--for-good", help="Yes: it cannot be undone.")]


def check_confirmed(for_good: bool, scheme: str, instead: str) -> None:
    """Refuse a redaction that the user has not confirmed, and name the command that can be undone."""
    if not for_good:
        reason = f"what is redacted is gone from every version: if that is meant, say --for-good (else: {instead})"
        raise InvalidInput(scheme, "for-good", reason)


def print_traces(folder: Path | None) -> None:
    """Tell the user to compact the database if bytes of what was redacted may remain in its file."""
    if read(folder, leaves_traces):
        typer.echo("Its bytes may still lie in unused parts of the database file, until you run:  perdure compact")
