"""Find an identifier that is there, by anything that people write for it."""

from perdure.errors import Conflict, NoSuchName
from perdure.names import handle, ppid
from perdure.records import record as records
from perdure.records.record import Record
from perdure.registry.entities import Identifier, Prefix
from perdure.registry.naming import Located, forgiven, locate
from perdure.registry.protocol import Reader


def existing(reader: Reader, text: str, expected_version: int | None = None) -> tuple[Identifier, Record, Prefix]:
    """The identifier, its record, and its prefix. NoSuchName carries what may have been meant.

    With `expected_version`, a Conflict if somebody has changed it since.
    """
    located = locate(reader, text)
    found = find_located(reader, located)
    if found is None:
        raise NoSuchName(located.name, suggestions(reader, located))
    if expected_version is not None and found.version != expected_version:
        raise Conflict(found.name, f"version {expected_version}", f"version {found.version}")
    return found, records.decode(found.record), located.prefix


def find_located(reader: Reader, located: Located) -> Identifier | None:
    """The exact name first, then the one that a PILIN suffix was probably meant to be."""
    found = reader.find(located.key)
    if found is None and (right := forgiven(located)) is not None:
        found = reader.find(right.key)
    return found


def suggestions(reader: Reader, located: Located) -> tuple[str, ...]:
    """Names like this one that exist: neighbours that a check digit cannot tell apart, or another case."""
    if located.scheme == "ppid":
        candidates = list(ppid.neighbours(located.name))
    elif located.scheme == "handle" and located.prefix.case_sensitive:
        suffix = located.name.partition("/")[2]
        candidates = [f"{located.prefix.key}/{other}" for other in (handle.fold(suffix), suffix.upper())]
    else:
        return ()
    found = reader.find_many(candidates)
    return tuple(found[key].name for key in candidates if key in found)
