"""Options for the values and the description of an identifier."""

import re
from typing import Annotated, Final

import typer

from perdure.errors import InvalidInput, quote_text
from perdure.records.record import About
from perdure.records.validation import find_free_index
from perdure.records.value import Text, Value, stated_ttl

_VALUE: Final = re.compile(r"(?:([0-9]{1,10}):)?([^=]+)=(.*)", re.DOTALL)

Values = Annotated[
    list[str] | None,
    typer.Option("--value", metavar="[INDEX:]TYPE=DATA", help="Value, as in EMAIL=a@example.org. Repeatable."),
]
Who = Annotated[
    str | None, typer.Option(metavar="NAME", help="Description: author or creator, for landing pages and citations.")
]
What = Annotated[str | None, typer.Option(metavar="TITLE", help="Description: title.")]
When = Annotated[str | None, typer.Option(metavar="DATE", help="Description: date.")]
Where = Annotated[str | None, typer.Option(metavar="TEXT", help="Description: publisher or repository.")]
Ttl = Annotated[
    int | None,
    typer.Option(
        metavar="SECONDS",
        min=0,
        help="TTL: how long Handle clients may cache the target and the values. Default: that of the value that is "
        "replaced, or of the prefix (perdure prefix change --ttl), or a day.",
    ),
]
Reason = Annotated[str, typer.Option(metavar="TEXT", help="Reason. It is public.")]
Version = Annotated[
    int | None,
    typer.Option("--if-version", metavar="N", help="Fail unless this is the current version: prevents lost updates."),
]


def parse_values(texts: list[str] | None, taken: int = 1, ttl: int | None = None) -> tuple[Value, ...]:
    """Parse values. Those without an index get the next free indexes after that of the target."""
    parsed: list[tuple[int | None, str, str]] = []
    for text in texts or ():
        match = _VALUE.fullmatch(text)
        if match is None:
            raise InvalidInput(
                "record", "value", f"{quote_text(text)} is not a value: write TYPE=DATA or INDEX:TYPE=DATA"
            )
        parsed.append((int(match[1]) if match[1] else None, match[2], match[3]))
    used = {taken, *(index for index, _, _ in parsed if index is not None)}
    values = []
    for index, kind, data in parsed:
        if index is None:
            index = find_free_index(used)
            used.add(index)
        values.append(Value(index, kind, Text(data), ttl=stated_ttl(ttl)))
    return tuple(values)


def has_index(text: str) -> bool:
    """Return whether a value has an index."""
    match = _VALUE.fullmatch(text)
    return match is not None and match[1] is not None


def build_about(who: str | None, what: str | None, when: str | None, where: str | None) -> About | None:
    about = About(who, what, when, where)
    return None if about == About() else about
