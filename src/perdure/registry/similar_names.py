"""Similar names: what a reader may have meant by a name that is not registered.

They are found by looking up all names that one slip makes of the given one. The number of look-ups is bounded. A slip
is tried only where the characters before it are the beginning of some name. Characters that are not likely, such as
most Chinese ones, are tried if some name continues with them.
"""

from bisect import bisect
from typing import Final

from perdure.errors import NoSuchName, NoSuchPrefix, PerdureError
from perdure.names import handle
from perdure.names.misspellings import list_likely_characters, list_misspellings
from perdure.registry.entities import Identifier
from perdure.registry.name_keys import LocatedName, key_beginning, locate
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

MOST_SUGGESTED: Final = 5
_LONGEST: Final = 80  # characters; slips in longer names are not looked for
_MOST_LOOKUPS: Final = 4000
_MOST_CONTINUATIONS: Final = 40  # a query each
_MOST_POSITIONS: Final = 20
_LAST_ASCII, _LAST_CHARACTER = "\x7f", "\U0010ffff"
_MOST_PREFIX_LOOKUPS: Final = 1000
_PREFIX_CHARACTERS: Final = "0123456789.abcdefghijklmnopqrstuvwxyz-"


async def with_similar_names(registry: Registry, problem: NoSuchName) -> NoSuchName:
    """Return the error with suggestions, if it has none yet and there are similar names."""
    if not can_have_similar_names(problem):
        return problem
    name = missing_name(problem)
    found = await registry.store.scan(lambda reader: find_similar_names(reader, name))
    return problem.with_suggestions(found) if found else problem


def missing_name(problem: NoSuchName) -> str:
    """Return the whole name that the error is about, also if it reports the prefix alone."""
    return problem.whole_name if isinstance(problem, NoSuchPrefix) else problem.name


def can_have_similar_names(problem: NoSuchName) -> bool:
    """Return whether the error is about a name that is not registered, and has no suggestions yet."""
    return type(problem) in (NoSuchName, NoSuchPrefix) and not problem.suggestions


def find_similar_names(reader: Reader, text: str) -> tuple[str, ...]:
    """Return registered names that one slip separates from this one, active ones first.

    A name that is only reserved is not shown. Persons are not found either: their names have a check digit.
    """
    try:
        located = locate(reader, text)
    except NoSuchPrefix:
        keys = _keys_under_other_prefixes(text)
    except PerdureError:
        return ()
    else:
        keys = _keys_under_prefix(reader, located)
        if located.scheme == "handle":
            keys += _keys_under_other_prefixes(located.name)
    found = reader.find_many(keys) if keys else {}
    rows = [found[key] for key in dict.fromkeys(keys) if key in found and found[key].state != "reserved"]
    rows.sort(key=_is_inactive)
    return tuple(dict.fromkeys(row.name for row in rows))[:MOST_SUGGESTED]


def _is_inactive(row: Identifier) -> bool:
    return row.state != "active"


def _keys_under_prefix(reader: Reader, located: LocatedName) -> list[str]:
    """Return the keys that one slip in the suffix makes of this name."""
    if located.scheme == "ppid":
        return []
    beginning = key_beginning(located.prefix) if located.scheme == "handle" else _label_beginning(located)
    suffix = located.key[len(beginning) :]
    if len(suffix) > _LONGEST:
        return []
    last = _common_length(reader, beginning, suffix)
    characters = list_likely_characters(suffix, upper=located.scheme == "handle" and located.prefix.case_sensitive)
    slips = list_misspellings(suffix, characters, range(last + 1), _MOST_LOOKUPS)
    return [beginning + slip for slip in (*slips, *_slips_from_index(reader, beginning, suffix, last))]


def _label_beginning(located: LocatedName) -> str:
    """Return the part of an IBI label that stands for its server."""
    parts = located.key.split("/")
    return "/".join(parts[: len(parts) // 2]) + "/"


def _common_length(reader: Reader, beginning: str, suffix: str) -> int:
    """Return how long a beginning of the suffix is that some name has. A slip cannot come after it."""
    heads = [beginning + suffix[:length] for length in range(1, len(suffix) + 1)]
    names = [len(key) - len(beginning) for key in reader.find_many(heads)]
    return bisect(heads, False, lo=max(names, default=0), key=lambda head: not reader.identifiers_after(head, 1, head))


def _slips_from_index(reader: Reader, beginning: str, suffix: str, last: int) -> list[str]:
    """Return the suffixes with a wrong or missing character corrected, by characters with which names continue.

    Before the last position only characters beyond ASCII are tried: the others are likely ones.
    """
    slips: list[str] = []
    for at in range(last, max(-1, last - _MOST_POSITIONS), -1):
        head, rest, after = suffix[:at], suffix[at:], suffix[at + 1 :]
        most = _MOST_CONTINUATIONS - len(slips) // 2
        for character in _continuations(reader, beginning + head, "" if at == last else _LAST_ASCII, most):
            slips += (f"{head}{character}{after}", f"{head}{character}{rest}")
    return slips


def _continuations(reader: Reader, head: str, behind: str, most: int) -> list[str]:
    """Return at most `most` characters with which names continue that begin with this head: those after `behind`."""
    characters: list[str] = []
    while len(characters) < most and (rows := reader.identifiers_after(head + behind, 1, head)):
        characters.append(rows[0].key[len(head)])
        behind = characters[-1] + _LAST_CHARACTER
    return characters


def _keys_under_other_prefixes(name: str) -> list[str]:
    """Return the keys that one slip in the prefix makes of a handle."""
    prefix, _, suffix = name.partition("/")
    if not suffix or max(len(prefix), len(suffix)) > _LONGEST:
        return []
    key = handle.fold(prefix)
    others = list_misspellings(key, _PREFIX_CHARACTERS, range(len(key) + 1), _MOST_PREFIX_LOOKUPS)
    suffixes = dict.fromkeys((suffix, handle.fold(suffix)))
    return [f"{other}/{suffix}" for other in others for suffix in suffixes if other and "/" not in other]
