"""Other names of an identifier that a file states: each is a row of its own, with the record of the first name."""

from collections.abc import Sequence

import msgspec

from perdure.errors import Conflict, DifferentIdentifiers, InvalidInput
from perdure.formats.import_entries import ImportPut, Notice
from perdure.records.record import Record
from perdure.registry.name_keys import LocatedName, PrefixSource, locate
from perdure.registry.revisions import MOST_ALIASES
from perdure.registry.store_interface import Reader


def locate_aliases(prefixes: PrefixSource, located: LocatedName, entry: ImportPut) -> tuple[LocatedName, ...]:
    """Return the other names of an entry, each once. Raise NoSuchPrefix for one that belongs to no prefix here."""
    if len(entry.aliases) > MOST_ALIASES:
        raise InvalidInput("import", "alias", f"{entry.name} has more than {MOST_ALIASES} other names")
    found: dict[str, LocatedName] = {}
    for text in entry.aliases:
        alias = locate(prefixes, text)
        if alias.key != located.key:
            found.setdefault(alias.key, alias)
    return tuple(found.values())


def with_aliases(record: Record, aliases: Sequence[LocatedName]) -> Record:
    """Return a record with these names after the others that it has."""
    names = [*record.other_names, *[alias.name for alias in aliases]]
    if len(names) > MOST_ALIASES:
        raise InvalidInput("import", "alias", f"{names[0]} would have more than {MOST_ALIASES} other names")
    if record.alias is None and record.aliases:
        return msgspec.structs.replace(record, aliases=tuple(names))
    return msgspec.structs.replace(record, alias=names[0], aliases=tuple(names[1:])) if names else record


def without_known_names(reader: Reader, aliases: Sequence[LocatedName]) -> tuple[LocatedName, ...]:
    """Return those of the names that do not exist yet."""
    known = reader.find_many([alias.key for alias in aliases])
    return tuple(alias for alias in aliases if alias.key not in known)


def with_existing_name(
    reader: Reader, entry: ImportPut, located: LocatedName, aliases: Sequence[LocatedName]
) -> ImportPut:
    """Return the entry for the identifier to which one of its names belongs, with the names that are new.

    Raise DifferentIdentifiers if they belong to two.
    """
    names = {one.key: one for one in (located, *aliases)}
    rows = reader.find_many(list(names))
    subjects = sorted({row.subject for row in rows.values()})
    if not subjects:
        return entry
    found = reader.find_many(subjects)
    if len(subjects) > 1:
        raise DifferentIdentifiers(*[found[key].name if key in found else key for key in subjects[:2]])
    new = tuple(one.name for key, one in names.items() if key not in rows)
    return msgspec.structs.replace(entry, name=found[subjects[0]].name, aliases=new)


def is_equal_except_names(record: Record, other: Record) -> bool:
    """Return whether two records differ in their names at most."""
    return msgspec.structs.replace(record, alias=other.alias, aliases=other.aliases) == other


def without_taken_aliases(
    reader: Reader, entry: ImportPut, located: LocatedName, aliases: Sequence[LocatedName]
) -> tuple[ImportPut, list[Notice]]:
    """Return the entry without the names that identify something else here, with a notice for each.

    Raise Conflict if its first name is another name of something else, which must not be changed in its stead.
    """
    keys = [located.key, *[alias.key for alias in aliases]]
    rows = reader.find_many(keys)
    subject = rows[located.key].subject if located.key in rows else located.key
    if subject not in keys:
        raise Conflict(entry.name, "a name of its own", f"another name of {subject}")
    taken = {alias.key: alias for alias in aliases if alias.key in rows and rows[alias.key].subject != subject}
    if not taken:
        return entry, []
    notices = [
        Notice(
            entry.line, f"{alias.name} identifies {rows[key].subject} here, and not {entry.name}", entry.name, "alias"
        )
        for key, alias in taken.items()
    ]
    left = tuple(text for text in entry.aliases if locate(reader, text).key not in taken)
    return msgspec.structs.replace(entry, aliases=left), notices
