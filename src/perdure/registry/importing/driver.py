"""The walk over a file: prepare a chunk while the one before is being written, count, report, remember how far."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from perdure.errors import NameTaken, PerdureError
from perdure.exchange.entry import Entry, Put, Whole
from perdure.registry.entities import Agent, Prefix
from perdure.registry.importing.chunk import Chunk, Prepared, Problem, Ready
from perdure.registry.importing.options import Options, Tally
from perdure.registry.importing.puts import creators_in, prepare
from perdure.registry.importing.wholes import prepare_whole
from perdure.registry.parties import actionable
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry

_CHUNK: Final = 2000
_DEFAULTS: Final = Options()


async def import_entries(
    registry: Registry,
    by: Agent,
    entries: Iterable[Entry],
    options: Options = _DEFAULTS,
    *,
    checkpoint: str | None = None,
    report: Callable[[Problem], None] = lambda problem: None,
    watch: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Bring everything in. `checkpoint` names the file by its content: what was done before is passed over."""
    tally = Tally()
    if checkpoint is not None and not options.dry_run:
        tally = await imported_so_far(registry, by, checkpoint)
        tally.resumed = tally.entries
        if tally.finished:
            return tally
    walk = _Walk(registry, by, options, checkpoint, report)
    pending: asyncio.Task[Tally] | None = None
    try:
        for chunk in _chunks(islice(entries, tally.entries, None)):
            if pending is not None and options.dry_run:
                tally, pending = await pending, None
            ready = await walk.prepared(chunk)
            if pending is not None:
                tally = await pending
                watch(tally)
            pending = asyncio.create_task(walk.write(ready, tally))
            await asyncio.sleep(0)  # the writer begins with it now
        if pending is not None:
            tally = await pending
    except BaseException:
        if pending is not None:
            await asyncio.gather(pending, return_exceptions=True)
        raise
    tally.finished = True
    if checkpoint is not None and not options.dry_run:
        # What was refused may be right the next time: then the file is gone over again, and finds the rest unchanged.
        kept = Tally() if tally.refused else tally
        if tally.entries > tally.refused + tally.notices:
            await registry.store.write(lambda tx: _keep(tx, by, checkpoint, kept))
    watch(tally)
    return tally


async def imported_so_far(registry: Registry, by: Agent, checkpoint: str) -> Tally:
    """What an earlier run of one's own has done with this file."""
    return await registry.store.read(lambda reader: _resumed(reader, by, checkpoint))


async def forget_checkpoint(registry: Registry, by: Agent, checkpoint: str) -> None:
    """Let one's next import of this file begin at its first line."""

    def work(tx: Transaction) -> None:
        if tx.fact(_fact(by, checkpoint)) is not None:  # only who may import has left one
            _keep(tx, by, checkpoint, Tally())

    await registry.store.write(work)


class _Undone(Exception):
    """Carries the result of a dry run out of a transaction that must not be kept."""

    def __init__(self, tally: Tally, problems: list[Problem]) -> None:
        self.tally = tally
        self.problems = problems


class _Walk:
    """One import, with what it has looked up already."""

    def __init__(
        self,
        registry: Registry,
        by: Agent,
        options: Options,
        checkpoint: str | None,
        report: Callable[[Problem], None],
    ) -> None:
        self._registry = registry
        self._by = by
        self._options = options
        self._checkpoint = checkpoint
        self._report = report
        self._prefixes: dict[str, Prefix] = {}
        self._parties: dict[str, str] = {}
        # A file whose names were all new so far is believed to go on so, until the store refuses one of them: to ask
        # for every name beforehand would cost the store a fifth of its work. A dry run would not be refused.
        self._expects_new = False
        self._was_wrong = False

    def prefix(self, key: str) -> Prefix | None:
        """A prefix as it was when the chunk was prepared; what it compares by never changes."""
        return self._prefixes.get(key)

    async def prepared(self, chunk: list[Entry]) -> list[Ready]:
        """What can be made ready without the store, while the chunk before is being written."""
        named = creators_in(chunk, self._registry.settings.type_prefix) - self._parties.keys()
        await self._registry.store.read(lambda reader: self._look_up(reader, named))
        at = self._registry.now()
        return [self._prepared(entry, at) for entry in chunk]

    def _prepared(self, entry: Entry, at: str) -> Ready:
        """An entry that cannot be prepared is left to the transaction, which says why."""
        prepared: Prepared
        try:
            if isinstance(entry, Put):
                prepared = prepare(self._registry, self, self._by, entry, self._options, self._parties, at)
            elif isinstance(entry, Whole) and entry.scheme != "ppid":  # a person leads to others, which must be there
                prepared = prepare_whole(self._registry, self, entry, at)
            else:
                return Ready(entry)
        except (PerdureError, KeyError):
            return Ready(entry)
        ready = self._registry.store.ready
        changes = tuple([ready(change) for change in prepared.changes])
        return Ready(entry, prepared, changes, tuple([change.identifier.key for change in changes]))

    def _look_up(self, reader: Reader, named: set[str]) -> None:
        self._know_prefixes(reader)
        for text in named:
            try:
                self._parties[text] = actionable(reader, text, "creator", self._registry.settings.limits)
            except PerdureError:
                continue  # it may come with this very chunk

    def _know_prefixes(self, reader: Reader) -> None:
        for prefix in reader.prefixes():
            self._prefixes[prefix.key] = prefix
            if prefix.opaque is not None:
                self._prefixes[prefix.opaque] = prefix

    async def write(self, ready: list[Ready], before: Tally) -> Tally:
        names = [key for one in ready for key in one.keys]

        def apply(tx: Transaction, wanted: Sequence[str]) -> tuple[Tally, list[Problem]]:
            chunk = Chunk(self._registry, tx, self._by, self._options, self._parties, before)
            known = set(tx.find_many(wanted)) if wanted else set()
            self._expects_new = not known and not self._was_wrong and not self._options.dry_run
            tally, problems = chunk.apply(ready, known)
            if self._checkpoint is not None and chunk.was_allowed and not self._options.dry_run:
                _keep(tx, self._by, self._checkpoint, tally)
            return tally, problems

        def work(tx: Transaction) -> tuple[Tally, list[Problem]]:
            try:
                with tx.attempt():
                    tally, problems = apply(tx, [] if self._expects_new else names)
            except NameTaken:
                self._was_wrong = True
                tally, problems = apply(tx, names)
            if self._options.dry_run:
                self._know_prefixes(tx)  # so that what follows can build upon them, though nothing is kept
                raise _Undone(tally, problems)
            return tally, problems

        try:
            tally, problems = await self._registry.store.write(work)
        except _Undone as undone:
            tally, problems = undone.tally, undone.problems
        for problem in problems:
            self._report(problem)
        return tally


def _chunks(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    iterator = iter(entries)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def _resumed(reader: Reader, by: Agent, checkpoint: str) -> Tally:
    kept = reader.fact(_fact(by, checkpoint))
    return Tally() if kept is None else msgspec.json.decode(kept, type=Tally)


def _keep(tx: Transaction, by: Agent, checkpoint: str, tally: Tally) -> None:
    tx.put_fact(_fact(by, checkpoint), msgspec.json.encode(tally).decode())


def _fact(by: Agent, checkpoint: str) -> str:
    return f"import {by.id} {checkpoint}"
