"""Links of a reconstructed person to other systems."""

from collections.abc import Sequence

import msgspec

from perdure.records.person import Link
from perdure.records.person_validation import check_reconstruction
from perdure.records.validation import check_one_line
from perdure.registry.entities import Agent
from perdure.registry.identifier_lookup import require_identifier
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.reconstructing import put_next_version, require_active_reconstruction
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction


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
    if note is not None:
        check_one_line(note, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        identifier, record, prefix = require_identifier(tx, name, expected_version)
        require_permission(tx, by, "edit", prefix.key, registry.current_time(), record)
        current = require_active_reconstruction(identifier, record)
        revised = msgspec.structs.replace(current, links=tuple(links))
        revised = check_reconstruction(revised, registry.settings.limits)
        if revised == current:
            return identifier.version
        return put_next_version(
            registry, tx, by, identifier, record, revised, "revise", note, accepted=current.observation_ids
        )

    return await registry.store.write(work)
