"""Look-up of identifiers, by any text that people write for them."""

from perdure.errors import Conflict, NoSuchName, NoSuchPrefix
from perdure.names import handle, ppid
from perdure.records import record as records
from perdure.records.record import Record
from perdure.registry.entities import Identifier, Prefix
from perdure.registry.name_keys import LocatedName, correct_pilin_spelling, locate
from perdure.registry.prefixes.na_names import NA_KEY, prefix_of_key
from perdure.registry.store_interface import Reader


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
    return identifier, records.decode(identifier.record), located.prefix


def find_located(reader: Reader, located: LocatedName) -> Identifier | None:
    """Find the identifier with exactly this name, or else with the corrected PILIN suffix."""
    identifier = reader.find(located.key)
    if identifier is None and (right := correct_pilin_spelling(located)) is not None:
        identifier = reader.find(right.key)
    return identifier


def missing_name_error(reader: Reader, located: LocatedName) -> NoSuchName:
    """Return the error for a name that is not registered.

    A missing `0.NA/PREFIX` means that the prefix is not registered here: Handle clients distinguish the two.
    """
    if located.prefix.key == NA_KEY and prefix_of_key(reader, located.key) is None:
        return NoSuchPrefix(located.name.partition("/")[2])
    return NoSuchName(located.name, suggest_names(reader, located))


def suggest_names(reader: Reader, located: LocatedName) -> tuple[str, ...]:
    """Return existing names like this one: those that a check digit cannot tell apart, or that differ in case."""
    if located.scheme == "ppid":
        candidates = list(ppid.neighbours(located.name))
    elif located.scheme == "handle" and located.prefix.case_sensitive:
        suffix = located.name.partition("/")[2]
        candidates = [f"{located.prefix.key}/{other}" for other in (handle.fold(suffix), suffix.upper())]
    else:
        return ()
    found = reader.find_many(candidates)
    return tuple(found[key].name for key in candidates if key in found)
