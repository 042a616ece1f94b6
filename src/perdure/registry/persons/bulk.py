"""Observe many at once: some hundreds of observations in one transaction, as an import brings them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from perdure.errors import Immutable, InvalidInput, OutOfRange, PerdureError
from perdure.names import ppid
from perdure.records.authority import to_seconds
from perdure.records.person import Observation
from perdure.records.person_checks import checked_observation
from perdure.records.record import Record
from perdure.registry import change
from perdure.registry.authority import require
from perdure.registry.entities import Agent, Change, Identifier
from perdure.registry.naming import known_prefix
from perdure.registry.persons.identity import Inputs, Person, observed_inputs
from perdure.registry.persons.observing import refuse_other_words
from perdure.registry.persons.restricting import may_know
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry

MOST_AT_ONCE: Final = 2_000

Outcome = Person | PerdureError


class _Seen(NamedTuple):
    """An observation that may be made, and its inputs."""

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
    """For each, in their order, its POID or why it is refused; one that is refused keeps no other from being made.

    Who may not observe at all is refused as a whole. A dry run says the same, and makes nothing.
    """
    if len(observations) > MOST_AT_ONCE:
        raise OutOfRange("person", "observations", f"at most {MOST_AT_ONCE} at once, not {len(observations)}")
    registry.check_clock()
    ready = [_checked(registry, one) for one in observations]

    def look(reader: Reader) -> "_Chunk":
        at = registry.now()
        require(reader, by, "mint", known_prefix(reader, "POID").key, at)
        chunk = _Chunk(registry, reader, by, at, note)
        chunk.look_at(ready)
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


def _checked(registry: Registry, said: Observation) -> _Seen | PerdureError:
    try:
        seen = checked_observation(said, registry.settings.limits)
    except InvalidInput as problem:
        return problem
    return _Seen(observed_inputs(registry, seen), seen)


class _Chunk:
    """What becomes of some observations: decided by reading alone, and told apart from what there is to write."""

    def __init__(self, registry: Registry, reader: Reader, by: Agent, at: str, note: str | None) -> None:
        self._registry = registry
        self._reader = reader
        self._by = by
        self._at = at
        self._note = note
        self._taken: set[str] = set()
        self._rows: dict[str, Identifier] = {}  # by the names that the inputs lead to
        self.outcomes: list[Outcome] = []
        self.changes: list[Change] = []
        self.new: dict[str, str] = {}  # uuid_raw → name

    def look_at(self, ready: Sequence[_Seen | PerdureError]) -> None:
        asked = [one.inputs for one in ready if isinstance(one, _Seen)]
        known = self._reader.persons([inputs.text for inputs in asked])
        own = [inputs.name for inputs in asked if inputs.text not in known]
        found = self._reader.find_many([*own, *known.values()])
        self._taken = set(found)
        self._rows = {name: found[name] for name in known.values() if name in found}
        for one in ready:
            try:
                self.outcomes.append(self._outcome(one, known) if isinstance(one, _Seen) else one)
            except (Immutable, OutOfRange) as problem:
                self.outcomes.append(problem)

    def _outcome(self, one: _Seen, known: dict[str, str]) -> Person:
        name = known.get(one.inputs.text) or self.new.get(one.inputs.text)
        if name is None:
            return self._created(one)
        found = self._rows.get(name)
        sees = may_know(self._reader, self._by, self._at, found)
        refuse_other_words(name, found, one.observation, sees=sees)
        return Person(name, one.inputs.uuid, created=False)

    def _created(self, one: _Seen) -> Person:
        record = Record(
            state="active",
            creator=self._by.identifier,
            created=to_seconds(self._at),
            observation=one.observation,
        )
        encoded = change.fitting(record, self._registry.settings.limits.record_bytes)
        name = self._free_name(one.inputs.name)
        new = change.first(name, name, "ppid", record, self._by, "mint", self._at, self._note, encoded=encoded)
        self.changes.append(new)
        self.new[one.inputs.text] = name
        self._rows[name] = new.identifier
        self._taken.add(name)
        return Person(name, one.inputs.uuid, created=True)

    def _free_name(self, own: str) -> str:
        """As for one alone (section 9.3); the names that this chunk takes are taken too."""
        name = own
        collisions = 0
        while name in self._taken:
            collisions += 1
            name = ppid.successor(own, collisions, namespace=self._registry.ppid_namespace)
            if self._reader.find(name) is not None:
                self._taken.add(name)
        return name
