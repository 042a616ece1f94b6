"""Options of the commands for collections, and how they print an item."""

from typing import Annotated, Any, Protocol

import msgspec
import typer

from perdure.cli.terminal import escape_control, to_json
from perdure.registry.holdings import Collection, Holding

Label = Annotated[str, typer.Argument(metavar="LABEL", help="Name of the item, in any form.")]
CollectionName = Annotated[str, typer.Argument(metavar="COLLECTION", help="Name of the collection.")]
Origin = Annotated[str, typer.Argument(metavar="FROM", help="Collection that has the item.")]
Destination = Annotated[str, typer.Argument(metavar="TO", help="Collection that gets it.")]


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_text(1, "file"), count_text(12000, "file")
    ('1 file', '12,000 files')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class StoredContent(Protocol):
    """A version of an item, in numbers."""

    @property
    def version(self) -> int: ...
    @property
    def files(self) -> int: ...
    @property
    def size(self) -> int: ...


def content_text(holding: StoredContent) -> str:
    """Return the version of a holding and what it contains, as one phrase."""
    return f"version {holding.version}, {count_text(holding.files, 'file')}, {count_text(holding.size, 'byte')}"


def holding_fields(holding: Holding) -> dict[str, Any]:
    """Return the JSON object of a holding."""
    return dict(msgspec.to_builtins(holding))


def collection_fields(collection: Collection) -> dict[str, Any]:
    """Return the JSON object of a collection."""
    return dict(msgspec.to_builtins(collection))


def print_holding(holding: Holding, text: str, as_json: bool) -> None:
    """Print what a collection holds now, as a sentence or as JSON."""
    typer.echo(to_json(holding_fields(holding)) if as_json else escape_control(text))
