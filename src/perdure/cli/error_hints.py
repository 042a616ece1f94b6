"""Commands and options that help after an error. Only the command line shows these hints."""

from typing import Final

from perdure.errors import (
    ClockBehind,
    ClockUnconfirmed,
    CountUnknown,
    InvalidInput,
    NoSuchBulkChange,
    NoSuchPrefix,
    NoTarget,
    PerdureError,
    StoreBehind,
)

_BY_KIND: Final[dict[type[PerdureError], str]] = {
    NoSuchBulkChange: "perdure bulk list",
    NoSuchPrefix: "perdure prefix list",
    NoTarget: "perdure show",
    ClockBehind: "perdure prefix reset --help",
    ClockUnconfirmed: "perdure recover --help",
    CountUnknown: "perdure prefix reset --help",
    StoreBehind: "perdure recover --help",
}
_BY_PART: Final = {
    ("mint", "suffix"): "perdure mint --help",
    ("mint", "prefix"): "perdure mint --help",
    ("agent", "agent"): "perdure agent list",
}


def with_hint(problem: PerdureError, program: str = "perdure") -> str:
    """Return the message of an error, with the command that helps. `program` calls this program."""
    hint = _BY_KIND.get(type(problem))
    if isinstance(problem, InvalidInput):
        hint = _BY_PART.get((problem.scheme, problem.part))
    return f"{problem} (see: {hint.replace('perdure', program, 1)})" if hint else str(problem)
