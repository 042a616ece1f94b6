"""Which of the values of a record a reader is sent to."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.http import answers
from perdure.http.message import Request
from perdure.http.negotiation import best, languages, ranges
from perdure.http.resolving.asked import Asked
from perdure.http.resolving.forms import roles
from perdure.http.resolving.locations import Chooser, written
from perdure.http.resolving.places import target_link
from perdure.records.checks import Limits
from perdure.records.locations import Location, read_locations
from perdure.records.record import Record
from perdure.records.value import Value

_URL: Final = "URL"
_SUBTYPES: Final = "URL."
_WITH_LANGUAGE: Final = answers.VARY + b", accept-language"
_LEGACY: Final = {"mode": "legacy"}  # what Handle servers call an address that is no location


class Choice(NamedTuple):
    """Where to, for how long, by which status, and which headers had a say in it."""

    target: str
    ttl: int | str
    status: int = 302
    vary: bytes = answers.VARY


def choose(request: Request, record: Record, asked: Asked, limits: Limits) -> Choice | None:
    """Locations before addresses; of the addresses the first, those of a plain URL before those of its subtypes."""
    values = asked.values.of(value for value in record.values if value.is_public)
    chooser = Chooser(
        asked.attributes,
        roles(request),
        ranges(request.header_list(b"accept")),
        languages(request.header_list(b"accept-language")),
    )
    for value in values:
        locations = read_locations(value, limits)
        chosen = None if locations is None else chooser.choose(locations)
        if locations is not None and chosen is not None:
            vary = _WITH_LANGUAGE if locations.speak else answers.VARY
            return Choice(chosen.href, value.ttl, chosen.status, vary)
    first = next(iter(_addresses(values, limits)), None)
    return None if first is None else Choice(first.text or "", first.ttl)


def chooses_forms(record: Record, asked: Asked, limits: Limits, accept: str, media: str) -> bool:
    """Whether the record has locations for who asks for this form, or for one that is liked better; or the link says.

    Those for who asks for a certain form, whichever, are for this one too.
    """
    for value in asked.values.of(value for value in record.values if value.is_public):
        locations = read_locations(value, limits)
        if locations is not None:
            is_served = best(accept, (*locations.medias, media)) in locations.medias
            return bool(asked.attributes) or locations.serve_forms or is_served
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
    # Subtypes are not checked when they are written, and targets may have been written before a check was stricter.
    return [value for value in (*plain, *subtypes) if value.text and target_link(value.text, limits)]
