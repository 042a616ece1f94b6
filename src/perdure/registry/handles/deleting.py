"""Deletion of values, or of the handle itself: it is withdrawn, and its history stays."""

from collections.abc import Sequence
from typing import Final

import msgspec

from perdure.errors import NoSuchValue
from perdure.records.record import Tombstone
from perdure.registry import revisions
from perdure.registry.entities import Agent
from perdure.registry.handles.handle_slot import refuse_inactive, require_record
from perdure.registry.handles.preconditions import Precondition
from perdure.registry.handles.write_handle import HandleWrite, HandleWriteResult
from perdure.registry.permissions.permissions import (
    require_authenticated,
    require_change_permission,
    require_permission,
)
from perdure.registry.prefixes.na_names import refuse_withdrawal
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction

_REASON: Final = "deleted through the Handle API"


async def delete_values(
    registry: Registry, by: Agent | None, text: str, indexes: Sequence[int], *, expected: Sequence[Precondition] = ()
) -> HandleWriteResult:
    """Remove these values, all of them or none. Raise NoSuchValue with the indexes that do not exist."""
    actor = require_authenticated(by, "edit", text)

    def work(tx: Transaction) -> HandleWriteResult:
        write = HandleWrite(registry, tx, actor, text, expected)
        record = write.current_record()
        unwanted = set(indexes)
        remaining = [value for value in record.values if value.index not in unwanted]
        require_change_permission(
            tx, actor, record, remaining, write.slot.scope, write.now, write.slot.key, obey_values=True
        )
        missing = tuple(sorted(unwanted - {value.index for value in record.values}))
        if missing:
            raise NoSuchValue(write.slot.name, missing)
        return write.replace_values(record, remaining, {}, "remove value")

    return await registry.store.write(work)


async def delete_handle(
    registry: Registry, by: Agent | None, text: str, *, expected: Sequence[Precondition] = ()
) -> HandleWriteResult:
    """Withdraw a handle. Handle clients do not find it any more; other clients find the tombstone.

    A name that is only reserved does not exist for Handle clients, so they cannot delete it.
    """
    actor = require_authenticated(by, "withdraw", text)

    def work(tx: Transaction) -> HandleWriteResult:
        write = HandleWrite(registry, tx, actor, text, expected)
        slot = write.slot
        refuse_withdrawal(tx, slot.key, slot.name)
        record = require_record(tx, slot, text)
        refuse_inactive(slot, record)
        assert slot.row is not None  # noqa: S101  (it has a record)
        require_permission(tx, actor, "withdraw", slot.scope, write.now, record, slot.key)
        write.check_preconditions()
        withdrawn = msgspec.structs.replace(record, state="withdrawn", tombstone=Tombstone(_REASON))
        version = revisions.append_revision(tx, slot.row, withdrawn, actor, "withdraw", write.at, _REASON)
        return HandleWriteResult(slot.name, False, version)

    return await registry.store.write(work)
