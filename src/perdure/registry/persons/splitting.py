"""Split: what was taken for one person was several. And undo that."""

from collections.abc import Sequence

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.names import ppid
from perdure.records.checks import one_line
from perdure.records.person import Reconstruction
from perdure.records.person_checks import checked_reconstruction
from perdure.records.record import Tombstone
from perdure.registry.authority import require
from perdure.registry.entities import Agent
from perdure.registry.existing import existing
from perdure.registry.naming import known_prefix
from perdure.registry.persons.curation import Curation
from perdure.registry.persons.gathering import gathered
from perdure.registry.persons.identity import Person
from perdure.registry.persons.putting import put
from perdure.registry.persons.reconstructing import first_version, next_version, standing
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry

_FEWEST, _MOST = 2, 100
_LEARNT = "more was learnt since the split, which goes to {} now: say who concludes that, and when"


async def split(
    registry: Registry,
    by: Agent,
    name: str,
    parts: Sequence[Sequence[str]],
    curation: Curation,
    reason: str,
    *,
    expected_version: int | None = None,
) -> list[Person]:
    """A PRID for each of these sets of observations, in place of one. Each observation goes to one of them."""
    one_line(reason, "reason", registry.settings.limits.text_characters)
    if not _FEWEST <= len(parts) <= _MOST:
        raise InvalidInput("person", "parts", f"a split has {_FEWEST} to {_MOST} parts, not {len(parts)}")
    sets = [ppid.canonical_observations(part) for part in parts]

    def work(tx: Transaction) -> list[Person]:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "withdraw", prefix.key, now, record)
        require(tx, by, "mint", known_prefix(tx, "PRID").key, now)
        before = standing(found, record)
        _check_parts(before, sets)
        persons = []
        for part in sets:
            made = Reconstruction(
                tuple(part),
                curation.curator_id,
                curation.timestamp,
                claims=tuple(one for one in before.claims if one.observation_id in part),
                replaces=(found.name,),
            )
            made = checked_reconstruction(curation.of(made), registry.settings.limits)
            stood = before.observation_ids
            person = first_version(registry, tx, by, made, now, "split", stood=stood, restriction=record.restriction)
            if not person.created:
                raise WrongState(person.name, "there already", "new: give another timestamp")
            persons.append(person)
        stone = Tombstone(reason, successors=tuple(person.name for person in persons))
        gone = msgspec.structs.replace(record, state="withdrawn", tombstone=stone)
        put(registry, tx, by, found, gone, "split", reason)
        return persons

    return await registry.store.write(work)


async def undo_split(
    registry: Registry,
    by: Agent,
    name: str,
    reason: str,
    curation: Curation | None = None,
    *,
    expected_version: int | None = None,
) -> int:
    """They were one person after all: the PRID that was split stands again, and its parts lead to it.

    What the parts have learnt since goes to it too; that is a new conclusion, and somebody's.
    """
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.now()
        found, record, prefix = existing(tx, name, expected_version)
        require(tx, by, "withdraw", prefix.key, now, record)
        stone, before = record.tombstone, record.reconstruction
        if stone is None or not stone.successors or before is None:
            raise WrongState(found.name, record.state, "split")
        parts = [existing(tx, one) for one in stone.successors]
        said = []
        for part, part_record, part_prefix in parts:
            require(tx, by, "withdraw", part_prefix.key, now, part_record)
            said.append(standing(part, part_record))
            if part_record.restriction is not None and record.restriction is None:
                raise WrongState(found.name, "shown", f"restricted, as {part.name} is")
        again = msgspec.structs.replace(record, state="active", tombstone=None)
        whole = _together(before, said, {found.name, *stone.successors})
        if whole == before:
            version = put(registry, tx, by, found, again, "undo split", reason)
        else:
            if curation is None:
                raise InvalidInput("person", "curator_id", _LEARNT.format(found.name))
            require(tx, by, "edit", prefix.key, now, record)
            made = checked_reconstruction(curation.of(whole), registry.settings.limits)
            stood = made.observation_ids
            version = next_version(registry, tx, by, found, again, made, "undo split", reason, stood=stood)
        for part, part_record, _ in parts:
            gone = msgspec.structs.replace(part_record, state="merged", tombstone=Tombstone(reason, found.name))
            put(registry, tx, by, part, gone, "undo split", reason)
        return version

    return await registry.store.write(work)


def _together(before: Reconstruction, parts: Sequence[Reconstruction], family: set[str]) -> Reconstruction:
    """What was said of the one, and what was learnt of the parts; that these are several is said no more."""
    said = gathered(before, *parts)
    for field in ("different_from", "replaces"):
        said[field] = tuple(one for one in said[field] if one not in family)
    return msgspec.structs.replace(before, **said)


def _check_parts(before: Reconstruction, sets: Sequence[Sequence[str]]) -> None:
    """Each observation belongs to one person: none is left over, none is in two parts, none comes from elsewhere."""
    given = [one for part in sets for one in part]
    for one in given:
        if one not in before.observation_ids:
            raise InvalidInput("person", "parts", f"{one} is not one of the observations of this reconstruction")
        if given.count(one) > 1:
            raise InvalidInput("person", "parts", f"{one} is in two parts")
    for one in before.observation_ids:
        if one not in given:
            raise InvalidInput("person", "parts", f"{one} is in no part: each observation goes to one of them")
