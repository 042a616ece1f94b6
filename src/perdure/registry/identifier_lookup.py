"""Look-up of identifiers, by any text that people write for them."""

import re
from typing import Final

from perdure.errors import Conflict, NoSuchName, NoSuchPrefix
from perdure.names import handle, ibi, ppid
from perdure.records import record as records
from perdure.records.record import Record
from perdure.registry.entities import Identifier, Prefix
from perdure.registry.name_keys import LocatedName, correct_pilin_spelling, handle_key, locate
from perdure.registry.prefixes.na_names import NA_KEY, prefix_of_key
from perdure.registry.store_interface import Reader

_NUMERIC_PREFIX: Final = re.compile(r"[0-9]{1,4}|[0-9]+(?:\.[0-9]+)+")  # no label begins so
_MOST_CITED: Final = 3  # suggestions with a document type


def require_identifier(
    reader: Reader, text: str, expected_version: int | None = None
) -> tuple[Identifier, Record, Prefix]:
    """Return the identifier, its record and its prefix. Raise NoSuchName, with suggestions, if it is not registered.

    With `expected_version`, raise Conflict if the identifier has another version now.
    """
    located = locate(reader, text)
    identifier = find_located(reader, located)
    if identifier is None:
        raise missing_name_error(reader, located)
    if expected_version is not None and identifier.version != expected_version:
        raise Conflict(identifier.name, f"version {expected_version}", f"version {identifier.version}")
    return identifier, records.decode(identifier.record), governing_prefix(reader, located, identifier)


def governing_prefix(reader: Reader, located: LocatedName, identifier: Identifier) -> Prefix:
    """Return the prefix whose grants decide about an identifier: that of its first name, whichever was looked up."""
    return located.prefix if identifier.subject == identifier.key else locate(reader, identifier.subject).prefix


def find_located(reader: Reader, located: LocatedName) -> Identifier | None:
    """Find the identifier with exactly this name, or else the only one that another spelling of it means."""
    identifier = reader.find(located.key)
    if identifier is None and (right := correct_pilin_spelling(located)) is not None:
        identifier = reader.find(right.key)
    if identifier is None:
        identifier = _find_other_spelling(reader, located)
    return identifier


def missing_name_error(reader: Reader, located: LocatedName) -> NoSuchName:
    """Return the error for a name that is not registered.

    A missing `0.NA/PREFIX` means that the prefix is not registered here: Handle clients distinguish the two.
    """
    if located.prefix.key == NA_KEY and prefix_of_key(reader, located.key) is None:
        return NoSuchPrefix(located.name.partition("/")[2])
    return NoSuchName(located.name, suggest_names(reader, located))


def suggest_names(reader: Reader, located: LocatedName) -> tuple[str, ...]:
    """Return existing names like this one.

    They are those that a check digit cannot tell apart, that differ in case, or that may be the same IBI item.
    """
    if located.scheme == "ppid":
        candidates = list(ppid.neighbours(located.name))
    elif located.scheme == "ibi":
        return _suggest_labels(reader, located)
    elif located.prefix.case_sensitive:
        suffix = located.name.partition("/")[2]
        candidates = [f"{located.prefix.key}/{other}" for other in (handle.fold(suffix), suffix.upper())]
    else:
        return ()
    found = reader.find_many(candidates)
    return tuple(found[key].name for key in candidates if key in found)


def _find_other_spelling(reader: Reader, located: LocatedName) -> Identifier | None:
    """Find the IBI item that another spelling of the label names; None if that may be one of several items."""
    for keys in _other_label_keys(located):
        found = reader.find_many(keys)
        if found:
            items = {identifier.subject for identifier in found.values()}
            return next(found[key] for key in keys if key in found) if len(items) == 1 else None
    return None


def _suggest_labels(reader: Reader, located: LocatedName) -> tuple[str, ...]:
    """Return the labels of this item in other spellings, and with the document type of a citation."""
    keys = [key for group in _other_label_keys(located) for key in group]
    found = list(reader.find_many(keys).values()) if keys else []
    for label in dict.fromkeys(ibi.split_document_type(key)[0] for key in (located.key, *keys)):
        cited = f"{label}-"
        found += [one for one in reader.identifiers_after(cited, _MOST_CITED, cited) if _is_citation(one, label)]
    return tuple(dict.fromkeys(identifier.name for identifier in found))


def _is_citation(identifier: Identifier, key: str) -> bool:
    bare = ibi.split_document_type(identifier.name)[0]
    return key in (bare, handle.fold(bare))


def _other_label_keys(located: LocatedName) -> list[list[str]]:
    """Return the keys of the other spellings of a label. A label may be registered as a handle."""
    if located.scheme == "handle" and _NUMERIC_PREFIX.fullmatch(located.prefix.name):
        return []  # nearly all handles
    groups = ibi.other_spellings(located.name)
    if located.scheme == "ibi" and located.prefix.case_sensitive:
        return [list(group) for group in groups]
    if located.scheme == "ibi":
        return [[handle.fold(label) for label in group] for group in groups]
    under = f"{handle.fold(located.prefix.name)}/"  # prefixes are compared without case
    keys = (
        [handle_key(located.prefix, label[len(under) :]) for label in group if handle.fold(label).startswith(under)]
        for group in groups
    )
    return [group for group in keys if group]
