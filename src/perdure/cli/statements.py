"""What a person says of an identifier on the command line: values and descriptions."""

import re
from typing import Annotated, Final

import typer

from perdure.errors import InvalidInput, shown
from perdure.records.checks import free_index
from perdure.records.record import About
from perdure.records.value import Text, Value

_VALUE: Final = re.compile(r"(?:([0-9]{1,10}):)?([^=]+)=(.*)", re.DOTALL)

Values = Annotated[
    list[str] | None,
    typer.Option(
        "--value", metavar="[INDEX:]TYPE=DATA", help="A value, as in EMAIL=a@example.org; may be given many times."
    ),
]
Who = Annotated[str | None, typer.Option(help="Description, for landing pages and citations: who made the thing.")]
What = Annotated[str | None, typer.Option(help="Description: its title.")]
When = Annotated[str | None, typer.Option(help="Description: its date.")]
Where = Annotated[str | None, typer.Option(help="Description: where it was published, or is kept.")]
Why = Annotated[str, typer.Option(help="Why. The reason is public.")]
Version = Annotated[
    int | None,
    typer.Option(
        "--if-version", help="Only if the identifier is at this version: two editors never overwrite each other."
    ),
]


def read_values(texts: list[str] | None, taken: int = 1) -> tuple[Value, ...]:
    """The values that were given; those without an index get the next free ones after the target's."""
    parsed: list[tuple[int | None, str, str]] = []
    for text in texts or ():
        match = _VALUE.fullmatch(text)
        if match is None:
            raise InvalidInput("record", "value", f"{shown(text)} is no value: write TYPE=DATA, or INDEX:TYPE=DATA")
        parsed.append((int(match[1]) if match[1] else None, match[2], match[3]))
    used = {taken, *(index for index, _, _ in parsed if index is not None)}
    values = []
    for index, kind, data in parsed:
        if index is None:
            index = free_index(used)
            used.add(index)
        values.append(Value(index, kind, Text(data)))
    return tuple(values)


def has_index(text: str) -> bool:
    """Whether a value says which one it is."""
    match = _VALUE.fullmatch(text)
    return match is not None and match[1] is not None


def read_about(who: str | None, what: str | None, when: str | None, where: str | None) -> About | None:
    about = About(who, what, when, where)
    return None if about == About() else about
