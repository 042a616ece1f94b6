"""Targets of a record, and its entries in the indexes for reverse look-up and full-text search."""

from collections.abc import Iterator
from typing import Final

from perdure.records.location_xml import LOCATIONS
from perdure.records.person import Observation, Reconstruction
from perdure.records.record import Record
from perdure.records.value import ALIAS

# If a record has one of these types, its URL value does not decide alone: the resolver has to choose.
_CHOOSING: Final = frozenset({LOCATIONS, ALIAS})
# Values that reverse look-up finds by their exact data.
REVERSE_TYPES: Final = frozenset({"URL", "CHECKSUM", "EMAIL", ALIAS})
_LONGEST_FULL_TEXT: Final = 65_536


def plain_target(record: Record) -> str | None:
    """Return the address to redirect to, if the record has no other values that decide about it."""
    if record.state != "active" or record.restriction is not None:
        return None
    target = None
    for value in record.values:
        if value.type.upper() in _CHOOSING:
            return None
        if target is None and value.is_url and value.is_public and not value.verbatim:
            target = value.text
    return target


def first_url(record: Record) -> str | None:
    """Return the first public URL value, whatever other values there are. A restricted person has none.

    A value that was imported verbatim is not an address.
    """
    if record.restriction is not None:
        return None
    return next(
        (value.text for value in record.values if value.is_url and value.is_public and not value.verbatim), None
    )


def first_stored_url(record: Record) -> str | None:
    """Return the first public URL value; if no value is a valid address, the first that was imported verbatim."""
    url = first_url(record)
    if url is not None or record.restriction is not None:
        return url
    return next((value.text for value in record.values if value.is_url and value.is_public), None)


def reverse_entries(record: Record) -> tuple[tuple[str, str], ...]:
    """Return (type, data) of every public value for reverse look-up. A withdrawn identifier has none."""
    if record.state != "active" or record.restriction is not None:
        return ()
    entries = []
    for value in record.values:
        kind = value.type.upper()
        if kind in REVERSE_TYPES and value.is_public and (text := value.text):
            entries.append((kind, text))
    if record.reconstruction is not None:
        entries.extend((link.scheme.upper(), link.value) for link in record.reconstruction.links)
    return tuple(entries) if len(entries) < 2 else tuple(dict.fromkeys(entries))


def full_text(name: str, record: Record) -> str:
    """Return all public text of a record, for the full-text index."""
    if record.restriction is not None:
        return name
    parts = [name, record.alias]
    parts.extend([value.text for value in record.values if value.is_public])
    if (about := record.about) is not None:
        parts += (about.who, about.what, about.when, about.where)
    if record.observation is not None:
        parts.extend(_observation_words(record.observation))
    if record.reconstruction is not None:
        parts.extend(_reconstruction_words(record.reconstruction))
    return "\n".join(filter(None, parts))[:_LONGEST_FULL_TEXT]


def _observation_words(observation: Observation) -> Iterator[str | None]:
    yield from (observation.source_url, observation.source_name, observation.holding_archive)
    yield from (str(claim.value) for claim in sorted(observation.claims, key=lambda claim: claim.type != "name"))


def _reconstruction_words(reconstruction: Reconstruction) -> Iterator[str | None]:
    claims = [chosen.said for chosen in reconstruction.claims if chosen.said is not None]
    yield from (str(claim.value) for claim in claims if claim.type == "name")  # before notes of any length
    yield from (reconstruction.curator_id, reconstruction.curator_name, reconstruction.notes)
    yield from (str(claim.value) for claim in claims if claim.type != "name")
    yield from (link.value for link in reconstruction.links)
    for employment in reconstruction.employment:
        yield from (employment.institution, employment.role)
