"""Observations: what one source states about a person at one moment. They never change."""

from collections.abc import Sequence

from perdure.errors import Immutable
from perdure.records import record as records
from perdure.records.person import Claim, Observation
from perdure.records.person_validation import check_observation, refuse_unusual_source
from perdure.registry.entities import Agent, Identifier
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.identity import Person, create_person, known_person, observation_inputs
from perdure.registry.persons.restricting import can_view
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction


async def observe(
    registry: Registry,
    by: Agent,
    source_url: str,
    retrieval_timestamp: str,
    content_hash: str,
    *,
    source_name: str | None = None,
    holding_archive: str | None = None,
    claims: Sequence[Claim] = (),
) -> Person:
    """Return the POID of an observation, new or known. Another extraction of the same source is a new observation."""
    given = Observation(source_url, retrieval_timestamp, content_hash, source_name, holding_archive, tuple(claims))
    observation = check_observation(given, registry.settings.limits)
    inputs = observation_inputs(registry, observation)

    def work(tx: Transaction) -> Person:
        at = registry.current_time()
        require_permission(tx, by, "mint", require_prefix(tx, "POID").key, at)
        name = tx.person(inputs.text)
        if name is None:
            refuse_unusual_source(observation, registry.settings.unusual_sources)
            return create_person(registry, tx, by, inputs, at, observation=observation)
        identifier = tx.find(name)
        sees = can_view(tx, by, at, identifier)
        refuse_different_content(name, identifier, observation, sees=sees)
        return known_person(name, inputs.uuid, identifier, sees=sees)

    return await registry.store.write(work, inputs.prefetch)


def refuse_different_content(name: str, identifier: Identifier | None, observation: Observation, *, sees: bool) -> None:
    """Accept the inputs alone, or with content equal to the stored one; refuse different content."""
    if identifier is None or observation == Observation(
        observation.source_url, observation.retrieval_timestamp, observation.content_hash
    ):
        return
    record = records.decode(identifier.record)
    if record.redaction is not None:
        raise Immutable(name, "its content was redacted, and cannot be added again under this name")
    if record.observation != observation or not sees:  # otherwise hidden content could be guessed
        raise Immutable(name, "it has other content, and never changes; give a new extraction another timestamp")
