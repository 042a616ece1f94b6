"""Bulk observation: some hundreds of observations in one transaction, as an import brings them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.errors import Immutable, InvalidInput, OutOfRange, PerdureError
from perdure.names import ppid
from perdure.records.authority_metadata import to_seconds
from perdure.records.person import Observation
from perdure.records.person_validation import check_observation, refuse_unusual_source
from perdure.records.record import Record
from perdure.registry import revisions
from perdure.registry.entities import Agent, Change, Identifier
from perdure.registry.name_keys import require_prefix
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.persons.identity import Inputs, Person, known_person, observation_inputs
from perdure.registry.persons.observing import refuse_different_content
from perdure.registry.persons.restricting import can_view
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction

MOST_OBSERVATIONS: Final = 2_000

Outcome = Person | PerdureError


class _CheckedObservation(NamedTuple):
    """An observation that was checked, and its inputs."""

    inputs: Inputs
    observation: Observation


async def observe_many(
    registry: Registry,
    by: Agent,
    observations: Sequence[Observation],
    *,
    note: str | None = None,
    dry_run: bool = False,
) -> list[Outcome]:
    """Return for each observation, in order, its POID or the error. An error does not affect the others.

    If the agent may not observe at all, the whole call is refused. A dry run returns the same and writes nothing.
    """
    if len(observations) > MOST_OBSERVATIONS:
        raise OutOfRange("person", "observations", f"at most {MOST_OBSERVATIONS} at once, not {len(observations)}")
    registry.check_clock()
    ready = [_check_observation(registry, one) for one in observations]

    def look(reader: Reader) -> "_Chunk":
        at = registry.current_time()
        require_permission(reader, by, "mint", require_prefix(reader, "POID").key, at)
        chunk = _Chunk(registry, reader, by, at, note)
        chunk.decide_outcomes(ready)
        return chunk

    def work(tx: Transaction) -> list[Outcome]:
        chunk = look(tx)
        if chunk.changes:
            tx.insert(chunk.changes)
            tx.put_persons(chunk.new)
        return chunk.outcomes

    if dry_run:
        return (await registry.store.read(look)).outcomes
    return await registry.store.write(work)


def _check_observation(registry: Registry, observation: Observation) -> _CheckedObservation | PerdureError:
    try:
        checked = check_observation(observation, registry.settings.limits)
    except InvalidInput as problem:
        return problem
    return _CheckedObservation(observation_inputs(registry, checked), checked)


class _Chunk:
    """The outcomes of some observations. They are decided by reading alone, apart from the writing."""

    def __init__(self, registry: Registry, reader: Reader, by: Agent, at: str, note: str | None) -> None:
        self._registry = registry
        self._reader = reader
        self._by = by
        self._at = at
        self._note = note
        self._taken: set[str] = set()
        self._rows: dict[str, Identifier] = {}  # by name
        self.outcomes: list[Outcome] = []
        self.changes: list[Change] = []
        self.new: dict[str, str] = {}  # uuid_raw → name

    def decide_outcomes(self, ready: Sequence[_CheckedObservation | PerdureError]) -> None:
        inputs_to_find = [one.inputs for one in ready if isinstance(one, _CheckedObservation)]
        known = self._reader.persons([inputs.text for inputs in inputs_to_find])
        own = [inputs.name for inputs in inputs_to_find if inputs.text not in known]
        rows = self._reader.find_many([*own, *known.values()])
        self._taken = set(rows)
        self._rows = {name: rows[name] for name in known.values() if name in rows}
        for one in ready:
            try:
                self.outcomes.append(self._outcome(one, known) if isinstance(one, _CheckedObservation) else one)
            except (Immutable, InvalidInput) as problem:
                self.outcomes.append(problem)

    def _outcome(self, one: _CheckedObservation, known: dict[str, str]) -> Person:
        name = known.get(one.inputs.text) or self.new.get(one.inputs.text)
        if name is None:
            return self._create(one)
        identifier = self._rows.get(name)
        sees = can_view(self._reader, self._by, self._at, identifier)
        refuse_different_content(name, identifier, one.observation, sees=sees)
        return known_person(name, one.inputs.uuid, identifier, sees=sees)

    def _create(self, one: _CheckedObservation) -> Person:
        refuse_unusual_source(one.observation, self._registry.settings.unusual_sources)
        record = Record(
            state="active",
            creator=self._by.identifier,
            created=to_seconds(self._at),
            observation=one.observation,
        )
        encoded = revisions.encode_within_limit(record, self._registry.settings.limits.record_bytes)
        name = self._free_name(one.inputs.name)
        new = revisions.first_revision(
            name, name, "ppid", record, self._by, "mint", self._at, self._note, encoded=encoded
        )
        self.changes.append(new)
        self.new[one.inputs.text] = name
        self._rows[name] = new.identifier
        self._taken.add(name)
        return Person(name, one.inputs.uuid, created=True)

    def _free_name(self, own: str) -> str:
        """Return a free name, as for a single observation (section 9.3). The names of this chunk count as taken."""
        name = own
        collisions = 0
        while name in self._taken:
            collisions += 1
            name = ppid.successor(own, collisions, namespace=self._registry.ppid_namespace)
            if self._reader.find(name) is not None:
                self._taken.add(name)
        return name
