"""The driver of an import. It prepares a chunk while the one before is written, counts, reports and checkpoints."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from perdure.errors import InvalidInput, NameTaken, PerdureError
from perdure.formats.import_entries import Entry, FullHistory, ImportPut, Notice
from perdure.records.validation import to_iso_seconds
from perdure.registry.entities import WHOLE_REGISTRY, Agent, Prefix
from perdure.registry.importing.chunk import ImportChunk, Prepared, PreparedEntry, Problem
from perdure.registry.importing.full_histories import prepare_history
from perdure.registry.importing.import_options import ImportOptions, Tally, one_day_later
from perdure.registry.importing.new_prefixes import NewPrefix, find_new_prefixes, insert_new_prefixes
from perdure.registry.importing.source_metadata import parties_in
from perdure.registry.importing.upserts import prepare_put
from perdure.registry.permissions.permissions import require_permission
from perdure.registry.registry import Registry
from perdure.registry.responsible_parties import check_resolvable_party
from perdure.registry.store_interface import Reader, Transaction

_CHUNK: Final = 2000
_DEFAULTS: Final = ImportOptions()


async def import_entries(
    registry: Registry,
    by: Agent,
    entries: Iterable[Entry],
    options: ImportOptions = _DEFAULTS,
    *,
    checkpoint: str | None = None,
    report: Callable[[Problem], None] = lambda problem: None,
    watch: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Import all entries.

    `checkpoint` identifies the file by its content: entries that were done before are skipped.
    """
    options = await registry.store.read(lambda reader: _check_options(registry, reader, by, options))
    tally = Tally()
    if checkpoint is not None and not options.dry_run:
        tally = await read_checkpoint(registry, by, checkpoint)
        tally.resumed = tally.entries
        if tally.finished:
            return tally
    import_run = _ImportRun(registry, by, options, checkpoint, report)
    pending: asyncio.Task[Tally] | None = None
    try:
        for chunk in _chunks(islice(entries, tally.entries, None)):
            if pending is not None and options.dry_run:
                tally, pending = await pending, None
            ready = await import_run.prepare_chunk(chunk)
            if pending is not None:
                tally = await pending
                watch(tally)
            pending = asyncio.create_task(import_run.write(ready, tally))
            await asyncio.sleep(0)  # let the writer start with it now
        if pending is not None:
            tally = await pending
    except BaseException:
        if pending is not None:
            await asyncio.gather(pending, return_exceptions=True)
        raise
    tally.finished = True
    if checkpoint is not None and not options.dry_run:
        # A rejected entry may be valid the next time: then the whole file is read again, and the rest is unchanged.
        stored = Tally() if tally.refused else tally
        if tally.created + tally.changed + tally.unchanged:
            await registry.store.write(lambda tx: _save_checkpoint(tx, by, checkpoint, stored))
    watch(tally)
    return tally


async def read_checkpoint(registry: Registry, by: Agent, checkpoint: str) -> Tally:
    """Return what an earlier run of the same agent has done with this file."""
    return await registry.store.read(lambda reader: _decode_checkpoint(reader, by, checkpoint))


async def forget_checkpoint(registry: Registry, by: Agent, checkpoint: str) -> None:
    """Let the agent's next import of this file begin at its first line."""

    def work(tx: Transaction) -> None:
        if tx.fact(_checkpoint_fact(by, checkpoint)) is not None:  # only an agent with permission to import has one
            _save_checkpoint(tx, by, checkpoint, Tally())

    await registry.store.write(work)


def _check_options(registry: Registry, reader: Reader, by: Agent, options: ImportOptions) -> ImportOptions:
    """Return the options with the creator and the date as they are stored. Refuse them before anything is written."""
    at = registry.current_time()
    if options.new_prefixes is not None:
        require_permission(reader, by, "admin", WHOLE_REGISTRY, at)
    creator = options.creator
    if creator is not None:
        creator = check_resolvable_party(reader, creator, "creator", registry.settings.limits)
    created = None if options.created is None else to_iso_seconds(options.created, "created")
    if created is not None and created > one_day_later(at):
        raise InvalidInput("import", "created", f"the creation date {created} is in the future")
    return msgspec.structs.replace(options, creator=creator, created=created)


class PreparedChunk(NamedTuple):
    """The entries of one transaction, and the prefixes that they need."""

    entries: list[PreparedEntry]
    prefixes: list[NewPrefix]


class _DryRunRollback(Exception):
    """Carries the result of a dry run out of a transaction that must be rolled back."""

    def __init__(self, outcome: "_Outcome") -> None:
        self.outcome = outcome


class _Outcome(NamedTuple):
    """What a chunk has done: the counts so far, the problems, and the parties that were looked up."""

    tally: Tally
    problems: list[Problem]
    parties: Mapping[str, str]


class _ImportRun:
    """One import, with the prefixes and parties that it has looked up."""

    def __init__(
        self,
        registry: Registry,
        by: Agent,
        options: ImportOptions,
        checkpoint: str | None,
        report: Callable[[Problem], None],
    ) -> None:
        self._registry = registry
        self._by = by
        self._options = options
        self._checkpoint = checkpoint
        self._report = report
        self._prefixes: dict[str, Prefix] = {}
        self._parties: dict[str, str] = {} if options.creator is None else {options.creator: options.creator}
        self._new_prefixes: list[NewPrefix] = []
        self._reported: set[str] = set()
        # If all names of a file were new so far, the next ones are expected to be new, until the store refuses one. To
        # look up every name beforehand would cost a fifth of the store's work. In a dry run, the store refuses none.
        self._expects_new = False
        self._was_wrong = False

    def prefix(self, key: str) -> Prefix | None:
        """Return a prefix as it was when the chunk was prepared; its rules of comparison never change."""
        return self._prefixes.get(key)

    async def prepare_chunk(self, chunk: list[Entry]) -> PreparedChunk:
        """Prepare what does not need a transaction, while the chunk before is being written."""
        parties = parties_in(chunk, self._registry.settings.type_prefix) - self._parties.keys()
        await self._registry.store.read(lambda reader: self._look_up(reader, parties))
        at = self._registry.current_time()
        new = find_new_prefixes(chunk, self._prefixes, self._options, at)
        self._prefixes.update((one.prefix.key, one.prefix) for one in new)
        self._new_prefixes += new
        # A dry run stores none of them, so each of its transactions needs them all.
        prefixes = [*self._new_prefixes] if self._options.dry_run else new
        return PreparedChunk([self._prepare_entry(entry, at) for entry in chunk], prefixes)

    def _prepare_entry(self, entry: Entry, at: str) -> PreparedEntry:
        """Prepare one entry. One that cannot be prepared is left to the transaction, which reports why."""
        prepared: Prepared
        try:
            if isinstance(entry, ImportPut):
                prepared = prepare_put(self._registry, self, self._by, entry, self._options, self._parties, at)
            elif isinstance(entry, FullHistory) and entry.scheme != "ppid":  # persons refer to others, which must exist
                prepared = prepare_history(self._registry, self, entry, at)
            else:
                return PreparedEntry(entry)
        except (PerdureError, KeyError):
            return PreparedEntry(entry)
        ready = self._registry.store.precompute
        changes = tuple([ready(change) for change in prepared.changes])
        return PreparedEntry(entry, prepared, changes, tuple([change.identifier.key for change in changes]))

    def _look_up(self, reader: Reader, parties: set[str]) -> None:
        self._load_prefixes(reader)
        for text in parties:
            try:
                self._parties[text] = check_resolvable_party(reader, text, "creator", self._registry.settings.limits)
            except PerdureError:
                continue  # it may be in this chunk

    def _load_prefixes(self, reader: Reader) -> None:
        for prefix in reader.prefixes():
            self._prefixes.update(dict.fromkeys(prefix.lookup_keys, prefix))

    async def write(self, ready: PreparedChunk, before: Tally) -> Tally:
        names = [key for one in ready.entries for key in one.keys]

        def apply(tx: Transaction, names_to_find: Sequence[str]) -> _Outcome:
            added = insert_new_prefixes(tx, self._by, ready.prefixes, self._registry.current_time())
            chunk = ImportChunk(self._registry, tx, self._by, self._options, self._parties, before)
            known = set(tx.find_many(names_to_find)) if names_to_find else set()
            self._expects_new = not known and not self._was_wrong and not self._options.dry_run
            tally, problems = chunk.apply(ready.entries, known)
            if self._checkpoint is not None and chunk.has_permitted_entries and not self._options.dry_run:
                _save_checkpoint(tx, self._by, self._checkpoint, tally)
            return _Outcome(tally, [*added, *problems], chunk.parties)

        def work(tx: Transaction) -> _Outcome:
            try:
                with tx.attempt():
                    outcome = apply(tx, [] if self._expects_new else names)
            except NameTaken:
                self._was_wrong = True
                outcome = apply(tx, names)
            if self._options.dry_run:
                self._load_prefixes(tx)  # so that later chunks can use them, though nothing is stored
                raise _DryRunRollback(outcome)
            return outcome

        try:
            outcome = await self._registry.store.write(work)
        except _DryRunRollback as undone:
            outcome = undone.outcome
        self._parties.update(outcome.parties)
        for problem in outcome.problems:
            if isinstance(problem, Notice) and problem.kind == "prefix":
                if problem.reason in self._reported:
                    continue  # each transaction of a dry run adds it
                self._reported.add(problem.reason)
            self._report(problem)
        return outcome.tally


def _chunks(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    iterator = iter(entries)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def _decode_checkpoint(reader: Reader, by: Agent, checkpoint: str) -> Tally:
    stored = reader.fact(_checkpoint_fact(by, checkpoint))
    return Tally() if stored is None else msgspec.json.decode(stored, type=Tally)


def _save_checkpoint(tx: Transaction, by: Agent, checkpoint: str, tally: Tally) -> None:
    tx.put_fact(_checkpoint_fact(by, checkpoint), msgspec.json.encode(tally).decode())


def _checkpoint_fact(by: Agent, checkpoint: str) -> str:
    return f"import {by.id} {checkpoint}"
