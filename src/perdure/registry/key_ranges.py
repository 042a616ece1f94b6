"""Reading the names whose keys begin in one of several ways, such as those of all label prefixes of a subsystem."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def read_ranges(
    read: Callable[[str, int, str | None], list[T]], after: str, limit: int, beginnings: Sequence[str] | None
) -> list[T]:
    """Read what follows `after`, in the order of keys. None stands for all names.

    The beginnings are in the order of keys, and none of them begins with another. Fewer than `limit` are the last ones.
    """
    if beginnings is None:
        return read(after, limit, None)
    found: list[T] = []
    for beginning in beginnings:
        if len(found) < limit:
            found += read(after, limit - len(found), beginning)
    return found
