"""A filter of the values of a record by type and by index, fast also for large records."""

from collections.abc import Iterable
from typing import Final

import msgspec

from perdure.http.shared.http_errors import MalformedRequest
from perdure.records.value import Value

MOST_TYPES: Final = 64
MOST_INDEXES: Final = 2_048
_SUBTYPES: Final = "."


class ValueFilter(msgspec.Struct, frozen=True):
    """The requested types and indexes. `families` are types that end in a dot: each matches itself and its subtypes."""

    types: frozenset[str] = frozenset()
    families: tuple[str, ...] = ()
    indexes: frozenset[int] = frozenset()

    @property
    def restricts(self) -> bool:
        return bool(self.types or self.families or self.indexes)

    def select(self, values: Iterable[Value]) -> list[Value]:
        """Return the values with one of the types or indexes; all values if neither is given."""
        return [value for value in values if self._matches(value)] if self.restricts else list(values)

    def _matches(self, value: Value) -> bool:
        if value.index in self.indexes:
            return True
        kind = value.kind
        return kind in self.types or f"{kind}{_SUBTYPES}".startswith(self.families)


ALL_VALUES: Final = ValueFilter()


def build_value_filter(types: Iterable[str], indexes: Iterable[int]) -> ValueFilter:
    """Return a filter. Raise MalformedRequest for too many types, because each is compared with every value."""
    kinds, numbers = {text.upper() for text in types}, frozenset(indexes)
    check_count(len(kinds), MOST_TYPES, "types")
    check_count(len(numbers), MOST_INDEXES, "indexes")
    families = frozenset(kind for kind in kinds if kind.endswith(_SUBTYPES))
    return ValueFilter(frozenset(kinds - families), tuple(families), numbers)


def check_count(count: int, most: int, items: str) -> None:
    """Raise MalformedRequest for more items than one request may name."""
    if count > most:
        raise MalformedRequest(
            f"too many {items}: at most {most} different ones are allowed in one request, not {count}"
        )
