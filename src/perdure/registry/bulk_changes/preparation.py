"""The preparation of a chunk: the next version of each identifier, computed before the transaction that writes it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perdure.errors import PerdureError, StoreUnavailable
from perdure.records import record as records
from perdure.records.record import Record
from perdure.registry import revisions
from perdure.registry.bulk_changes.bulk_edits import BulkEdit
from perdure.registry.entities import Agent, Change, History, Identifier, Prefix
from perdure.registry.name_keys import locate
from perdure.registry.permissions.permissions import is_granted, require_change_permission, require_permission
from perdure.registry.prefixes.na_names import NA_KEY
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader


class PreparedEdit(NamedTuple):
    """The next version of an identifier, or the problem that prevents it."""

    row: Identifier
    prefix: Prefix
    before: Record
    after: Record
    changes: Sequence[Change] = ()
    problem: PerdureError | None = None


class _Prefixes:
    """The prefixes of the registry, read once for a chunk."""

    def __init__(self, reader: Reader) -> None:
        self._prefixes: Mapping[str, Prefix] = {
            key: prefix for prefix in reader.prefixes() for key in prefix.lookup_keys
        }

    def prefix(self, key: str) -> Prefix | None:
        return self._prefixes.get(key)


async def prepare_edits(
    registry: Registry, by: Agent, edit: BulkEdit, histories: Sequence[History], note: str
) -> list[PreparedEdit]:
    """Prepare the edits of a chunk. Identifiers that do not change are left out."""
    if not histories:
        return []
    edit.learn(histories)

    def work(reader: Reader) -> list[PreparedEdit]:
        prefixes, now = _Prefixes(reader), registry.current_time()
        prepared = (_prepare(registry, reader, prefixes, by, edit, stored, note, now) for stored in histories)
        return [one for one in prepared if one is not None]

    return await registry.store.scan(work)


def _prepare(
    registry: Registry,
    reader: Reader,
    prefixes: _Prefixes,
    by: Agent,
    edit: BulkEdit,
    stored: History,
    note: str,
    now: str,
) -> PreparedEdit | None:
    row, newest = stored.identifier, stored.revisions[-1]
    before = records.decode(row.record)
    at = max(now, newest.at)  # history must not run backwards when the clock does
    prefix = locate(prefixes, row.name).prefix
    try:
        after = edit.revise(reader, stored, before, at)
        if after == before:
            return None
        others = revisions.find_aliases(reader, row, before)
        largest = registry.settings.limits.record_bytes
        changes = revisions.next_revision(row, others, newest, before, after, by, edit.action, at, note, largest)
    except StoreUnavailable:
        raise
    except PerdureError as problem:
        return PreparedEdit(row, prefix, before, before, problem=problem)
    return PreparedEdit(row, prefix, before, after, changes)


class EditCheck:
    """The check of many edits of one agent in one transaction. A grant on a whole prefix is looked up once."""

    def __init__(self, reader: Reader, by: Agent, edit: BulkEdit, now: str) -> None:
        self._reader = reader
        self._by = by
        self._edit = edit
        self._now = now
        self._granted: dict[str, bool] = {NA_KEY: False}  # the record of each prefix has a rule of its own

    def require_permitted(self, prepared: PreparedEdit) -> None:
        """Raise an error if the agent may not make this edit, or if it cannot be made."""
        row, before, scope = prepared.row, prepared.before, prepared.prefix.key
        reader, by, now = self._reader, self._by, self._now
        is_granted_for_all = self._is_granted(scope)
        if not is_granted_for_all:
            require_permission(reader, by, self._edit.permission, scope, now, before, row.key)
        if prepared.problem is not None:
            raise prepared.problem
        # A bulk edit changes no keys and no administrators: for other values, such a grant is enough.
        if prepared.after.values != before.values and not is_granted_for_all:
            require_change_permission(reader, by, before, prepared.after.values, scope, now, row.key)

    def _is_granted(self, scope: str) -> bool:
        if scope not in self._granted:
            self._granted[scope] = is_granted(self._reader, self._by, self._edit.permission, scope, self._now)
        return self._granted[scope]
