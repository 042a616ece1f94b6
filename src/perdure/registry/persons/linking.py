"""Link: say anew who a reconstructed person is in other systems, and nothing else."""

from collections.abc import Sequence

import msgspec

from perdure.records.checks import one_line
from perdure.records.person import Link
from perdure.records.person_checks import checked_reconstruction
from perdure.registry.authority import require
from perdure.registry.entities import Agent
from perdure.registry.existing import existing
from perdure.registry.persons.reconstructing import next_version, standing
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry


async def replace_links(
    registry: Registry,
    by: Agent,
    name: str,
    links: Sequence[Link],
    *,
    expected_version: int | None = None,
    note: str | None = None,
) -> int:
    """A new version of a PRID with these links in place of those that it had."""
    if note is not None:
        one_line(note, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "edit", prefix.key, registry.now(), record)
        before = standing(found, record)
        linked = msgspec.structs.replace(before, links=tuple(links))
        linked = checked_reconstruction(linked, registry.settings.limits)
        if linked == before:
            return found.version
        return next_version(registry, tx, by, found, record, linked, "revise", note, stood=before.observation_ids)

    return await registry.store.write(work)
