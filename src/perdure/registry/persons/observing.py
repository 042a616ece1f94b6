"""Observe: what one source shows of a person, at one moment, once and for ever."""

from collections.abc import Sequence

from perdure.errors import Immutable
from perdure.records import record as records
from perdure.records.person import Claim, Observation
from perdure.records.person_checks import checked_observation
from perdure.registry.authority import require
from perdure.registry.entities import Agent, Identifier
from perdure.registry.naming import known_prefix
from perdure.registry.persons.identity import Person, create, observed_inputs
from perdure.registry.persons.restricting import may_know
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry


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
    """The POID of an observation. A new extraction of the same source is a new observation, with a new POID."""
    said = Observation(source_url, retrieval_timestamp, content_hash, source_name, holding_archive, tuple(claims))
    seen = checked_observation(said, registry.settings.limits)
    inputs = observed_inputs(registry, seen)

    def work(tx: Transaction) -> Person:
        at = registry.now()
        require(tx, by, "mint", known_prefix(tx, "POID").key, at)
        known = tx.person(inputs.text)
        if known is None:
            return create(registry, tx, by, inputs, at, observation=seen)
        found = tx.find(known)
        refuse_other_words(known, found, seen, sees=may_know(tx, by, at, found))
        return Person(known, inputs.uuid, created=False)

    return await registry.store.write(work, inputs.foreseen)


def refuse_other_words(name: str, found: Identifier | None, seen: Observation, *, sees: bool) -> None:
    """Who gives the inputs alone is told what they lead to; who says more must say what was said."""
    if found is None or seen == Observation(seen.source_url, seen.retrieval_timestamp, seen.content_hash):
        return
    record = records.decode(found.record)
    if record.redaction is not None:
        raise Immutable(name, "what it said was redacted, and is not said again under this name")
    if record.observation != seen or not sees:  # else whoever is not shown what it says could guess
        raise Immutable(name, "it says something else, and never changes; another extraction has another timestamp")
