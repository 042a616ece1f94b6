"""Preconditions of a write: the versions that a Handle client has read, or that the handle does not exist yet.

The path of an If-Match or If-None-Match header: `http` parses it into `Precondition` objects and passes them to the use
case. They travel unchanged to `write_handle.HandleWrite`, which checks them inside the write transaction, after the
permissions and immediately before anything is written. An unmet one raises Conflict, which `http` turns into 412. An
earlier check could be outdated by a concurrent write.
"""

from collections.abc import Sequence
from typing import NamedTuple

from perdure.errors import Conflict
from perdure.registry.handles.handle_slot import HandleSlot


class Precondition(NamedTuple):
    """A condition on the version of a handle: one of these (None: any), or with `must_match` false none of them."""

    versions: frozenset[int] | None
    must_match: bool = True

    def __str__(self) -> str:
        if self.versions is None:
            return "any version" if self.must_match else "no record"
        listed = " or ".join(map(str, sorted(self.versions))) or "of no record"
        return f"{'version' if self.must_match else 'no version'} {listed}"


def check_preconditions(slot: HandleSlot, expected: Sequence[Precondition]) -> None:
    """Raise Conflict if one of them does not hold for what Handle clients find in this slot.

    The record of a prefix always exists. It also shows grants, so no version identifies its whole content.
    """
    exists, version = slot.of_prefix is not None, None
    if not exists and slot.row is not None and slot.row.state == "active":
        exists, version = True, slot.row.version
    for condition in expected:
        is_match = exists if condition.versions is None else version in condition.versions
        if is_match is not condition.must_match:
            actual = "nothing" if not exists else "a record" if version is None else f"version {version}"
            raise Conflict(slot.name, str(condition), actual)
