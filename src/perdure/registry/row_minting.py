"""Minting of a name for each row of a table, in chunks: one is prepared while the one before is written.

Rows are counted from 0. A row that is refused stops no other row.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from perdure.errors import (
    Conflict,
    InvalidInput,
    InvalidName,
    NameTaken,
    NotAuthorised,
    PerdureError,
)
from perdure.records.frozen_struct import FrozenStruct
from perdure.records.value import with_stated_ttl
from perdure.registry import revisions
from perdure.registry.entities import Agent, Change, Prefix
from perdure.registry.minters import (
    MintedIdentifier,
    RecordTemplate,
    check_suffix,
    computed_name_error,
    generated_suffix_error,
    issue_names,
    missing_suffix_error,
    most_at_once,
)
from perdure.registry.minting import EMPTY_STATEMENT
from perdure.registry.name_keys import require_prefix
from perdure.registry.named_rows import find_named
from perdure.registry.new_record import (
    ResponsibleParties,
    Statement,
    build_first_record,
    build_values,
    refuse_metadata,
    resolve_parties,
)
from perdure.registry.permissions.hs_admin import with_administrators
from perdure.registry.permissions.permissions import require_key_permission, require_permission
from perdure.registry.registry import Registry
from perdure.registry.row_answers import AnsweredRows, RowAnswers, RowOutcome
from perdure.registry.store_interface import Reader, Transaction
from perdure.timelines.clockless_suffixes import random_suffix

# Rows in one transaction. A smaller number would not find the answers that were stored for chunks of this size.
_CHUNK: Final = 2000
_MOST_PARTIES: Final = 10_000  # creators and owners that are remembered
_Parties = tuple[str | None, tuple[str, ...]]


class MintRow(FrozenStruct, frozen=True):
    """A row: what its name is for, the name that it has already, or the error with which it is refused.

    `source` identifies the row, so that a repeated request is recognised.
    """

    statement: Statement = EMPTY_STATEMENT
    suffix: str | None = None
    name: str | None = None
    error: PerdureError | None = None
    source: bytes = b""


class _ReadyRow(NamedTuple):
    """A row whose outcome is known; or its record, with the change that writes it if the name is known as well."""

    row: MintRow
    outcome: RowOutcome | None = None
    template: RecordTemplate | None = None
    change: Change | None = None


async def mint_rows(
    registry: Registry,
    by: Agent,
    prefix: str,
    rows: Iterable[MintRow],
    *,
    answers: RowAnswers | None = None,
    dry_run: bool = False,
    note: str | None = None,
    patience: Fraction | None = None,
) -> AsyncGenerator[list[RowOutcome], None]:
    """Mint a name for each row, and yield the outcomes in the order of the rows. The names are durable and due.

    With `answers`, rows that were minted before get the same names again. A dry run checks the rows and writes nothing.
    `patience`, in seconds, is how long the caller can wait for the dates of one chunk.
    """
    minter = _RowMinter(registry, by, prefix, answers, note, patience)
    await minter.open()
    first = 0
    pending: asyncio.Task[list[RowOutcome]] | None = None
    try:
        for chunk in _chunks(rows):
            ready = await minter.prepare(chunk)
            if dry_run:
                yield await minter.check(ready, first)
            elif minter.has_dates:  # their pace is that of the clock
                async for outcomes in minter.write_parts(ready, first):
                    yield outcomes
            else:
                done = None if pending is None else await pending
                pending = asyncio.create_task(minter.write(ready, first))
                await asyncio.sleep(0)  # let the writer start with it now
                if done is not None:
                    yield done
            first += len(chunk)
        if pending is not None:
            yield await pending
    finally:
        if pending is not None:
            await asyncio.gather(pending, return_exceptions=True)


class _RowMinter:
    """A bulk mint, with the prefix and the parties that it has looked up."""

    def __init__(
        self,
        registry: Registry,
        by: Agent,
        prefix: str,
        answers: RowAnswers | None,
        note: str | None,
        patience: Fraction | None,
    ) -> None:
        self.registry = registry
        self.by = by
        self.answers = answers
        self._prefix_name = prefix
        self._note = note
        self._patience = patience
        self._parties: dict[_Parties, ResponsibleParties | InvalidInput] = {}
        # In a dry run: hashes of the keys that earlier rows would have. A million of them need some tens of megabytes.
        self._checked: set[int] = set()

    async def open(self) -> None:
        """Check the clock, the prefix and the permission."""
        self.registry.check_clock()
        self.prefix = await self.registry.store.read(self.require_permission)
        if self.prefix.scheme == "ppid":
            raise computed_name_error(self.prefix)
        self._most_dates = most_at_once(self.registry, self.prefix, self._patience)

    @property
    def has_dates(self) -> bool:
        return self._most_dates is not None

    def require_permission(self, reader: Reader) -> Prefix:
        """Return the prefix. Raise NotAuthorised if the agent may not mint under it."""
        prefix = require_prefix(reader, self._prefix_name)
        require_permission(reader, self.by, "mint", prefix.key, self.registry.current_time())
        return prefix

    async def prepare(self, rows: Sequence[MintRow]) -> list[_ReadyRow]:
        """Prepare what does not need a transaction, while the chunk before is being written."""
        named = await self.registry.store.read(lambda reader: self._look_up(reader, rows))
        at = self.registry.current_time()
        taken: set[str] = set()
        return [self._prepare_row(row, at, named, taken) for row in rows]

    def _look_up(self, reader: Reader, rows: Sequence[MintRow]) -> dict[str, RowOutcome]:
        """Look up the parties of the rows, and return the outcomes of those that have a name."""
        if len(self._parties) > _MOST_PARTIES:
            self._parties.clear()
        for row in rows:
            parties = row.statement.creator, row.statement.owners
            if parties not in self._parties:
                try:
                    found = resolve_parties(reader, self.by, row.statement, self.registry.settings.limits)
                    self._parties[parties] = found
                except InvalidInput as problem:
                    self._parties[parties] = problem
        return find_named(reader, self.prefix, {row.name for row in rows if row.name is not None})

    def _prepare_row(self, row: MintRow, at: str, named: dict[str, RowOutcome], taken: set[str]) -> _ReadyRow:
        if row.error is not None:
            return _ReadyRow(row, RowOutcome(error=row.error))
        if row.name is not None:
            return _ReadyRow(row, named[row.name])
        try:
            suffix = self._choose_suffix(row)
            template = self._build_template(row.statement, at)
        except (InvalidInput, InvalidName) as problem:
            return _ReadyRow(row, RowOutcome(error=problem))
        if suffix is None:
            return _ReadyRow(row, None, template)
        change = self.registry.store.precompute(template.change_for(self.prefix, suffix))
        if change.identifier.key in taken:
            return _ReadyRow(row, RowOutcome(error=NameTaken(change.identifier.name)))
        taken.add(change.identifier.key)
        return _ReadyRow(row, None, template, change)

    def _choose_suffix(self, row: MintRow) -> str | None:
        """Return the suffix of a row, if the transaction is not needed to know it."""
        minter = self.prefix.minter
        if minter == "chosen":
            if row.suffix is None:
                raise missing_suffix_error(self.prefix)
            return check_suffix(self.prefix, row.suffix)
        if row.suffix is not None:
            raise generated_suffix_error(self.prefix)
        return random_suffix() if minter == "uuid" else None

    def _build_template(self, statement: Statement, at: str) -> RecordTemplate:
        parties = self._parties[statement.creator, statement.owners]
        if isinstance(parties, InvalidInput):
            raise parties
        settings = self.registry.settings
        refuse_metadata(statement.values, settings.type_prefix)
        stated = with_stated_ttl(build_values(statement, settings.limits, at), self.prefix.ttl)
        values = tuple(with_administrators(self.by, stated, at)) if stated else ()
        record = build_first_record(statement, values, parties, settings.limits, at)
        encoded = revisions.encode_within_limit(record, settings.limits.record_bytes)
        return RecordTemplate(record, encoded, self.by, at, self._note)

    async def write(self, ready: Sequence[_ReadyRow], first: int) -> list[RowOutcome]:
        """Mint the names of these rows, or get them again."""
        return [outcome async for part in self.write_parts(ready, first) for outcome in part]

    async def write_parts(self, ready: Sequence[_ReadyRow], first: int) -> AsyncIterator[list[RowOutcome]]:
        """Mint the names of these rows, as many at once as may be, and wait for their dates."""
        while ready:
            answered = await self.registry.store.write(partial(self._issue, ready=ready, first=first))
            if answered.due is not None:
                await self.registry.clock.wait_until(answered.due)
            yield answered.outcomes
            ready, first = ready[len(answered.outcomes) :], first + len(answered.outcomes)

    def _issue(self, tx: Transaction, ready: Sequence[_ReadyRow], first: int) -> AnsweredRows:
        prefix, at = self.require_permission(tx), self.registry.current_time()
        if (prefix.minter, prefix.pattern) != (self.prefix.minter, self.prefix.pattern):
            raise Conflict(prefix.name, f"the minter {self.prefix.minter}", f"{prefix.minter}, changed meanwhile")
        sources = [one.row.source for one in ready]
        if self.answers is not None:
            known = self.answers.find(tx, first, sources, at)
            if known is not None:
                return known
        ready = [self._check_keys(tx, one, at) for one in ready]
        fresh = [one for one in ready if one.outcome is None]
        issued = self._issue_names(tx, prefix, fresh)
        answer = AnsweredRows(_in_order(ready, iter(issued.outcomes)), issued.due)
        if self.answers is not None and any(one.is_new for one in answer.outcomes):
            self.answers.store(tx, first, sources[: len(answer.outcomes)], answer, at)
        return answer

    def _issue_names(self, tx: Transaction, prefix: Prefix, fresh: Sequence[_ReadyRow]) -> AnsweredRows:
        """Issue the names of these rows, or of as many as fit into the time that one transaction may take."""
        if not fresh:
            return AnsweredRows([], None)
        changes = [one.change for one in fresh if one.change is not None]
        if changes:
            return AnsweredRows(_insert_free(tx, changes, is_random=prefix.minter == "uuid"), None)
        templates = [one.template for one in fresh[: self._most_dates] if one.template is not None]
        issued = issue_names(self.registry, tx, prefix, templates, (), self._patience)
        return AnsweredRows([RowOutcome(one, is_new=True) for one in issued.minted], issued.due)

    def _check_keys(self, reader: Reader, ready: _ReadyRow, at: str) -> _ReadyRow:
        """Refuse a row with keys of administrators if the agent may only mint."""
        values = ready.row.statement.values
        if not values or ready.outcome is not None:
            return ready
        try:
            require_key_permission(reader, self.by, values, self.prefix.key, at)
        except NotAuthorised as problem:
            return _ReadyRow(ready.row, RowOutcome(error=problem))
        return ready

    async def check(self, ready: Sequence[_ReadyRow], first: int) -> list[RowOutcome]:
        """Return what would become of these rows, and write nothing."""
        return await self.registry.store.read(lambda reader: self._check_rows(reader, ready, first))

    def _check_rows(self, reader: Reader, ready: Sequence[_ReadyRow], first: int) -> list[RowOutcome]:
        outcomes = self._find_stored(reader, ready, first)
        rest = [self._check_keys(reader, one, self.registry.current_time()) for one in ready[len(outcomes) :]]
        is_chosen = self.prefix.minter == "chosen"
        keys = [one.change.identifier.key for one in rest if is_chosen and one.change is not None]
        taken = reader.find_many(keys) if keys else {}
        for one in rest:
            outcome = one.outcome
            if outcome is None and is_chosen and one.change is not None:
                row = one.change.identifier
                if row.key in taken or hash(row.key) in self._checked:
                    outcome = RowOutcome(error=NameTaken(row.name))
                self._checked.add(hash(row.key))
            outcomes.append(outcome or RowOutcome(is_new=True))
        return outcomes

    def _find_stored(self, reader: Reader, ready: Sequence[_ReadyRow], first: int) -> list[RowOutcome]:
        """Return the stored outcomes of the first of these rows."""
        outcomes: list[RowOutcome] = []
        while self.answers is not None and len(outcomes) < len(ready):
            sources = [one.row.source for one in ready[len(outcomes) :]]
            stored = self.answers.find(reader, first + len(outcomes), sources, self.registry.current_time())
            if stored is None:
                break
            outcomes += stored.outcomes
        return outcomes


def _insert_free(tx: Transaction, changes: Sequence[Change], *, is_random: bool) -> list[RowOutcome]:
    """Insert new names, and refuse those that exist. Nearly always none does, so they are not looked up before."""
    taken: set[str] = set()
    if is_random:
        tx.insert(changes)
    else:
        try:
            with tx.attempt():
                tx.insert(changes)
        except NameTaken:
            taken = set(tx.find_many([change.identifier.key for change in changes]))
            tx.insert([change for change in changes if change.identifier.key not in taken])
    return [
        RowOutcome(error=NameTaken(row.name))
        if row.key in taken
        else RowOutcome(MintedIdentifier(row.name), None, True)
        for row in [change.identifier for change in changes]
    ]


def _in_order(ready: Sequence[_ReadyRow], issued: Iterator[RowOutcome]) -> list[RowOutcome]:
    """Return the outcomes of the rows, up to the first one for which no name was issued yet."""
    outcomes = []
    for one in ready:
        outcome = one.outcome or next(issued, None)
        if outcome is None:
            break
        outcomes.append(outcome)
    return outcomes


def _chunks(rows: Iterable[MintRow]) -> Iterator[list[MintRow]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk
