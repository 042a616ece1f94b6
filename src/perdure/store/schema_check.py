"""Compare the parts of a schema (tables, indexes, triggers and all others) with those that it should have."""

from collections.abc import Iterable
from typing import Final

SCHEMA_DIGEST: Final = "schema.digest"  # the file with the digest of the last correct schema on a server
_LONGEST_NAME: Final = 200

Part = tuple[str, str]  # its kind and name; its definition


def list_differences(actual: Iterable[Part], expected: Iterable[Part]) -> list[str]:
    """Return which parts are extra, missing or different, each by its name."""
    present, required = _group_parts(actual), _group_parts(expected)
    return [
        f"{ascii(name)[1:-1][:_LONGEST_NAME]} {_describe_difference(present.get(name), required.get(name))}"
        for name in sorted(present.keys() | required.keys())
        if present.get(name) != required.get(name)
    ]


def _group_parts(parts: Iterable[Part]) -> dict[str, list[str]]:
    """Return the definitions by name: a damaged catalogue may hold one name twice."""
    groups: dict[str, list[str]] = {}
    for name, definition in sorted(parts):
        groups.setdefault(name, []).append(definition)
    return groups


def _describe_difference(actual: list[str] | None, expected: list[str] | None) -> str:
    if actual is None:
        return "is missing"
    return "is not expected" if expected is None else "differs"
