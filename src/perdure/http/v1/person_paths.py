"""Which addresses are about a person: the first segment decides, which is the identifier itself."""

from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.http.v1.asking import ROOT, read_name
from perdure.names import ppid

VALIDATE: Final = "/{ppid}/validate"
_BEGINNINGS: Final = tuple(f"{kind}-" for kind in ppid.TYPES)


class PersonPath(NamedTuple):
    """The path as the document has it; and the address of the same with the identifier spelt right, if it is not."""

    path: str
    right: str | None


def person_path(below: str) -> PersonPath | None:
    """What is asked of a person, if this begins as their identifiers do. Any text at all can be validated."""
    segment, slash, rest = below[1:].partition("/")
    path = f"/{{ppid}}{slash}{rest}"
    if path == VALIDATE and segment:
        return PersonPath(path, None)
    text = read_segment(segment)
    if not text.upper().startswith(_BEGINNINGS):
        return None
    right = ppid.canonical(text) if ppid.validate_ppid(text) else segment
    return PersonPath(path, None if right == segment else f"{ROOT}/{right}{slash}{rest}")


def read_segment(segment: str) -> str:
    """Decoded; as it stands, where it cannot be."""
    try:
        return read_name(segment)
    except InvalidName:
        return segment
