"""Paths of persons, which have the identifier as their first segment."""

from typing import Final, NamedTuple

from perdure.errors import InvalidName
from perdure.http.api.request_context import decode_name
from perdure.http.shared.api_roots import API_ROOT
from perdure.names import ppid

VALIDATE: Final = "/{ppid}/validate"
_PPID_STARTS: Final = tuple(f"{kind}-" for kind in ppid.TYPES)


class PersonPath(NamedTuple):
    """A path template; and the path with the canonical spelling of the identifier, if that differs."""

    path: str
    canonical: str | None


def parse_person_path(below: str) -> PersonPath | None:
    """Parse the path of a person; None if it does not start like a PPID. Any text can be validated."""
    segment, slash, rest = below[1:].partition("/")
    path = f"/{{ppid}}{slash}{rest}"
    if path == VALIDATE and segment:
        return PersonPath(path, None)
    text = decode_segment(segment)
    if not text.upper().startswith(_PPID_STARTS):
        return None
    canonical = ppid.canonical(text) if ppid.validate_ppid(text) else segment
    return PersonPath(path, None if canonical == segment else f"{API_ROOT}/{canonical}{slash}{rest}")


def decode_segment(segment: str) -> str:
    """Decode a segment. Return it unchanged if it is invalid."""
    try:
        return decode_name(segment)
    except InvalidName:
        return segment
