"""Results of recognition: which scheme a text belongs to, whether it is valid, and its decoded parts."""

from dataclasses import dataclass
from typing import Final, Never

from perdure.errors import InvalidName

Detail = str | int | tuple[str, ...]

UNKNOWN: Final = "unknown"


class Details(dict[str, Detail]):
    """The decoded parts: a dict, so that every JSON writer accepts it, but immutable."""

    def _refuse(self, *_args: object, **_kwargs: object) -> Never:
        raise TypeError("details cannot be changed")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type["Details"], tuple[dict[str, Detail]]]:
        return Details, (dict(self),)


@dataclass(frozen=True, slots=True)
class Recognition:
    """One interpretation of a text, more likely than each of its `alternatives`.

    `canonical` is the canonical spelling, or None if the name is invalid. `details` contains everything that could be
    decoded. For an invalid name it also has the `part` that is wrong and, if only one name can be meant, a
    `suggestion`. `alternatives` are the other interpretations, the most likely first.
    """

    scheme: str
    canonical: str | None
    valid: bool
    reason: str
    details: Details
    alternatives: tuple["Recognition", ...] = ()

    def with_alternatives(self, others: tuple["Recognition", ...]) -> "Recognition":
        return Recognition(self.scheme, self.canonical, self.valid, self.reason, self.details, others)


def valid_recognition(scheme: str, canonical: str, reason: str, **details: Detail) -> Recognition:
    return Recognition(scheme, canonical, True, reason, Details(details))


def invalid_recognition(
    scheme: str, part: str, reason: str, suggestion: str | None = None, **details: Detail
) -> Recognition:
    details["part"] = part
    if suggestion is not None:
        details["suggestion"] = suggestion
    return Recognition(scheme, None, False, reason, Details(details))


def recognition_of_error(problem: InvalidName, **details: Detail) -> Recognition:
    return invalid_recognition(problem.scheme, problem.part, problem.reason, problem.suggestion, **details)
