"""Minting of names under a Handle prefix or an IBI subsystem. No name is ever issued twice.

The last date, the name, the record and its first revision are one transaction. It is acknowledged when it is durable
*and* the date has come: a crash in between wastes a date and never repeats one.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count as counting
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from perdure.errors import ClockJumped, CountUnknown, InvalidInput, NameTaken, OutOfRange
from perdure.names import handle, ibi
from perdure.records.record import Record
from perdure.records.value import Value, with_stated_ttl
from perdure.registry import revisions
from perdure.registry.entities import Agent, Change, Prefix, Subsystem, counter_key
from perdure.registry.name_keys import check_length, handle_key, require_prefix
from perdure.registry.new_record import Statement, build_values, first_record, refuse_metadata
from perdure.registry.permissions.hs_admin import with_administrators
from perdure.registry.permissions.permissions import require_key_permission, require_permission
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction
from perdure.timelines.clock import NANOSECONDS
from perdure.timelines.clockless_suffixes import DEFAULT_PATTERN, numbered_suffix, random_suffix
from perdure.timelines.timeline import HIGH_WATER_LEAD, Tick, check_wait, ibi_ticks, pilin_suffix, pilin_ticks

MOST_NAMES: Final = 1_000_000  # names in one call
_CHUNK: Final = 500  # names in one transaction
_NUMBERS_AHEAD: Final = Fraction(1000)  # names that the high-water mark of a counter is ahead
EMPTY_STATEMENT: Final = Statement()


class MintedIdentifier(NamedTuple):
    """A new identifier: its name, its other label if it has one, and the date that it was made from."""

    name: str
    alias: str | None = None
    date: Fraction | None = None


class RecordTemplate(NamedTuple):
    """The record of new names, before the names are known."""

    record: Record
    encoded: bytes
    by: Agent
    at: str

    def change_for(self, prefix: Prefix, suffix: str) -> Change:
        """Return the first revision of a name with this suffix."""
        name, key = f"{prefix.name}/{suffix}", handle_key(prefix, suffix)
        return revisions.first_revision(name, key, "handle", self.record, self.by, "mint", self.at, None, self.encoded)


class IssuedBatch(NamedTuple):
    """The names that one transaction issued, and the instant before which they must not be returned."""

    minted: list[MintedIdentifier]
    due: Fraction | None


class MintRequest(NamedTuple):
    """A request for names, checked as far as that is possible before a transaction."""

    registry: Registry
    by: Agent
    prefix: str
    statement: Statement
    values: tuple[Value, ...]
    patience: Fraction | None = None  # how long the caller can wait for a date, in seconds; None: no limit

    def require_permission(self, tx: Transaction) -> tuple[Prefix, str]:
        """Return the prefix and the current time. Raise NotAuthorised if the agent may not mint under the prefix."""
        at = self.registry.current_time()
        namespace = require_prefix(tx, self.prefix)
        require_permission(tx, self.by, "mint", namespace.key, at)
        require_key_permission(tx, self.by, self.values, namespace.key, at)
        return namespace, at

    def issue(self, tx: Transaction, namespace: Prefix, at: str, count: int, suffixes: Sequence[str]) -> IssuedBatch:
        """Issue `count` names, or as many as fit into the time that one transaction may take from a timeline."""
        limits = self.registry.settings.limits
        values = tuple(with_stated_ttl(self.values, namespace.ttl))
        record = first_record(tx, self.by, self.statement, values, limits, at)
        first = RecordTemplate(record, revisions.encode_within_limit(record, limits.record_bytes), self.by, at)
        return _issue_names(self.registry, tx, namespace, first, count, suffixes, self.patience)


def prepare_mint(
    registry: Registry, by: Agent, prefix: str, statement: Statement, patience: Fraction | None = None
) -> MintRequest:
    """Check the statement and the clock before a transaction is opened."""
    registry.check_clock()
    refuse_metadata(statement.values, registry.settings.type_prefix)
    now = registry.current_time()
    values = build_values(statement, registry.settings.limits, now)
    if values:
        values = tuple(with_administrators(by, values, now))
    return MintRequest(registry, by, prefix, statement, values, patience)


async def mint(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
) -> list[MintedIdentifier]:
    """Mint new names under a prefix. `suffixes` are for prefixes whose suffixes are chosen."""
    return [
        one
        async for chunk in mint_in_chunks(registry, by, prefix, count, statement=statement, suffixes=suffixes)
        for one in chunk
    ]


async def mint_in_chunks(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    statement: Statement = EMPTY_STATEMENT,
    suffixes: Sequence[str] = (),
) -> AsyncIterator[list[MintedIdentifier]]:
    """Mint new names and yield them as they become available: each chunk is durable, and its dates have come."""
    if isinstance(suffixes, str):
        raise InvalidInput("mint", "suffix", "the suffixes must be a list, even if there is only one")
    if suffixes:
        count = len(suffixes)
    if not 1 <= count <= MOST_NAMES:
        raise OutOfRange("mint", "count", f"the count must be between 1 and {MOST_NAMES}, not {count}")
    request = prepare_mint(registry, by, prefix, statement)
    done = 0
    while done < count:
        size = min(_CHUNK, count - done)
        chunk_suffixes = suffixes[done : done + size]

        def work(tx: Transaction, size: int = size, chunk_suffixes: Sequence[str] = chunk_suffixes) -> IssuedBatch:
            return request.issue(tx, *request.require_permission(tx), size, chunk_suffixes)

        issued = await registry.store.write(work)
        if issued.due is not None:
            await registry.clock.wait_until(issued.due)
        done += len(issued.minted)
        yield issued.minted


def _issue_names(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    first: RecordTemplate,
    count: int,
    suffixes: Sequence[str],
    patience: Fraction | None,
) -> IssuedBatch:
    if suffixes and prefix.minter != "chosen":
        reason = f"the names under {prefix.name} are generated by its minter ({prefix.minter}) and cannot be chosen"
        raise InvalidInput("mint", "suffix", reason)
    match prefix.minter:
        case "pilin":
            return issue_pilin(registry, tx, prefix, first, count, patience)
        case "ibi" if prefix.subsystem is not None:
            return _issue_pairs(registry, tx, prefix, prefix.subsystem, first, count, patience)
        case "uuid":
            return _issue_suffixes(tx, prefix, first, [random_suffix() for _ in range(count)])
        case "sequential":
            return _issue_numbers(tx, prefix, first, count)
        case "chosen":
            if not suffixes:
                raise InvalidInput(
                    "mint",
                    "suffix",
                    f"the prefix {prefix.name} generates no suffixes (its minter is chosen): give the suffix",
                )
            return _issue_suffixes(tx, prefix, first, _check_suffixes(prefix, suffixes))
    raise InvalidInput("mint", "prefix", f"{prefix.name} identifiers are computed from their inputs, not minted")


def _check_suffixes(prefix: Prefix, suffixes: Sequence[str]) -> Sequence[str]:
    for suffix in suffixes:
        check_length(str(handle.Handle(prefix.name, suffix, prefix.joiners)))
    return suffixes


def _issue_suffixes(tx: Transaction, prefix: Prefix, first: RecordTemplate, suffixes: Sequence[str]) -> IssuedBatch:
    changes = [first.change_for(prefix, suffix) for suffix in suffixes]
    keys = [one.identifier.key for one in changes]
    if len(set(keys)) < len(keys):
        raise NameTaken(next(one.identifier.name for one in changes if keys.count(one.identifier.key) > 1))
    tx.insert(changes)
    return IssuedBatch([MintedIdentifier(one.identifier.name) for one in changes], None)


def _issue_numbers(tx: Transaction, prefix: Prefix, first: RecordTemplate, count: int) -> IssuedBatch:
    last = int(tx.timeline(counter_key(prefix)) or 0)
    if last < 0:
        raise CountUnknown(prefix.name)
    pattern = prefix.pattern or DEFAULT_PATTERN
    numbers = iter(counting(last + 1))
    free: dict[str, int] = {}
    while len(free) < count:
        candidates = {numbered_suffix(pattern, number): number for number in islice(numbers, count - len(free))}
        keys = {handle_key(prefix, suffix): suffix for suffix in candidates}
        taken = tx.find_many(list(keys))  # imported, or chosen before the prefix was sequential
        free |= {suffix: candidates[suffix] for key, suffix in keys.items() if key not in taken}
    tx.put_timeline(counter_key(prefix), Fraction(max(free.values())), _NUMBERS_AHEAD)
    return _issue_suffixes(tx, prefix, first, _check_suffixes(prefix, list(free)))


def issue_pilin(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    first: RecordTemplate,
    count: int,
    patience: Fraction | None,
) -> IssuedBatch:
    """Issue names from the next free milliseconds of a prefix.

    The caller checks permission and waits until they are due.
    """
    registry.check_clock()
    now_ns = registry.clock.now_ns()
    last = tx.timeline(prefix.key)
    _check_gap(registry, prefix, last, now_ns)
    tick = pilin_ticks(now_ns, last)

    def changes_at(date: Fraction) -> list[Change]:
        return [first.change_for(prefix, pilin_suffix(date))]

    return _issue_dated(tx, prefix, tick, changes_at, count, now_ns, _limit_wait(registry.settings.wait, patience))


def _issue_pairs(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    subsystem: Subsystem,
    first: RecordTemplate,
    count: int,
    patience: Fraction | None,
) -> IssuedBatch:
    """Issue both labels of each date: the repository name is the subject, the IBIp its alias."""
    now_ns = registry.clock.now_ns()
    last = tx.timeline(prefix.key)
    _check_gap(registry, prefix, last, now_ns)
    tick = ibi_ticks(now_ns, last, subsystem.granularity)

    def changes_at(date: Fraction) -> list[Change]:
        readable = ibi.repository_name(subsystem.host, subsystem.port, date)
        opaque = ibi.opaque_name(subsystem.ip, subsystem.ip_port, date)
        record = msgspec.structs.replace(first.record, alias=str(opaque))
        first_change = revisions.first_revision(str(readable), readable.key, "ibi", record, first.by, "mint", first.at)
        return [first_change, revisions.alias_change(first_change, str(opaque), opaque.key, record)]

    # A date of a coarse grid may be due a whole step ahead. Dates beyond the longest wait are left for the next chunk.
    wait = registry.settings.wait
    at_once = max(1, min(count, int(wait / 2 / subsystem.granularity)))
    return _issue_dated(
        tx, prefix, tick, changes_at, at_once, now_ns, _limit_wait(wait + subsystem.granularity, patience)
    )


def _limit_wait(longest: Fraction, patience: Fraction | None) -> Fraction:
    """Limit the wait to the caller's patience: a name issued to a caller that has timed out is wasted."""
    return longest if patience is None else min(longest, patience)


def _issue_dated(
    tx: Transaction,
    prefix: Prefix,
    tick: Callable[[], Tick],
    changes_at: Callable[[Fraction], list[Change]],
    count: int,
    now_ns: int,
    longest: Fraction,
) -> IssuedBatch:
    """Issue one name per date. A date whose name exists (imported, or from before a reset) is skipped."""
    issued: list[Change] = []
    minted: list[MintedIdentifier] = []
    newest: Tick | None = None
    for candidate in _iterate_free_dates(tx, tick, changes_at, count):
        newest, changes = candidate
        check_wait(prefix.name, newest, now_ns, longest)
        issued.extend(changes)
        alias = changes[1].identifier.name if len(changes) > 1 else None
        minted.append(MintedIdentifier(changes[0].identifier.name, alias, newest.date))
    if newest is None:
        raise NameTaken(prefix.name)
    tx.put_timeline(prefix.key, newest.date, HIGH_WATER_LEAD)
    tx.insert(issued)
    return IssuedBatch(minted, newest.due)


def _iterate_free_dates(
    tx: Transaction, tick: Callable[[], Tick], changes_at: Callable[[Fraction], list[Change]], count: int
) -> Iterator[tuple[Tick, list[Change]]]:
    while count > 0:
        candidate = [(one := tick(), changes_at(one.date)) for _ in range(count)]
        taken = tx.find_many([row.identifier.key for _, changes in candidate for row in changes])
        for one, changes in candidate:
            if not any(row.identifier.key in taken for row in changes):
                count -= 1
                yield one, changes


def _check_gap(registry: Registry, prefix: Prefix, last: Fraction | None, now_ns: int) -> None:
    """Refuse a clock that is implausibly far ahead: its date would block the timeline until real time catches up."""
    now = Fraction(now_ns, NANOSECONDS)
    if last is not None and now - last > registry.settings.gap:
        raise ClockJumped(prefix.name, last, now, now - last)
