"""The selection of the value of a record to which a reader is redirected."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.http.resolver.location_choice import LocationChooser, format_locations_xml
from perdure.http.resolver.resolver_parameters import ResolverParameters
from perdure.http.shared.negotiation import best_media_type, parse_accept, parse_accept_language
from perdure.http.shared.preferred_representation import client_roles
from perdure.http.shared.request import Request
from perdure.http.shared.responses import VARY
from perdure.http.urls import target_link
from perdure.records.locations import Location, read_locations
from perdure.records.record import Record
from perdure.records.validation import Limits
from perdure.records.value import Value

_URL: Final = "URL"
_SUBTYPES: Final = "URL."
_WITH_LANGUAGE: Final = VARY + b", accept-language"
_LEGACY: Final = {"mode": "legacy"}  # the attribute of Handle servers for a URL that is not a location


class Target(NamedTuple):
    """A target, the status of the redirect, and the headers that the selection depends on."""

    target: str
    status: int = 302
    vary: bytes = VARY


def choose_target(request: Request, record: Record, parameters: ResolverParameters, limits: Limits) -> Target | None:
    """Return the target for a request: locations before URLs, plain URLs before their subtypes, then the first."""
    values = parameters.values.select(value for value in record.values if value.is_public)
    chooser = LocationChooser(
        parameters.attributes,
        client_roles(request),
        parse_accept(request.header_list(b"accept")),
        parse_accept_language(request.header_list(b"accept-language")),
    )
    for value in values:
        locations = read_locations(value, limits)
        chosen = None if locations is None else chooser.choose(locations)
        if locations is not None and chosen is not None:
            vary = _WITH_LANGUAGE if locations.has_languages else VARY
            return Target(chosen.href, chosen.status, vary)
    first = next(iter(_url_values(values, limits)), None)
    return None if first is None else Target(first.text or "")


def has_locations_for(record: Record, parameters: ResolverParameters, limits: Limits, accept: str, media: str) -> bool:
    """Return whether the record has locations for this media type, or for one that the client prefers.

    Locations for clients that negotiate any media type count too, and so do attributes in the query.
    """
    for value in parameters.values.select(value for value in record.values if value.is_public):
        locations = read_locations(value, limits)
        if locations is not None:
            is_served = best_media_type(accept, (*locations.media_types, media)) in locations.media_types
            return bool(parameters.attributes) or locations.has_negotiated_locations or is_served
    return False


def list_locations_xml(record: Record, parameters: ResolverParameters, limits: Limits) -> bytes:
    """Return all locations and URLs of a record as XML."""
    values = parameters.values.select(value for value in record.values if value.is_public)
    found: list[Location] = []
    for value in values:
        locations = read_locations(value, limits)
        found.extend(locations.all if locations else ())
    found.extend(Location(value.text or "", _LEGACY) for value in _url_values(values, limits))
    return format_locations_xml(found)


def _url_values(values: Sequence[Value], limits: Limits) -> list[Value]:
    plain = [value for value in values if value.kind == _URL]
    subtypes = [value for value in values if value.kind.startswith(_SUBTYPES)]
    # Subtypes are not checked when they are written, and targets may have been written before a check was stricter.
    found = (value for value in (*plain, *subtypes) if not value.verbatim)
    return [value for value in found if value.text and target_link(value.text, limits, allows_blanks=True)]
