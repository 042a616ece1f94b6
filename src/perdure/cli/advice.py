"""What to type next, where an error has a command or an option that helps. Other doors have none of these."""

from typing import Final

from perdure.errors import (
    ClockBehind,
    ClockUnconfirmed,
    CountUnknown,
    InvalidInput,
    NoSuchPrefix,
    NoTarget,
    PerdureError,
    StoreBehind,
)

_BY_KIND: Final[dict[type[PerdureError], str]] = {
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
    ("import", "columns"): "perdure person import --help: --map, --set, --delimiter",
}


def advised(problem: PerdureError) -> str:
    """What went wrong, and where to look."""
    where = _BY_KIND.get(type(problem))
    if isinstance(problem, InvalidInput):
        where = _BY_PART.get((problem.scheme, problem.part))
    return f"{problem} (see: {where})" if where else str(problem)
