"""The run of a bulk change: preview, apply, undo. The next chunk is prepared while one is written."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from perdure.errors import Conflict, PerdureError, StoreUnavailable, WrongState
from perdure.registry import revisions
from perdure.registry.bulk_changes.bulk_change import (
    BulkChange,
    BulkProblem,
    BulkRequest,
    Example,
    check_request,
    find_bulk_change,
    find_unfinished,
    is_current,
    new_change,
    new_id,
    put_change,
    revision_note,
    scope_of,
    summarize,
    undo_note,
)
from perdure.registry.bulk_changes.bulk_edits import BulkEdit, TransferEdit, build_edit
from perdure.registry.bulk_changes.preparation import EditCheck, PreparedEdit, prepare_edits
from perdure.registry.bulk_changes.sources import CHUNK, Source
from perdure.registry.bulk_changes.undo_edit import UndoEdit, UndoSource
from perdure.registry.entities import Agent, Event, History
from perdure.registry.permissions.permissions import grant_end, is_granted
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Transaction
from perdure.registry.transfers import grant_own

T = TypeVar("T")

_MOST_RETRIES: Final = 20
MOST_EXAMPLES: Final = 10  # of one step


class BulkStep(NamedTuple):
    """The state of a bulk change after some identifiers, with the problems among them and examples."""

    change: BulkChange
    problems: Sequence[BulkProblem] = ()
    examples: Sequence[Example] = ()


class _StaleChunk(Exception):
    """Some identifiers were changed after they were prepared; nothing was written."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = keys


class _Batch:
    """Prepared edits that are written together, and the position after them."""

    def __init__(self, cursor: str) -> None:
        self.cursor = cursor
        self.seen = 0
        self.edits: list[PreparedEdit] = []
        self.problems: list[BulkProblem] = []


class _Outcome(NamedTuple):
    """What became of a batch."""

    changed: Sequence[PreparedEdit]
    problems: Sequence[BulkProblem]


async def run_bulk_change(
    registry: Registry, by: Agent, request: BulkRequest, source: Source, *, dry_run: bool = False
) -> AsyncIterator[BulkStep]:
    """Apply a bulk change, and yield its state after each transaction; with `dry_run`, write nothing.

    The same request of the same agent continues a change that was interrupted.
    """
    check_request(request)
    edit = await build_edit(registry, request)
    scope = await registry.store.read(lambda reader: scope_of(reader, request.query))
    change = None if dry_run else await find_unfinished(registry, by, request)
    state = change or new_change(registry, by, request, scope)
    run = _BulkRun(registry, by, edit, source, state, change, is_undo=False, dry_run=dry_run)
    async for step in run.steps():
        yield step


async def undo_bulk_change(registry: Registry, by: Agent, id: str, *, dry_run: bool = False) -> AsyncIterator[BulkStep]:
    """Take a bulk change back, and yield its state after each transaction. An interrupted undo continues.

    A name that was changed since is reported, and stays as it is.
    """
    change = await find_bulk_change(registry, by, id)
    if change.state == "undone" and not change.undo_refused:
        raise WrongState(f"bulk change {id}", change.state, "applied")
    state = msgspec.structs.replace(change, undo_cursor="", undo_refused=0) if change.state == "undone" else change
    run = _BulkRun(registry, by, UndoEdit(state), UndoSource(state), state, change, is_undo=True, dry_run=dry_run)
    async for step in run.steps():
        yield step


class _BulkRun:
    """One run of a bulk change, or of its undo."""

    def __init__(
        self,
        registry: Registry,
        by: Agent,
        edit: BulkEdit,
        source: Source,
        change: BulkChange,
        stored: BulkChange | None,
        *,
        is_undo: bool,
        dry_run: bool,
    ) -> None:
        self._registry = registry
        self._by = by
        self._edit = edit
        self._source = source
        self._change = change
        self._is_undo = is_undo
        self._is_dry_run = dry_run
        self._stored = stored
        self._is_begun = stored is not None and (not is_undo or stored.state == "undoing")
        self._id = change.id or new_id()
        self._note = undo_note(self._id) if is_undo else revision_note(self._id, edit.detail)

    async def steps(self) -> AsyncIterator[BulkStep]:
        async for batch, is_last in _iterate_ahead(self._batches()):
            yield await self._finish_batch(batch, is_last)

    async def _batches(self) -> AsyncIterator[_Batch]:
        """Yield prepared batches; the last one may be empty."""
        cursor = self._change.undo_cursor if self._is_undo else self._change.cursor
        batch = _Batch(cursor)
        async for chunk in self._source.chunks(self._registry, self._by, self._edit, cursor):
            batch.cursor = chunk.cursor
            batch.seen += chunk.seen
            batch.problems += chunk.problems
            batch.edits += await prepare_edits(self._registry, self._by, self._edit, chunk.histories, self._note)
            if len(batch.edits) >= CHUNK:
                yield batch
                batch = _Batch(chunk.cursor)
        yield batch

    async def _finish_batch(self, batch: _Batch, is_last: bool) -> BulkStep:
        if self._is_dry_run:
            outcome = await self._registry.store.scan(lambda reader: self._check(reader, batch))
            self._change = self._advance(batch, outcome, is_last)
        else:
            outcome = await self._write_batch(batch, is_last)
        return BulkStep(self._change, outcome.problems, self._examples(outcome.changed))

    def _check(self, reader: Reader, batch: _Batch) -> _Outcome:
        """Separate the edits that the agent may make from the problems."""
        check = EditCheck(reader, self._by, self._edit, self._registry.current_time())
        permitted: list[PreparedEdit] = []
        problems = list(batch.problems)
        for one in batch.edits:
            try:
                check.require_permitted(one)
                permitted.append(one)
            except StoreUnavailable:
                raise
            except PerdureError as problem:
                problems.append(BulkProblem(one.row.name, str(problem)))
        return _Outcome(permitted, problems)

    async def _write_batch(self, batch: _Batch, is_last: bool) -> _Outcome:
        for _ in range(_MOST_RETRIES):
            try:
                outcome, change, is_written = await self._registry.store.write(
                    lambda tx: self._write(tx, batch, is_last)
                )
            except _StaleChunk as stale:
                await self._prepare_again(batch, stale.keys)
                continue
            self._change = change
            if is_written:
                self._stored, self._is_begun = change, True
            return outcome
        raise Conflict(f"bulk change {self._id}", "identifiers at rest", "some that change all the time: try again")

    def _write(self, tx: Transaction, batch: _Batch, is_last: bool) -> tuple[_Outcome, BulkChange, bool]:
        """Write a batch and the state of the bulk change, in one transaction."""
        if self._stored is not None and not is_current(tx, self._stored):
            raise Conflict(f"bulk change {self._id}", "its last state", "another one: another process works on it")
        current = tx.find_many([one.row.key for one in batch.edits]) if batch.edits else {}
        stale = [key for one in batch.edits if current[key := one.row.key].version != one.row.version]
        if stale:
            raise _StaleChunk(stale)
        outcome = self._check(tx, batch)
        change = self._advance(batch, outcome, is_last)
        if not self._is_begun and not outcome.changed:
            if self._stored is not None:  # an undo that could restore nothing so far
                change = msgspec.structs.replace(change, state=self._stored.state, ended=self._stored.ended)
            return outcome, change, False
        tx.update([change for one in outcome.changed for change in one.changes])
        for one in outcome.changed:
            revisions.write_consequences(tx, one.row.key, one.before, one.after, one.row.version + 1)
        if isinstance(self._edit, TransferEdit):
            self._grant_receiver(tx, self._edit, outcome.changed)
        change = msgspec.structs.replace(change, id=self._id)
        put_change(tx, change)
        self._log(tx, change, is_last)
        return outcome, change, True

    def _log(self, tx: Transaction, change: BulkChange, is_last: bool) -> None:
        """Record the begin and the end among the events."""
        at, kind = self._registry.current_time(), change.request.kind
        what = f"bulk {kind} undo" if self._is_undo else f"bulk {kind}"
        if not self._is_begun:
            tx.put_event(Event(at, self._by.id, what, change.id, "begun"))
        if is_last:
            detail = f"{change.undone} restored, {change.undo_refused} refused" if self._is_undo else summarize(change)
            tx.put_event(Event(at, self._by.id, what, change.id, detail))

    def _grant_receiver(self, tx: Transaction, edit: TransferEdit, changed: Sequence[PreparedEdit]) -> None:
        """Grant the new owner what owners may do, once for each prefix and end of the permission."""
        at = self._registry.current_time()
        granted: set[tuple[str, str | None]] = set()
        for one in changed:
            scope = one.prefix.key
            if not is_granted(tx, self._by, "transfer", scope, at, one.before, one.row.key):
                continue  # an HS_ADMIN applies to its record only
            until = grant_end(tx, self._by, "transfer", scope, at, one.before)
            if (scope, until) not in granted:
                granted.add((scope, until))
                grant_own(tx, self._by, edit.receiver, one.prefix, at, until)

    async def _prepare_again(self, batch: _Batch, keys: Sequence[str]) -> None:
        """Prepare identifiers again that were changed since."""

        def work(reader: Reader) -> list[History]:
            stored = reader.newest_histories_of(keys).values()
            return [
                one for one in stored if self._source.select_again(self._registry, self._by, self._edit, reader, one)
            ]

        histories = await self._registry.store.read(work)
        again = await prepare_edits(self._registry, self._by, self._edit, histories, self._note)
        changed = set(keys)
        batch.edits = [one for one in batch.edits if one.row.key not in changed] + again

    def _advance(self, batch: _Batch, outcome: _Outcome, is_last: bool) -> BulkChange:
        """Return the state after a batch."""
        before, at = self._change, self._registry.current_time()
        done, refused = len(outcome.changed), len(outcome.problems)
        if self._is_undo:
            return msgspec.structs.replace(
                before,
                state="undone" if is_last else "undoing",
                ended=at if is_last else before.ended,
                undone=before.undone + done,
                undo_refused=before.undo_refused + refused,
                undo_cursor=batch.cursor,
            )
        keys = [one.row.key for one in outcome.changed]
        urls = 0
        if before.request.kind == "retarget":
            urls = sum(len(self._edit.describe(one.before, one.after)) for one in outcome.changed)
        return msgspec.structs.replace(
            before,
            state="preview" if self._is_dry_run else "finished" if is_last else "applying",
            ended=at if is_last else None,
            seen=before.seen + batch.seen,
            changed=before.changed + done,
            refused=before.refused + refused,
            unchanged=before.unchanged + batch.seen - done - refused,
            urls=before.urls + urls,
            cursor=batch.cursor,
            first=min([before.first or min(keys), *keys]) if keys else before.first,
            last=max([before.last, *keys]),
            problems=before.with_problems(list(outcome.problems)),
        )

    def _examples(self, changed: Sequence[PreparedEdit]) -> list[Example]:
        examples: list[Example] = []
        for one in changed[:MOST_EXAMPLES]:
            examples += [
                Example(one.row.name, before, after) for before, after in self._edit.describe(one.before, one.after)
            ]
        return examples[:MOST_EXAMPLES]


async def _iterate_ahead(items: AsyncIterator[T]) -> AsyncIterator[tuple[T, bool]]:
    """Yield each item, and whether it is the last, while the next one is already being made."""
    item = await anext(items, None)
    ahead = asyncio.ensure_future(anext(items, None))
    try:
        while item is not None:
            following = await ahead
            if following is not None:
                ahead = asyncio.ensure_future(anext(items, None))
            yield item, following is None
            item = following
    finally:
        ahead.cancel()
        await asyncio.gather(ahead, return_exceptions=True)
