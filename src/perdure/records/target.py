"""Where a record leads, and under which words it is found."""

from collections.abc import Iterator
from typing import Final

from perdure.records.person import Observation, Reconstruction
from perdure.records.record import Record

# With one of these beside it, a URL value is not the whole answer: the resolver has to choose.
_CHOOSING: Final = frozenset({"10320/LOC", "HS_ALIAS"})
# Values that are looked up in reverse: by what they say, exactly.
REVERSE_TYPES: Final = frozenset({"URL", "CHECKSUM", "EMAIL", "HS_ALIAS"})
_LONGEST_WORDS: Final = 65_536


def plain_target(record: Record) -> str | None:
    """The address to redirect to, where that is the whole answer."""
    if record.state != "active" or record.restriction is not None:
        return None
    target = None
    for value in record.values:
        if value.type.upper() in _CHOOSING:
            return None
        if target is None and value.is_url and value.is_public:
            target = value.text
    return target


def location(record: Record) -> str | None:
    """The first public URL value, whatever stands beside it; of a person that is restricted, none."""
    if record.restriction is not None:
        return None
    return next((value.text for value in record.values if value.is_url and value.is_public), None)


def reverse_entries(record: Record) -> tuple[tuple[str, str], ...]:
    """(type, data) of every public value that reverse look-up finds; a withdrawn identifier is not found that way."""
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


def words(name: str, record: Record) -> str:
    """All the public text of a record, for the full-text index."""
    if record.restriction is not None:
        return name
    parts = [name, record.alias]
    parts.extend([value.text for value in record.values if value.is_public])
    if (about := record.about) is not None:
        parts += (about.who, about.what, about.when, about.where)
    if record.observation is not None:
        parts.extend(_observed(record.observation))
    if record.reconstruction is not None:
        parts.extend(_concluded(record.reconstruction))
    return "\n".join(filter(None, parts))[:_LONGEST_WORDS]


def _observed(seen: Observation) -> Iterator[str | None]:
    yield from (seen.source_url, seen.source_name, seen.holding_archive)
    yield from (str(claim.value) for claim in sorted(seen.claims, key=lambda claim: claim.type != "name"))


def _concluded(made: Reconstruction) -> Iterator[str | None]:
    claims = [chosen.said for chosen in made.claims if chosen.said is not None]
    yield from (str(claim.value) for claim in claims if claim.type == "name")  # before notes of any length
    yield from (made.curator_id, made.curator_name, made.notes)
    yield from (str(claim.value) for claim in claims if claim.type != "name")
    yield from (link.value for link in made.links)
    for work in made.employment:
        yield from (work.institution, work.role)
