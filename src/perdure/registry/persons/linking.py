"""Links of a reconstructed person to other systems."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from perdure.errors import InvalidInput, InvalidName, quote_text
from perdure.names import external
from perdure.records.person import Link, Relation
from perdure.records.person_validation import check_reconstruction
from perdure.records.validation import check_one_line
from perdure.registry.entities import Agent
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.reconstructing import put_next_version, require_active_reconstruction
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction


class DroppedLink(NamedTuple):
    """A link to drop, in any notation of its identifier. Without a relation, an exact or a close one."""

    scheme: str
    value: str
    relation: Relation | None = None


async def replace_links(
    registry: Registry,
    by: Agent,
    name: str,
    links: Sequence[Link],
    *,
    expected_version: int | None = None,
    note: str | None = None,
) -> int:
    """Write a new version of a PRID with these links in place of the old ones."""
    return await _revise_links(registry, by, name, lambda _: tuple(links), expected_version, note)


async def change_links(
    registry: Registry,
    by: Agent,
    name: str,
    add: Sequence[Link] = (),
    drop: Sequence[DroppedLink] = (),
    *,
    expected_version: int | None = None,
    note: str | None = None,
) -> int:
    """Write a new version of a PRID with some links more, and some less. All other links stay."""
    if not (add or drop):
        raise InvalidInput("person", "links", "nothing to change: give links to add or to drop")
    return await _revise_links(
        registry, by, name, lambda links: combine_links(links, add, drop), expected_version, note
    )


def combine_links(links: Sequence[Link], add: Sequence[Link], drop: Sequence[DroppedLink]) -> tuple[Link, ...]:
    """Return the links without the dropped ones, and then the added ones that are new. A link to drop must exist."""
    remaining = list(links)
    for one in drop:
        found = [link for link in remaining if _is_meant(one, link)]
        if not found:
            known = ", ".join(f"{link.relation}:{link.scheme}:{link.value}" for link in remaining) or "none"
            meant = ":".join(part for part in (one.relation, one.scheme, one.value) if part)
            raise InvalidInput("person", "drop", f"there is no link {quote_text(meant)}; the links are: {known}")
        remaining = [link for link in remaining if link not in found]
    return (*remaining, *(link for link in add if link not in remaining))


def _is_meant(one: DroppedLink, link: Link) -> bool:
    try:
        value = external.parse(one.scheme, one.value).value
    except InvalidName:
        value = one.value  # as it may be stored from before it was checked
    return (one.scheme, value) == (link.scheme, link.value) and one.relation in (None, link.relation)


async def _revise_links(
    registry: Registry,
    by: Agent,
    name: str,
    choose: Callable[[Sequence[Link]], tuple[Link, ...]],
    expected_version: int | None,
    note: str | None,
) -> int:
    if note is not None:
        check_one_line(note, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "edit", prefix.key, registry.current_time(), record)
        current = require_active_reconstruction(identifier, record)
        revised = msgspec.structs.replace(current, links=choose(current.links))
        revised = check_reconstruction(revised, registry.settings.limits)
        if revised == current:
            return identifier.version
        return put_next_version(
            registry, tx, by, identifier, record, revised, "revise", note, accepted=current.observation_ids
        )

    return await registry.store.write(work)
