"""Which of the values of a record a reader is sent to."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.errors import PerdureError
from perdure.http.message import Request
from perdure.http.resolving.asked import Asked
from perdure.http.resolving.forms import roles
from perdure.http.resolving.locations import Chooser, written
from perdure.records.checks import Limits, check_target
from perdure.records.locations import Location, read_locations
from perdure.records.record import Record
from perdure.records.value import Value

_URL: Final = "URL"
_SUBTYPES: Final = "URL."
_LEGACY: Final = {"mode": "legacy"}  # what Handle servers call an address that is no location


class Choice(NamedTuple):
    """Where to, for how long, and by which status."""

    target: str
    ttl: int | str
    status: int = 302


def choose(request: Request, record: Record, asked: Asked, limits: Limits) -> Choice | None:
    """Locations before addresses; of the addresses the first, those of a plain URL before those of its subtypes."""
    values = asked.values.of(value for value in record.values if value.is_public)
    chooser = Chooser(asked.attributes, roles(request))
    for value in values:
        locations = read_locations(value, limits)
        chosen = None if locations is None else chooser.choose(locations)
        if chosen is not None:
            return Choice(chosen.href, value.ttl, chosen.status)
    first = next(iter(_addresses(values, limits)), None)
    return None if first is None else Choice(first.text or "", first.ttl)


def chooses_forms(record: Record, asked: Asked, limits: Limits) -> bool:
    """Whether the record has locations, and these are for who asks for a certain form, or the link names one."""
    for value in asked.values.of(value for value in record.values if value.is_public):
        locations = read_locations(value, limits)
        if locations is not None:
            return bool(asked.attributes) or locations.serve_forms
    return False


def listed(record: Record, asked: Asked, limits: Limits) -> bytes:
    """All places that the record names, as XML."""
    values = asked.values.of(value for value in record.values if value.is_public)
    found: list[Location] = []
    for value in values:
        locations = read_locations(value, limits)
        found.extend(locations.all if locations else ())
    found.extend(Location(value.text or "", _LEGACY) for value in _addresses(values, limits))
    return written(found)


def _addresses(values: Sequence[Value], limits: Limits) -> list[Value]:
    plain = [value for value in values if value.kind == _URL]
    subtypes = [value for value in values if value.kind.startswith(_SUBTYPES)]
    return [value for value in (*plain, *subtypes) if _can_be_followed(value.text, limits)]


def _can_be_followed(text: str | None, limits: Limits) -> bool:
    """Subtypes are not checked when they are written, and the settings may have become stricter since."""
    try:
        return bool(text and check_target(text, limits))
    except PerdureError:
        return False
