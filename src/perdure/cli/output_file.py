"""Files that commands write: an existing one is replaced only if the user wants it."""

from pathlib import Path
from typing import Annotated

import typer

from perdure.errors import InvalidInput

Overwrite = Annotated[bool, typer.Option("--overwrite", "--force", help="Overwrite an existing file.")]


def check_output(file: Path, overwrite: bool, scheme: str) -> None:
    """Refuse a file whose folder does not exist, or that exists already."""
    if not file.parent.is_dir():
        raise InvalidInput(scheme, "file", f"folder not found: {file.parent}")
    if file.exists() and not overwrite:
        raise InvalidInput(scheme, "file", f"{file} exists already: choose another file, or add --overwrite")
