"""The filters that `perdure list` and the bulk commands have in common."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from perdure.errors import InvalidInput
from perdure.registry import IdentifierQuery


class StateFilter(StrEnum):
    """The states of an identifier."""

    reserved = "reserved"
    active = "active"
    withdrawn = "withdrawn"
    merged = "merged"


class SchemeFilter(StrEnum):
    """The schemes of names."""

    handle = "handle"
    ibi = "ibi"
    ppid = "ppid"


Under = Annotated[
    str | None,
    typer.Option(metavar="PREFIX", help="Names under this prefix, or that begin with this: 12345, or 12345/thesis-."),
]
State = Annotated[
    StateFilter | None, typer.Option(metavar="STATE", help="State: reserved, active, withdrawn or merged.")
]
Scheme = Annotated[SchemeFilter | None, typer.Option(metavar="SCHEME", help="Scheme: handle, ibi or ppid.")]
Creator = Annotated[str | None, typer.Option(metavar="ID", help="Creator: an agent, or an identifier.")]
Owner = Annotated[str | None, typer.Option(metavar="ID", help="Owner, or creator if there is no owner.")]
CreatedSince = Annotated[str | None, typer.Option(metavar="DATE", help="Created at this date (UTC) or later.")]
CreatedBefore = Annotated[str | None, typer.Option(metavar="DATE", help="Created before this date.")]
ChangedSince = Annotated[str | None, typer.Option(metavar="DATE", help="Last changed at this date or later.")]
ChangedBefore = Annotated[str | None, typer.Option(metavar="DATE", help="Last changed before this date.")]
TargetBegins = Annotated[str | None, typer.Option(metavar="URL", help="A URL of the record begins with this.")]
TargetContains = Annotated[str | None, typer.Option(metavar="TEXT", help="A URL of the record contains this.")]
ValueType = Annotated[str | None, typer.Option("--type", metavar="TYPE", help="The record has a value of this type.")]
ContainedText = Annotated[
    str | None, typer.Option("--text", metavar="TEXT", help="The name, a value or the description contains this.")
]


def build_query(filters: Mapping[str, Any]) -> IdentifierQuery:
    """Build a query from the filters of a command; other parameters of the command are ignored."""
    fields = {field: filters.get(field) for field in IdentifierQuery.__struct_fields__} | {"prefix": filters["under"]}
    try:
        return msgspec.convert({name: str(text) for name, text in fields.items() if text is not None}, IdentifierQuery)
    except msgspec.ValidationError as problem:
        reason, _, where = str(problem).rpartition(" - at `$.")
        raise InvalidInput("query", where.rstrip("`") or "query", f"{where.rstrip('`')}: {reason}") from None
