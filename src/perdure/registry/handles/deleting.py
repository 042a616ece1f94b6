"""Take values away, or the handle itself: it is withdrawn, and its history stays."""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.errors import NoSuchValue
from perdure.records.record import Tombstone
from perdure.registry import change
from perdure.registry.authority import authenticated, require, require_changes
from perdure.registry.entities import Agent
from perdure.registry.handles.expecting import Expected
from perdure.registry.handles.place import existing_record, refuse_gone
from perdure.registry.handles.rewriting import HandleWritten, Rewriting
from perdure.registry.prefix_names import refuse_giving_up
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry

_REASON: Final = "deleted through the Handle API"


async def delete_values(
    registry: Registry, by: Agent | None, text: str, indexes: Sequence[int], *, expected: Sequence[Expected] = ()
) -> HandleWritten:
    """Remove these values, all of them or none: NoSuchValue names those that are not there."""
    actor = authenticated(by, "edit", text)

    def work(tx: Transaction) -> HandleWritten:
        writing = Rewriting(registry, tx, actor, text, expected)
        record = writing.standing()
        unwanted = set(indexes)
        kept = [value for value in record.values if value.index not in unwanted]
        require_changes(tx, actor, record, kept, writing.place.scope, writing.now, writing.place.key, obey_values=True)
        missing = tuple(sorted(unwanted - {value.index for value in record.values}))
        if missing:
            raise NoSuchValue(writing.place.name, missing)
        return writing.change(record, kept, {}, "remove value")

    return await registry.store.write(work)


async def delete_handle(
    registry: Registry, by: Agent | None, text: str, *, expected: Sequence[Expected] = ()
) -> HandleWritten:
    """Withdraw it: Handle clients do not find it any more, everybody else finds the tombstone.

    A name that is only reserved is nothing to them yet, and is not taken away by them.
    """
    actor = authenticated(by, "withdraw", text)

    def work(tx: Transaction) -> HandleWritten:
        writing = Rewriting(registry, tx, actor, text, expected)
        place = writing.place
        refuse_giving_up(tx, place.key, place.name)
        record = existing_record(tx, place, text)
        refuse_gone(place, record)
        assert place.row is not None  # noqa: S101  (it has a record)
        require(tx, actor, "withdraw", place.scope, writing.now, record, place.key)
        writing.check_expected()
        withdrawn = msgspec.structs.replace(record, state="withdrawn", tombstone=Tombstone(_REASON))
        version = change.revise(tx, place.row, withdrawn, actor, "withdraw", writing.at, _REASON)
        return HandleWritten(place.name, False, version)

    return await registry.store.write(work)
