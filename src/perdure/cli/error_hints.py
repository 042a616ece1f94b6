"""Commands and options that help after an error. Only the command line shows these hints."""

from typing import Final

from perdure.errors import (
    ClockBehind,
    ClockUnconfirmed,
    CountUnknown,
    InvalidInput,
    NoSuchBulkChange,
    NoSuchCollection,
    NoSuchPrefix,
    NoTarget,
    PerdureError,
    StoreBehind,
)

# By the code of the error, which an error that a server reports has, too.
_BY_CODE: Final[dict[str, str]] = {
    NoSuchBulkChange.code: "perdure bulk list",
    NoSuchCollection.code: "perdure collection list",
    NoSuchPrefix.code: "perdure prefix list",
    NoTarget.code: "perdure show",
    ClockBehind.code: "perdure prefix reset --help",
    ClockUnconfirmed.code: "perdure recover --help",
    CountUnknown.code: "perdure prefix reset --help",
    StoreBehind.code: "perdure recover --help",
}
_BY_PART: Final = {
    ("mint", "suffix"): "perdure mint --help",
    ("mint", "prefix"): "perdure mint --help",
    ("agent", "agent"): "perdure agent list",
}


def with_hint(problem: PerdureError, program: str = "perdure") -> str:
    """Return the message of an error, with the command that helps. `program` calls this program."""
    hint = _BY_CODE.get(problem.code)
    if isinstance(problem, InvalidInput):
        hint = _BY_PART.get((problem.scheme, problem.part))
    return f"{problem} (see: {hint.replace('perdure', program, 1)})" if hint else str(problem)
