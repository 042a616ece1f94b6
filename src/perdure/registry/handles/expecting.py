"""What a client takes a handle for when it writes: a version that it has read, or nothing that is there yet."""

from collections.abc import Sequence
from typing import NamedTuple

from perdure.errors import Conflict
from perdure.registry.handles.place import Place


class Expected(NamedTuple):
    """One of these versions (None: whichever), or with `is_wanted` false none of them."""

    versions: frozenset[int] | None
    is_wanted: bool = True

    def __str__(self) -> str:
        if self.versions is None:
            return "some version" if self.is_wanted else "nothing there"
        listed = " or ".join(map(str, sorted(self.versions))) or "that nothing has"
        return f"{'version' if self.is_wanted else 'any but version'} {listed}"


def check_expected(place: Place, expected: Sequence[Expected]) -> None:
    """Conflict, if one of them does not hold for what Handle clients find at this place.

    The record of a prefix is always there. It also tells of grants, so no version stands for all that it says.
    """
    is_there, version = place.of_prefix is not None, None
    if not is_there and place.row is not None and place.row.state == "active":
        is_there, version = True, place.row.version
    for one in expected:
        is_one = is_there if one.versions is None else version in one.versions
        if is_one is not one.is_wanted:
            found = "nothing" if not is_there else "a record" if version is None else f"version {version}"
            raise Conflict(place.name, str(one), found)
