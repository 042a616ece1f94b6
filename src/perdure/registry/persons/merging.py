"""Merge: two reconstructions turn out to be one person. And undo that."""

import msgspec

from perdure.errors import InvalidInput, WrongState
from perdure.records import record as records
from perdure.records.checks import one_line
from perdure.records.person import Reconstruction
from perdure.records.person_checks import checked_reconstruction
from perdure.records.record import Tombstone
from perdure.registry.authority import require
from perdure.registry.entities import Agent, Identifier
from perdure.registry.existing import existing
from perdure.registry.persons.curation import Curation
from perdure.registry.persons.gathering import GATHERED, gathered
from perdure.registry.persons.putting import put
from perdure.registry.persons.reconstructing import next_version, standing
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry

_CIRCULAR = "No circular references"


async def merge(
    registry: Registry,
    by: Agent,
    name: str,
    into: str,
    curation: Curation,
    reason: str,
    *,
    expected_version: int | None = None,
) -> int:
    """One PRID takes up another, which from now on leads to it; returns the survivor's new version."""
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> int:
        now = registry.now()
        gone, gone_record, gone_prefix = existing(tx, name, expected_version)
        kept, kept_record, kept_prefix = existing(tx, into)
        require(tx, by, "withdraw", gone_prefix.key, now, gone_record)
        require(tx, by, "edit", kept_prefix.key, now, kept_record)
        if gone.key == kept.key:
            raise InvalidInput("person", "into", f"{kept.name} cannot be merged into itself", _CIRCULAR)
        theirs, ours = standing(gone, gone_record), standing(kept, kept_record)
        _refuse_namesakes(gone.name, theirs, kept.name, ours)
        if gone_record.restriction is not None and kept_record.restriction is None:
            raise WrongState(kept.name, "shown", f"restricted, as {gone.name} is")
        both = curation.of(msgspec.structs.replace(ours, **gathered(ours, theirs)))
        both = msgspec.structs.replace(both, replaces=(*both.replaces, gone.name))
        made = checked_reconstruction(both, registry.settings.limits)
        note = f"took up {gone.name}: {reason}"
        stood = made.observation_ids
        version = next_version(registry, tx, by, kept, kept_record, made, "merge", note, stood=stood)
        stone = Tombstone(reason, kept.name, merged_at=version)
        merged = msgspec.structs.replace(gone_record, state="merged", tombstone=stone)
        put(registry, tx, by, gone, merged, "merge", reason)
        return version

    return await registry.store.write(work)


async def undo_merge(
    registry: Registry, by: Agent, name: str, curation: Curation, reason: str, *, expected_version: int | None = None
) -> tuple[int, int]:
    """They were two persons after all: the one that was taken up stands again, and what it brought is taken back.

    Returns the new versions of both: of the one that stands again, and of the one that had taken it up.
    """
    one_line(reason, "reason", registry.settings.limits.text_characters)

    def work(tx: Transaction) -> tuple[int, int]:
        now = registry.now()
        gone, gone_record, gone_prefix = existing(tx, name, expected_version)
        require(tx, by, "withdraw", gone_prefix.key, now, gone_record)
        stone, theirs = gone_record.tombstone, gone_record.reconstruction
        if gone_record.state != "merged" or stone is None or theirs is None:
            raise WrongState(gone.name, gone_record.state, "merged")
        if stone.replaced_by is None or stone.merged_at is None:
            raise WrongState(gone.name, "merged by something that cannot be undone", "merged")
        kept, kept_record, kept_prefix = existing(tx, stone.replaced_by)
        require(tx, by, "edit", kept_prefix.key, now, kept_record)
        ours = standing(kept, kept_record)
        made = _without(ours, *_around(tx, kept, stone.merged_at), gone.name)
        if not made.observation_ids:
            reason_against = f"nothing would be left of {kept.name}: withdraw it, or revise it first"
            raise InvalidInput("person", "observation_ids", reason_against, "PRID must have observations")
        made = checked_reconstruction(curation.of(made), registry.settings.limits)
        again = msgspec.structs.replace(gone_record, state="active", tombstone=None)
        risen = put(registry, tx, by, gone, again, "undo merge", reason)
        note = f"gave back {gone.name}: {reason}"
        return risen, next_version(registry, tx, by, kept, kept_record, made, "undo merge", note)

    return await registry.store.write(work)


def _refuse_namesakes(gone: str, theirs: Reconstruction, kept: str, ours: Reconstruction) -> None:
    """Who was said to be somebody else is so, also where that person has been taken up since."""
    if {kept, *ours.replaces} & set(theirs.different_from) or {gone, *theirs.replaces} & set(ours.different_from):
        reason = f"{gone} and {kept} are said to be different persons: revise that first"
        raise InvalidInput("person", "into", reason)


def _around(tx: Transaction, kept: Identifier, merged_at: int) -> tuple[Reconstruction, Reconstruction]:
    """What the survivor said before it took up the other, and after."""
    said = []
    for version in (merged_at - 1, merged_at):
        revision = tx.revision(kept.subject, version)
        made = None if revision is None else records.decode(revision.record).reconstruction
        if made is None:
            raise WrongState(kept.name, f"without version {version}", "whole")
        said.append(made)
    return said[0], said[1]


def _without(now: Reconstruction, before: Reconstruction, after: Reconstruction, gone: str) -> Reconstruction:
    """What is said now, without what came by the merge, and with what had to give way to that."""

    def left(field: str) -> tuple[object, ...]:
        said, was, became = (getattr(one, field) for one in (now, before, after))
        brought, lost = set(became) - set(was), set(was) - set(became)
        return (*(one for one in said if one not in brought), *(one for one in was if one in lost - set(said)))

    rest = msgspec.structs.replace(now, **{field: left(field) for field in GATHERED})
    return msgspec.structs.replace(
        rest,
        replaces=tuple(one for one in rest.replaces if one != gone),
        claims=tuple(one for one in rest.claims if one.observation_id in rest.observation_ids),
    )
