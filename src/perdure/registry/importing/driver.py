"""The walk over a file: prepare a chunk while the one before is being written, count, report, remember how far."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from perdure.errors import ClockBehind, InvalidInput, PerdureError, StoreUnavailable
from perdure.exchange.entry import Edit, Entry, Notice, Put, Refused, Setting, Whole
from perdure.registry.authority import require
from perdure.registry.entities import EVERYWHERE, Action, Agent, Change, Prefix
from perdure.registry.importing.edits import apply_edit
from perdure.registry.importing.options import Options, Outcome, Tally
from perdure.registry.importing.puts import PreparedPut, creators_in, prepare, put_again
from perdure.registry.importing.settings import apply_setting
from perdure.registry.importing.wholes import PreparedWhole, apply_whole, prepare_whole
from perdure.registry.naming import locate
from perdure.registry.parties import actionable
from perdure.registry.protocol import Reader, Transaction
from perdure.registry.registry import Registry

_CHUNK: Final = 2000
_DEFAULTS: Final = Options()

Problem = Refused | Notice
Prepared = PreparedPut | PreparedWhole
Ready = tuple[Entry, Prepared | None]


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

    def prefix(self, key: str) -> Prefix | None:
        """A prefix as it was when the chunk was prepared; what it compares by never changes."""
        return self._prefixes.get(key)

    async def prepared(self, chunk: list[Entry]) -> list[Ready]:
        """What can be made ready without the store. An entry that cannot is left to the transaction, which says why."""
        named = creators_in(chunk, self._registry.settings.type_prefix) - self._parties.keys()
        await self._registry.store.read(lambda reader: self._look_up(reader, named))
        at = self._registry.now()
        return [(entry, self._prepared(entry, at)) for entry in chunk]

    def _prepared(self, entry: Entry, at: str) -> Prepared | None:
        try:
            if isinstance(entry, Whole) and entry.scheme != "ppid":  # a person leads to others, which must be there
                return prepare_whole(self._registry, self, entry, at)
            if not isinstance(entry, Put):
                return None
            return prepare(self._registry, self, self._by, entry, self._options, self._parties, at)
        except (PerdureError, KeyError):
            return None

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
        def work(tx: Transaction) -> tuple[Tally, list[Problem]]:
            chunk = _Chunk(self._registry, tx, self._by, self._options, self._parties, before)
            tally, problems = chunk.apply(ready)
            if self._options.dry_run:
                self._know_prefixes(tx)  # so that what follows can build upon them, though nothing is kept
                raise _Undone(tally, problems)
            if self._checkpoint is not None and chunk.was_allowed:
                _keep(tx, self._by, self._checkpoint, tally)
            return tally, problems

        try:
            tally, problems = await self._registry.store.write(work)
        except _Undone as undone:
            tally, problems = undone.tally, undone.problems
        for problem in problems:
            self._report(problem)
        return tally


class _Chunk:
    """One transaction. New names are gathered and inserted together; whatever may touch an existing one goes alone."""

    def __init__(
        self,
        registry: Registry,
        tx: Transaction,
        by: Agent,
        options: Options,
        parties: dict[str, str],
        before: Tally,
    ) -> None:
        self._registry = registry
        self._tx = tx
        self._by = by
        self._options = options
        self._parties = dict(parties)
        self._tally = msgspec.structs.replace(before)
        self._at = registry.now()
        self._allowed: set[tuple[str, str]] = set()
        self._fresh: list[Change] = []
        self._known: set[str] = set()
        self._problems: list[Problem] = []

    def apply(self, ready: list[Ready]) -> tuple[Tally, list[Problem]]:
        wanted = [one.identifier.key for _, prepared in ready if prepared is not None for one in prepared.changes]
        known = self._known = set(self._tx.find_many(wanted)) if wanted else set()
        for entry, prepared in ready:
            self._tally.entries += 1
            self._tally.line = max(self._tally.line, entry.line)
            try:
                if isinstance(entry, Refused | Notice):
                    self._note(entry)
                elif prepared is not None and known.isdisjoint(
                    keys := [one.identifier.key for one in prepared.changes]
                ):
                    self._permit(entry, prepared.located.prefix.key)
                    known.update(keys)
                    self._fresh.extend(prepared.changes)
                    self._tally.created += 1
                    self._problems.extend(prepared.notices)
                else:
                    self._flush()
                    with self._tx.attempt():  # half an entry is never kept
                        outcome = self._one(entry, prepared)
                    if isinstance(outcome, Notice):
                        self._note(outcome)
                    else:
                        self._tally.count(outcome)
            except (StoreUnavailable, ClockBehind):
                raise  # the fault is not the entry's
            except PerdureError as problem:
                self._note(Refused(entry.line, str(problem), getattr(entry, "name", None)))
        self._flush()
        self._tally.notices += sum(isinstance(one, Notice) for one in self._problems)
        self._tally.refused += sum(isinstance(one, Refused) for one in self._problems)
        return self._tally, self._problems

    @property
    def was_allowed(self) -> bool:
        """Whether anything in this chunk was done by right."""
        return bool(self._allowed)

    def _note(self, problem: Problem) -> None:
        if self._options.strict and isinstance(problem, Refused):
            raise InvalidInput("import", "line", f"line {problem.line}: {problem.reason}")
        self._problems.append(problem)

    def _flush(self) -> None:
        if self._fresh:
            self._tx.insert(self._fresh)
            self._fresh.clear()

    def _permit(self, entry: Entry, scope: str) -> None:
        """Refuse who has no grant. A whole history is written in the names of others: that takes more than `import`."""
        action: Action = "admin" if isinstance(entry, Whole | Setting) else "import"
        where = EVERYWHERE if action == "admin" else scope
        if (action, where) not in self._allowed:
            require(self._tx, self._by, action, where, self._at)
            self._allowed.add((action, where))

    def _one(self, entry: Entry, prepared: Prepared | None) -> Outcome | Notice:
        tx, by, options, at = self._tx, self._by, self._options, self._at
        if isinstance(entry, Whole):
            self._permit(entry, EVERYWHERE)
            return apply_whole(self._registry, tx, entry)
        if isinstance(entry, Setting):
            self._permit(entry, EVERYWHERE)
            return apply_setting(tx, by, entry, options, at)
        if isinstance(entry, Edit):
            self._permit(entry, locate(tx, entry.name).prefix.key)
            return apply_edit(self._registry, tx, by, entry, options, at)
        if not isinstance(entry, Put):
            raise InvalidInput("import", "line", "this cannot be imported")
        if not isinstance(prepared, PreparedPut):
            for text in creators_in([entry], self._registry.settings.type_prefix) - self._parties.keys():
                self._parties[text] = actionable(tx, text, "creator", self._registry.settings.limits)
            prepared = prepare(self._registry, tx, by, entry, options, self._parties, at)
        self._permit(entry, prepared.located.prefix.key)
        self._problems.extend(prepared.notices)
        self._known.add(prepared.located.key)
        if tx.find(prepared.located.key) is None:
            tx.insert(prepared.changes)
            return "created"
        return put_again(self._registry, tx, by, prepared, entry, options, at)


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
