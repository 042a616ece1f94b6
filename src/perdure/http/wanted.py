"""Which values of a record somebody asks for, by type and by index: quick, however large the record is."""

from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.http.refusals import Malformed
from perdure.records.value import Value

MOST_TYPES: Final = 64
MOST_INDEXES: Final = 2_048
_SUBTYPES: Final = "."


class Wanted(msgspec.Struct, frozen=True):
    """`families` are types that end in a dot: each stands for itself and all below it."""

    types: frozenset[str] = frozenset()
    families: tuple[str, ...] = ()
    indexes: frozenset[int] = frozenset()

    @property
    def restricts(self) -> bool:
        return bool(self.types or self.families or self.indexes)

    def of(self, values: Iterable[Value]) -> list[Value]:
        """The values of these types and those with these indexes; all of them, if neither is said."""
        return [value for value in values if self._has(value)] if self.restricts else list(values)

    def _has(self, value: Value) -> bool:
        if value.index in self.indexes:
            return True
        kind = value.kind
        return kind in self.types or f"{kind}{_SUBTYPES}".startswith(self.families)


ALL: Final = Wanted()


def wanted(types: Iterable[str], indexes: Iterable[int]) -> Wanted:
    """What was asked for; Malformed, if it is more than anybody needs: each type is compared with every value."""
    kinds, numbers = {text.upper() for text in types}, frozenset(indexes)
    check_number(len(kinds), MOST_TYPES, "types")
    check_number(len(numbers), MOST_INDEXES, "indexes")
    families = frozenset(kind for kind in kinds if kind.endswith(_SUBTYPES))
    return Wanted(frozenset(kinds - families), tuple(families), numbers)


def check_number(found: int, most: int, of_what: str) -> None:
    if found > most:
        raise Malformed(f"at most {most} different {of_what} can be asked for at once, and these are {found}")
