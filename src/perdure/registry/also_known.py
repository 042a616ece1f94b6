"""The other names of a target: minting one target twice is allowed, and the caller is informed."""

from collections.abc import Collection, Sequence
from typing import Final

from perdure.names import ibi
from perdure.registry.entities import SearchHit
from perdure.registry.minters import MintedIdentifier
from perdure.registry.registry import Registry

MOST_OTHER_NAMES: Final = 5
_WITHDRAWN: Final = ("withdrawn", "merged")


async def find_also_known(registry: Registry, target: str, minted: Sequence[MintedIdentifier]) -> tuple[str, ...]:
    """Return the names that had this target before, the newest first, at most `MOST_OTHER_NAMES`.

    The cost does not depend on how many there are.
    """
    limit = MOST_OTHER_NAMES + len(minted)
    hits = await registry.store.read_quick(lambda reader: reader.find_by_value(target, "URL", limit))
    return other_names(hits, [one.name for one in minted])


async def find_also_known_labels(registry: Registry, minted: Sequence[MintedIdentifier]) -> tuple[str, ...]:
    """Return the other names of the target that IBI labels have now; none for names that are not labels."""
    if not minted or not ibi.is_valid(minted[0].name):
        return ()
    row = await registry.store.lookup(ibi.parse(minted[0].name).key)
    if row is None or row.target is None:
        return ()
    return await find_also_known(registry, row.target, minted)


def other_names(hits: Sequence[SearchHit], new: Collection[str]) -> tuple[str, ...]:
    """Return the names that are in use, without the new ones."""
    names = [hit.name for hit in hits if hit.name not in new and hit.state not in _WITHDRAWN]
    return tuple(names[:MOST_OTHER_NAMES])
