"""The other names of a target: minting one target twice is allowed, and the caller is informed."""

from collections.abc import Collection, Sequence
from fractions import Fraction
from typing import Final

from perdure.names import ibi
from perdure.registry.entities import SearchHit
from perdure.registry.minters import MintedIdentifier
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader
from perdure.timelines.clock import now_seconds

MOST_OTHER_NAMES: Final = 5
_WITHDRAWN: Final = ("withdrawn", "merged")


def find_same_target(reader: Reader, target: str | None, new: int = 0) -> list[SearchHit]:
    """Return the newest names with this target, of which `new` are new ones, at a cost that does not grow with them."""
    return [] if target is None else reader.find_by_value(target, "URL", MOST_OTHER_NAMES + new)


async def find_also_known_labels(registry: Registry, minted: Sequence[MintedIdentifier]) -> tuple[str, ...]:
    """Return the other names of the target that IBI labels have now; none for names that are not labels."""
    if not minted or not ibi.is_valid(minted[0].name):
        return ()
    row = await registry.store.lookup(ibi.parse(minted[0].name).key)
    if row is None or row.target is None:
        return ()
    target, new = row.target, len(minted)
    hits = await registry.store.read_quick(lambda reader: find_same_target(reader, target, new))
    return other_names(hits, [one.name for one in minted], now_seconds(registry.clock))


def other_names(hits: Sequence[SearchHit], new: Collection[str], until: Fraction) -> tuple[str, ...]:
    """Return the names that are in use, without the new ones, the newest first, at most `MOST_OTHER_NAMES`.

    Labels with a date later than `until` are left out: they belong to requests that still wait.
    """
    names = [hit.name for hit in hits if hit.name not in new and hit.state not in _WITHDRAWN]
    return tuple([name for name in names if not _is_later(name, until)][:MOST_OTHER_NAMES])


def _is_later(name: str, until: Fraction) -> bool:
    return ibi.is_valid(name) and ibi.parse(name).date > until
