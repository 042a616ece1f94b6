"""Lists of the identifiers of a prefix or of the whole registry, a page at a time, in the order of their keys."""

from typing import NamedTuple

from perdure.errors import NotAuthorised
from perdure.records.validation import check_storable
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Identifier
from perdure.registry.name_keys import key_beginning, require_prefix
from perdure.registry.permissions.permissions import is_allowed
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader


class IdentifierPage(NamedTuple):
    """A page of identifiers, and the key after which the next page begins; None after the last page."""

    identifiers: list[Identifier]
    next: str | None


async def list_identifiers(
    registry: Registry, by: Agent, prefix: str | None = None, *, after: str = "", limit: int = 100
) -> IdentifierPage:
    """List the identifiers after `after`. Looking up one name needs no permission; listing needs `edit` or `admin`."""
    check_storable(after, "after")

    def work(reader: Reader) -> IdentifierPage:
        namespace = None if prefix is None else require_prefix(reader, prefix)
        scope = WHOLE_REGISTRY if namespace is None else namespace.key
        now = registry.current_time()
        if not any(is_allowed(reader, by, action, scope, now) for action in ("edit", "admin")):
            raise NotAuthorised(by.id, "edit", scope)
        rows = reader.identifiers_after(after, limit + 1, None if namespace is None else key_beginning(namespace))
        return IdentifierPage(rows[:limit], rows[limit - 1].key if len(rows) > limit else None)

    return await registry.store.read(work)
