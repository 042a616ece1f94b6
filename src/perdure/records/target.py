"""Where a record leads, and under which words it is found."""

from typing import Final

from perdure.records.record import Record
from perdure.records.value import Value

# With one of these beside it, a URL value is not the whole answer: the resolver has to choose.
_CHOOSING: Final = frozenset({"10320/LOC", "HS_ALIAS"})
# Values that are looked up in reverse: by what they say, exactly.
_REVERSE_TYPES: Final = frozenset({"URL", "CHECKSUM", "EMAIL", "HS_ALIAS"})
_LONGEST_WORDS: Final = 65_536


def plain_target(record: Record) -> str | None:
    """The address to redirect to, where that is the whole answer."""
    if record.state != "active":
        return None
    target = None
    for value in record.values:
        if value.type.upper() in _CHOOSING:
            return None
        if target is None and value.is_url and value.is_public:
            target = value.text
    return target


def location(record: Record) -> str | None:
    """The first public URL value, whatever stands beside it."""
    return next((value.text for value in record.values if value.is_url and value.is_public), None)


def reverse_entries(record: Record) -> tuple[tuple[str, str], ...]:
    """(type, data) of every public value that reverse look-up finds; a withdrawn identifier is not found that way."""
    if record.state != "active":
        return ()
    return tuple(
        dict.fromkeys(
            (value.type.upper(), value.text) for value in record.values if _is_looked_up(value) and value.text
        )
    )


def words(name: str, record: Record) -> str:
    """All the public text of a record, for the full-text index."""
    parts = [name]
    if record.alias:
        parts.append(record.alias)
    parts.extend(value.text for value in record.values if value.is_public and value.text)
    if record.about:
        parts.extend(
            text for text in (record.about.who, record.about.what, record.about.when, record.about.where) if text
        )
    if record.observation:
        parts.append(record.observation.source_url)
    if record.reconstruction:
        parts.append(record.reconstruction.curator_id)
    return "\n".join(parts)[:_LONGEST_WORDS]


def _is_looked_up(value: Value) -> bool:
    return value.is_public and value.type.upper() in _REVERSE_TYPES
