"""The edit that takes a bulk change back. A name that was changed since is reported, and not overwritten."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from perdure.errors import Conflict
from perdure.records import record as records
from perdure.records.record import Record
from perdure.records.value import equals_ignoring_timestamp
from perdure.registry.bulk_changes.bulk_change import BulkChange, Kind, revision_note, undo_note
from perdure.registry.bulk_changes.bulk_edits import BulkEdit
from perdure.registry.bulk_changes.sources import SourceChunk
from perdure.registry.editing import without_tombstone
from perdure.registry.entities import Action, Agent, History, Identifier, Revision
from perdure.registry.new_record import with_timestamps
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_CHUNK: Final = 500  # names, with all their versions
_PERMISSIONS: Final[dict[Kind, Action]] = {"retarget": "edit", "withdraw": "withdraw", "transfer": "transfer"}
_ACTIONS: Final[dict[Kind, str]] = {"retarget": "undo retarget", "withdraw": "reinstate", "transfer": "transfer"}


class UndoEdit:
    """Give names the content that they had before a bulk change."""

    detail: str | None = None

    def __init__(self, change: BulkChange) -> None:
        self._change = change
        self.permission: Action = _PERMISSIONS[change.request.kind]
        self.action = _ACTIONS[change.request.kind]

    def concerns(self, row: Identifier) -> bool:
        return True

    def learn(self, histories: Sequence[History]) -> None:
        pass

    def revise(self, reader: Reader, stored: History, record: Record, at: str) -> Record:
        name, newest = stored.identifier.name, stored.revisions[-1]
        written = _find_revision(stored, self._change.id)
        if written is None or written.version != newest.version:
            expected = f"version {written.version}" if written else "the version of the bulk change"
            raise Conflict(name, expected, f"version {newest.version}, because it was changed since")
        if self._change.request.kind == "withdraw":
            return without_tombstone(name, record)
        before = records.decode(stored.revisions[-2].record)
        if self._change.request.kind == "transfer":
            return msgspec.structs.replace(record, owners=before.owners)
        old = {value.index: value for value in before.values}
        pairs = [(value, old.get(value.index, value)) for value in record.values]
        restored = [msgspec.structs.replace(known, timestamp="") if not equals_ignoring_timestamp(known, value) else
                    value for value, known in pairs]  # fmt: skip
        return msgspec.structs.replace(record, values=tuple(with_timestamps(restored, at)))

    def describe(self, before: Record, after: Record) -> list[tuple[str, str]]:
        return []


class UndoSource:
    """The identifiers that a bulk change has changed, in the order of their keys."""

    def __init__(self, change: BulkChange) -> None:
        self._change = change

    async def chunks(self, registry: Registry, by: Agent, edit: BulkEdit, after: str) -> AsyncIterator[SourceChunk]:
        first, last = self._change.first, self._change.last
        key = after or first[:-1]
        found = self._change.undone + self._change.undo_refused
        while key < last and found < self._change.changed:

            def work(reader: Reader, key: str = key) -> tuple[str, list[History]]:
                rows = reader.histories(key, _CHUNK)
                own = [row for row in rows if row.identifier.subject == row.identifier.key and self._includes(row)]
                return rows[-1].identifier.key if rows else last, own

            key, changed = await registry.store.scan(work)
            found += len(changed)
            yield SourceChunk(key, len(changed), changed)

    def _includes(self, stored: History) -> bool:
        """Return whether the bulk change has changed this name, and the undo has not yet come to it."""
        undone = undo_note(self._change.id)
        is_undone = any(revision.note == undone for revision in stored.revisions)
        return not is_undone and _find_revision(stored, self._change.id) is not None

    def select_again(self, registry: Registry, by: Agent, edit: BulkEdit, reader: Reader, stored: History) -> bool:
        return True


def _find_revision(stored: History, id: str) -> Revision | None:
    """Return the version that a bulk change wrote."""
    note = revision_note(id, None)
    for revision in stored.revisions:
        if revision.note is not None and (revision.note == note or revision.note.startswith(f"{note}: ")):
            return revision
    return None
