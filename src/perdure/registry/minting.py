"""Mint: names under a Handle prefix or an IBI subsystem, that nobody will ever get again.

The last date, the name, the record and its first revision are one transaction. It is acknowledged when that is
durable *and* the date has come: a crash in between wastes a date and never repeats one.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count as counting
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from perdure.errors import ClockJumped, CountUnknown, InvalidInput, NameTaken, OutOfRange
from perdure.minting.clock import NANOSECONDS
from perdure.minting.suffixes import DEFAULT_PATTERN, numbered_suffix, random_suffix
from perdure.minting.timeline import AHEAD, Tick, check_wait, ibi_ticks, pilin_suffix, pilin_ticks
from perdure.names import handle, ibi
from perdure.records.record import Record
from perdure.records.value import Value
from perdure.registry import change
from perdure.registry.authority import require, require_new
from perdure.registry.entities import Agent, Change, Prefix, Subsystem, counter
from perdure.registry.naming import check_length, handle_key, known_prefix
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry
from perdure.registry.statement import Statement, first_record, refuse_metadata, stated_values

MOST: Final = 1_000_000  # names in one call
_CHUNK: Final = 500  # names in one transaction
_NUMBERS_AHEAD: Final = Fraction(1000)  # as AHEAD, for names that count
NOTHING: Final = Statement()


class Minted(NamedTuple):
    """A new identifier: its name, its other label if it has one, and the date that it was made from."""

    name: str
    alias: str | None = None
    date: Fraction | None = None


class First(NamedTuple):
    """What the new names say, whatever they will be called."""

    record: Record
    encoded: bytes
    by: Agent
    at: str

    def named(self, prefix: Prefix, suffix: str) -> Change:
        name, key = f"{prefix.name}/{suffix}", handle_key(prefix, suffix)
        return change.first(name, key, "handle", self.record, self.by, "mint", self.at, None, self.encoded)


class Issue(NamedTuple):
    """What one transaction issued, and the instant before which it must not be told."""

    minted: list[Minted]
    due: Fraction | None


class Minting(NamedTuple):
    """What is asked for, as far as it could be checked before a transaction."""

    registry: Registry
    by: Agent
    prefix: str
    said: Statement
    values: tuple[Value, ...]
    patience: Fraction | None = None  # how long the caller can wait for a date, in seconds, where that is bounded

    def permitted(self, tx: Transaction) -> tuple[Prefix, str]:
        """The prefix, and the present instant; refuses who may not mint there."""
        at = self.registry.now()
        namespace = known_prefix(tx, self.prefix)
        require(tx, self.by, "mint", namespace.key, at)
        require_new(tx, self.by, self.values, namespace.key, at)
        return namespace, at

    def issue(self, tx: Transaction, namespace: Prefix, at: str, wanted: int, chosen: Sequence[str]) -> Issue:
        """So many names, or as many as fit into the time that one transaction may take from a timeline."""
        limits = self.registry.settings.limits
        record = first_record(tx, self.by, self.said, self.values, limits, at)
        first = First(record, change.fitting(record, limits.record_bytes), self.by, at)
        return _issue(self.registry, tx, namespace, first, wanted, chosen, self.patience)


def minting(registry: Registry, by: Agent, prefix: str, said: Statement, patience: Fraction | None = None) -> Minting:
    """Check what is said before anything else is done."""
    registry.check_clock()
    refuse_metadata(said.values, registry.settings.type_prefix)
    values = stated_values(said, registry.settings.limits, registry.now())
    return Minting(registry, by, prefix, said, values, patience)


async def mint(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    said: Statement = NOTHING,
    suffixes: Sequence[str] = (),
) -> list[Minted]:
    """New names under a prefix, each once and for ever; `suffixes` where the prefix lets people choose."""
    return [
        one
        async for chunk in mint_in_chunks(registry, by, prefix, count, said=said, suffixes=suffixes)
        for one in chunk
    ]


async def mint_in_chunks(
    registry: Registry,
    by: Agent,
    prefix: str,
    count: int = 1,
    *,
    said: Statement = NOTHING,
    suffixes: Sequence[str] = (),
) -> AsyncIterator[list[Minted]]:
    """The same, as the names become available: each chunk is durable, and its dates have come."""
    if isinstance(suffixes, str):
        raise InvalidInput("mint", "suffix", "the suffixes must be a list, even if there is only one")
    if suffixes:
        count = len(suffixes)
    if not 1 <= count <= MOST:
        raise OutOfRange("mint", "count", f"the count must be between 1 and {MOST}, not {count}")
    asked = minting(registry, by, prefix, said)
    done = 0
    while done < count:
        wanted = min(_CHUNK, count - done)
        chosen = suffixes[done : done + wanted]

        def work(tx: Transaction, wanted: int = wanted, chosen: Sequence[str] = chosen) -> Issue:
            return asked.issue(tx, *asked.permitted(tx), wanted, chosen)

        issued = await registry.store.write(work)
        if issued.due is not None:
            await registry.clock.wait_until(issued.due)
        done += len(issued.minted)
        yield issued.minted


def _issue(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    first: First,
    wanted: int,
    chosen: Sequence[str],
    patience: Fraction | None,
) -> Issue:
    if chosen and prefix.minter != "chosen":
        reason = f"the names under {prefix.name} are made by its minter ({prefix.minter}), not chosen"
        raise InvalidInput("mint", "suffix", reason)
    match prefix.minter:
        case "pilin":
            return issue_pilin(registry, tx, prefix, first, wanted, patience)
        case "ibi" if prefix.subsystem is not None:
            return _issue_pairs(registry, tx, prefix, prefix.subsystem, first, wanted, patience)
        case "uuid":
            return _issue_suffixes(tx, prefix, first, [random_suffix() for _ in range(wanted)])
        case "sequential":
            return _issue_numbers(tx, prefix, first, wanted)
        case "chosen":
            if not chosen:
                raise InvalidInput("mint", "suffix", f"under {prefix.name} names are chosen: say which")
            return _issue_suffixes(tx, prefix, first, _checked(prefix, chosen))
    raise InvalidInput("mint", "prefix", f"{prefix.name} identifiers are made from what they are about, and not minted")


def _checked(prefix: Prefix, suffixes: Sequence[str]) -> Sequence[str]:
    for suffix in suffixes:
        check_length(str(handle.Handle(prefix.name, suffix)))
    return suffixes


def _issue_suffixes(tx: Transaction, prefix: Prefix, first: First, suffixes: Sequence[str]) -> Issue:
    changes = [first.named(prefix, suffix) for suffix in suffixes]
    keys = [one.identifier.key for one in changes]
    if len(set(keys)) < len(keys):
        raise NameTaken(next(one.identifier.name for one in changes if keys.count(one.identifier.key) > 1))
    tx.insert(changes)
    return Issue([Minted(one.identifier.name) for one in changes], None)


def _issue_numbers(tx: Transaction, prefix: Prefix, first: First, wanted: int) -> Issue:
    last = int(tx.timeline(counter(prefix)) or 0)
    if last < 0:
        raise CountUnknown(prefix.name)
    pattern = prefix.pattern or DEFAULT_PATTERN
    numbers = iter(counting(last + 1))
    fresh: dict[str, int] = {}
    while len(fresh) < wanted:
        candidates = {numbered_suffix(pattern, number): number for number in islice(numbers, wanted - len(fresh))}
        keys = {handle_key(prefix, suffix): suffix for suffix in candidates}
        taken = tx.find_many(list(keys))  # imported, or chosen before the prefix counted
        fresh |= {suffix: candidates[suffix] for key, suffix in keys.items() if key not in taken}
    tx.put_timeline(counter(prefix), Fraction(max(fresh.values())), _NUMBERS_AHEAD)
    return _issue_suffixes(tx, prefix, first, _checked(prefix, list(fresh)))


def issue_pilin(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    first: First,
    wanted: int,
    patience: Fraction | None,
) -> Issue:
    """Names from the next free milliseconds of the prefix. The caller asks who may, and waits until they are due."""
    registry.check_clock()
    now_ns = registry.clock.now_ns()
    last = tx.timeline(prefix.key)
    _check_gap(registry, prefix, last, now_ns)
    tick = pilin_ticks(now_ns, last)

    def named(date: Fraction) -> list[Change]:
        return [first.named(prefix, pilin_suffix(date))]

    return _issue_dated(tx, prefix, tick, named, wanted, now_ns, _bounded(registry.settings.wait, patience))


def _issue_pairs(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    place: Subsystem,
    first: First,
    wanted: int,
    patience: Fraction | None,
) -> Issue:
    """Both labels of each date: the repository name is the subject, the IBIp its alias."""
    now_ns = registry.clock.now_ns()
    last = tx.timeline(prefix.key)
    _check_gap(registry, prefix, last, now_ns)
    tick = ibi_ticks(now_ns, last, place.granularity)

    def named(date: Fraction) -> list[Change]:
        readable = ibi.repository_name(place.host, place.port, date)
        opaque = ibi.opaque_name(place.ip, place.ip_port, date)
        said = msgspec.structs.replace(first.record, alias=str(opaque))
        one = change.first(str(readable), readable.key, "ibi", said, first.by, "mint", first.at)
        return [one, change.alias(one, str(opaque), opaque.key, said)]

    # One date of a coarse grid may be due a whole step ahead; more than the bounded wait are left for the next turn.
    wait = registry.settings.wait
    at_once = max(1, min(wanted, int(wait / 2 / place.granularity)))
    return _issue_dated(tx, prefix, tick, named, at_once, now_ns, _bounded(wait + place.granularity, patience))


def _bounded(longest: Fraction, patience: Fraction | None) -> Fraction:
    """As long as anybody waits, or less: a name for which its caller cannot wait would be spent on nobody."""
    return longest if patience is None else min(longest, patience)


def _issue_dated(
    tx: Transaction,
    prefix: Prefix,
    tick: Callable[[], Tick],
    named: Callable[[Fraction], list[Change]],
    wanted: int,
    now_ns: int,
    longest: Fraction,
) -> Issue:
    """Names from dates, one each; a date whose name exists (imported, or from before a reset) is passed over."""
    issued: list[Change] = []
    minted: list[Minted] = []
    newest: Tick | None = None
    for several in _untaken(tx, tick, named, wanted):
        newest, changes = several
        check_wait(prefix.name, newest, now_ns, longest)
        issued.extend(changes)
        alias = changes[1].identifier.name if len(changes) > 1 else None
        minted.append(Minted(changes[0].identifier.name, alias, newest.date))
    if newest is None:
        raise NameTaken(prefix.name)
    tx.put_timeline(prefix.key, newest.date, AHEAD)
    tx.insert(issued)
    return Issue(minted, newest.due)


def _untaken(
    tx: Transaction, tick: Callable[[], Tick], named: Callable[[Fraction], list[Change]], wanted: int
) -> Iterator[tuple[Tick, list[Change]]]:
    while wanted > 0:
        several = [(one := tick(), named(one.date)) for _ in range(wanted)]
        taken = tx.find_many([row.identifier.key for _, changes in several for row in changes])
        for one, changes in several:
            if not any(row.identifier.key in taken for row in changes):
                wanted -= 1
                yield one, changes


def _check_gap(registry: Registry, prefix: Prefix, last: Fraction | None, now_ns: int) -> None:
    """Refuse a clock that is implausibly far ahead: its date would block the timeline until real time catches up."""
    now = Fraction(now_ns, NANOSECONDS)
    if last is not None and now - last > registry.settings.gap:
        raise ClockJumped(prefix.name, last, now, now - last)
