"""List the identifiers of a prefix, or of the whole registry, a page at a time and in the order of their keys."""

from typing import NamedTuple

from perdure.errors import NotAuthorised
from perdure.records.checks import storable
from perdure.registry.authority import is_allowed
from perdure.registry.entities import EVERYWHERE, Agent, Identifier
from perdure.registry.naming import keys_under, known_prefix
from perdure.registry.protocol import Reader
from perdure.registry.registry import Registry


class Page(NamedTuple):
    """Some identifiers, and after what the next ones come; None, if these were the last."""

    identifiers: list[Identifier]
    next: str | None


async def list_identifiers(
    registry: Registry, by: Agent, prefix: str | None = None, *, after: str = "", limit: int = 100
) -> Page:
    """What comes after `after`. To look up a name needs nothing; to have them all listed needs `edit` or `admin`."""
    storable(after, "after")

    def work(reader: Reader) -> Page:
        kept = None if prefix is None else known_prefix(reader, prefix)
        scope = EVERYWHERE if kept is None else kept.key
        now = registry.now()
        if not any(is_allowed(reader, by, action, scope, now) for action in ("edit", "admin")):
            raise NotAuthorised(by.id, "edit", scope)
        rows = reader.after(after, limit + 1, None if kept is None else keys_under(kept))
        return Page(rows[:limit], rows[limit - 1].key if len(rows) > limit else None)

    return await registry.store.read(work)
