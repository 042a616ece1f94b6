"""What is said of a text that may be an identifier."""

from dataclasses import dataclass
from typing import Final, Never

from perdure.errors import InvalidName

Detail = str | int | tuple[str, ...]

UNKNOWN: Final = "unknown"


class Details(dict[str, Detail]):
    """What could be decoded: a dict, so that every JSON writer takes it, but one that nobody can change."""

    def _refuse(self, *_args: object, **_kwargs: object) -> Never:
        raise TypeError("details cannot be changed")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type["Details"], tuple[dict[str, Detail]]]:
        return Details, (dict(self),)


@dataclass(frozen=True, slots=True)
class Recognition:
    """One reading of a text, the likeliest of its `alternatives`.

    `canonical` is the name as it should be written, None where there is no valid one. `details` holds everything
    that could be decoded; of a name that is wrong also the `part` to blame and, where only one name can be meant, a
    `suggestion`. `alternatives` are the other readings, the likeliest first.
    """

    scheme: str
    canonical: str | None
    valid: bool
    reason: str
    details: Details
    alternatives: tuple["Recognition", ...] = ()

    def with_alternatives(self, others: tuple["Recognition", ...]) -> "Recognition":
        return Recognition(self.scheme, self.canonical, self.valid, self.reason, self.details, others)


def valid(scheme: str, canonical: str, reason: str, **details: Detail) -> Recognition:
    return Recognition(scheme, canonical, True, reason, Details(details))


def invalid(scheme: str, part: str, reason: str, suggestion: str | None = None, **details: Detail) -> Recognition:
    details["part"] = part
    if suggestion is not None:
        details["suggestion"] = suggestion
    return Recognition(scheme, None, False, reason, Details(details))


def refused(problem: InvalidName, **details: Detail) -> Recognition:
    return invalid(problem.scheme, problem.part, problem.reason, problem.suggestion, **details)
