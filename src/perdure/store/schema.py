"""Compare the parts of a schema (tables, indexes, triggers and all others) with those that it should have."""

from collections.abc import Iterable
from typing import Final

_LONGEST_NAME: Final = 200

Part = tuple[str, str]  # what it is and how it is called; its definition


def list_differences(found: Iterable[Part], expected: Iterable[Part]) -> list[str]:
    """Return which parts are extra, missing or different, each by its name."""
    there, wanted = _group_parts(found), _group_parts(expected)
    return [
        f"{ascii(name)[1:-1][:_LONGEST_NAME]} {_describe_difference(there.get(name), wanted.get(name))}"
        for name in sorted(there.keys() | wanted.keys())
        if there.get(name) != wanted.get(name)
    ]


def _group_parts(parts: Iterable[Part]) -> dict[str, list[str]]:
    """Return the definitions by name: a damaged catalogue may hold one name twice."""
    groups: dict[str, list[str]] = {}
    for name, definition in sorted(parts):
        groups.setdefault(name, []).append(definition)
    return groups


def _describe_difference(found: list[str] | None, expected: list[str] | None) -> str:
    if found is None:
        return "is missing"
    return "does not belong there" if expected is None else "is not as it should be"
