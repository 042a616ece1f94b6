"""The longest registered name that a longer one begins with, under prefixes with pass-through."""

from typing import Final

from perdure.registry.entities import Identifier
from perdure.registry.name_keys import LocatedName, handle_key
from perdure.registry.store_interface import Reader

_MOST_CUTS: Final = 256
_SEPARATORS: Final = frozenset("/?#.-_:;,=&@+~ ")


def find_longest(reader: Reader, located: LocatedName) -> tuple[Identifier | None, str]:
    """Return the longest registered name that this one begins with, and the rest."""
    suffix = located.name.partition("/")[2]
    cuts = {handle_key(located.prefix, suffix[:at]): at for at in split_positions(suffix)}
    rows = reader.find_many(list(cuts))
    longest = max(rows, key=cuts.__getitem__, default=None)
    return (None, "") if longest is None else (rows[longest], suffix[cuts[longest] :])


def split_positions(suffix: str) -> list[int]:
    """Return where a suffix may end and the rest begin, the longest first.

    In a very long suffix, only separators are tried, and as many positions near the end as the limit allows.
    """
    anywhere = range(len(suffix) - 1, 0, -1)
    if len(anywhere) <= _MOST_CUTS:
        return list(anywhere)
    separated = [at for at in anywhere if suffix[at] in _SEPARATORS or suffix[at - 1] in _SEPARATORS][:_MOST_CUTS]
    positions = set(separated)
    for at in anywhere:
        if len(positions) == _MOST_CUTS:
            break
        positions.add(at)
    return sorted(positions, reverse=True)
