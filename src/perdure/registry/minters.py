"""The minters of prefixes: each issues the names of new records, in the transaction that writes them.

The caller has checked permission, and waits until the names are due.
"""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import count as counting
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from perdure.errors import ClockJumped, CountUnknown, InvalidInput, NameTaken
from perdure.names import handle, ibi
from perdure.records.record import Record
from perdure.registry import revisions
from perdure.registry.entities import Agent, Change, Prefix, Subsystem, counter_key
from perdure.registry.name_keys import LONGEST_NAME, LocatedName, check_length, handle_key, refuse_joiners
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction
from perdure.timelines.clock import NANOSECONDS
from perdure.timelines.clockless_suffixes import DEFAULT_PATTERN, numbered_suffix, random_suffix
from perdure.timelines.timeline import (
    HIGH_WATER_LEAD,
    Tick,
    check_wait,
    ibi_ticks,
    is_due,
    pilin_suffix,
    pilin_ticks,
)

MILLISECOND: Final = Fraction(1, 1000)  # between two PILIN suffixes
_NUMBERS_AHEAD: Final = Fraction(1000)  # names that the high-water mark of a counter is ahead

_Labels = Sequence[ibi.RepositoryName | ibi.OpaqueName]  # of one date: one or two


class MintedIdentifier(NamedTuple):
    """A new identifier: its name, its other label if it has one, and the date that it was made from."""

    name: str
    alias: str | None = None
    date: Fraction | None = None


class RecordTemplate(NamedTuple):
    """The record of a new name, before the name is known."""

    record: Record
    encoded: bytes
    by: Agent
    at: str
    note: str | None = None

    def change_for(self, prefix: Prefix, suffix: str) -> Change:
        """Return the first revision of a name with this suffix."""
        name, key = f"{prefix.name}/{suffix}", handle_key(prefix, suffix)
        return revisions.first_revision(
            name, key, "handle", self.record, self.by, "mint", self.at, self.note, self.encoded
        )

    def pair_for(self, prefix: Prefix, labels: _Labels) -> list[Change]:
        """Return the first revision of the labels of a date: the repository name is the subject, the IBIp its alias.

        The record contains the alias, so it is not encoded before. A subsystem with one address has one label.
        """
        label, *others = labels
        if not others:
            return [
                revisions.first_revision(
                    str(label), label.key, "ibi", self.record, self.by, "mint", self.at, self.note, self.encoded
                )
            ]
        opaque = others[0]
        record = msgspec.structs.replace(self.record, alias=str(opaque))
        first = revisions.first_revision(str(label), label.key, "ibi", record, self.by, "mint", self.at, self.note)
        alias = LocatedName(opaque.key, str(opaque), "ibi", prefix)
        return [first, revisions.alias_change(first, alias, record)]


class IssuedBatch(NamedTuple):
    """The names that one transaction issued, and the instant before which they must not be returned.

    `timelines` are the keys of those that issued the dates.
    """

    minted: list[MintedIdentifier]
    due: Fraction | None
    timelines: tuple[str, ...] = ()


def issue_names(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    templates: Sequence[RecordTemplate],
    suffixes: Sequence[str] = (),
    patience: Fraction | None = None,
    steps: int = 1,
) -> IssuedBatch:
    """Issue a name for each record, in their order, or as many as fit into the time that one transaction may take.

    The caller checks permission and waits until the names are due. `patience` is the longest wait that it accepts, in
    seconds. `steps` is by how many steps of its granularity a subsystem extends the longest wait of the settings.
    """
    if prefix.scheme == "ibi" and prefix.subsystem is None:
        reason = (
            f"{prefix.name} only holds labels that were imported: it mints none. "
            "Mint under a subsystem (perdure prefix add --host HOST --ip ADDRESS)"
        )
        raise InvalidInput("mint", "prefix", reason)
    if suffixes and prefix.minter != "chosen":
        raise generated_suffix_error(prefix)
    match prefix.minter:
        case "pilin":
            return issue_pilin(registry, tx, prefix, templates, patience)
        case "ibi" if prefix.subsystem is not None:
            return _issue_pairs(registry, tx, prefix, prefix.subsystem, templates, patience, steps)
        case "uuid":
            return _issue_suffixes(tx, prefix, templates, [random_suffix() for _ in templates])
        case "sequential":
            return _issue_numbers(tx, prefix, templates)
        case "chosen":
            if not suffixes:
                raise missing_suffix_error(prefix)
            return _issue_suffixes(tx, prefix, templates, [check_suffix(prefix, suffix) for suffix in suffixes])
    raise computed_name_error(prefix)


def generated_suffix_error(prefix: Prefix) -> InvalidInput:
    reason = f"the names under {prefix.name} are generated by its minter ({prefix.minter}) and cannot be chosen"
    return InvalidInput("mint", "suffix", reason)


def missing_suffix_error(prefix: Prefix) -> InvalidInput:
    reason = f"the prefix {prefix.name} generates no suffixes (its minter is chosen): give the suffix"
    return InvalidInput("mint", "suffix", reason)


def computed_name_error(prefix: Prefix) -> InvalidInput:
    return InvalidInput("mint", "prefix", f"{prefix.name} identifiers are computed from their inputs, not minted")


def check_suffix(prefix: Prefix, suffix: str) -> str:
    """Return a suffix that was chosen, or that has a number, if a handle can have it."""
    is_plain = suffix and suffix.isascii() and suffix.isprintable() and len(prefix.name) + len(suffix) < LONGEST_NAME
    if not is_plain:  # nearly all are
        if handle.has_joiners(suffix) and not prefix.joiners:
            refuse_joiners(f"{prefix.name}/{suffix}", prefix)
        check_length(str(handle.Handle(prefix.name, suffix, prefix.joiners)))
    return suffix


def _issue_suffixes(
    tx: Transaction, prefix: Prefix, templates: Sequence[RecordTemplate], suffixes: Sequence[str]
) -> IssuedBatch:
    changes = [first.change_for(prefix, suffix) for first, suffix in zip(templates, suffixes, strict=True)]
    keys = [one.identifier.key for one in changes]
    if len(set(keys)) < len(keys):
        raise NameTaken(next(one.identifier.name for one in changes if keys.count(one.identifier.key) > 1))
    tx.insert(changes)
    return IssuedBatch([MintedIdentifier(one.identifier.name) for one in changes], None)


def _issue_numbers(tx: Transaction, prefix: Prefix, templates: Sequence[RecordTemplate]) -> IssuedBatch:
    count = len(templates)
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
    largest = max(free.values())
    check_suffix(prefix, numbered_suffix(pattern, largest))  # the others have the same characters, and are not longer
    tx.put_timeline(counter_key(prefix), Fraction(largest), _NUMBERS_AHEAD)
    return _issue_suffixes(tx, prefix, templates, list(free))


def issue_pilin(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    templates: Sequence[RecordTemplate],
    patience: Fraction | None,
) -> IssuedBatch:
    """Issue a name for each record from the next free milliseconds of a prefix.

    The caller checks permission and waits until they are due.
    """
    registry.check_clock()
    now_ns = registry.clock.now_ns()
    last = tx.timeline(prefix.key)
    _check_gap(registry, prefix, last, now_ns)

    def names_at(date: Fraction) -> _NamesOfDate:
        suffix = pilin_suffix(date)
        return _NamesOfDate([handle_key(prefix, suffix)], lambda template: [template.change_for(prefix, suffix)])

    def longest_wait() -> Fraction:
        return _limit_wait(registry.settings.wait, patience)

    timeline = _FreeDates(tx, prefix, pilin_ticks(now_ns, last), names_at, now_ns)
    return _issue_dated(timeline, templates, longest_wait)


def _issue_pairs(
    registry: Registry,
    tx: Transaction,
    prefix: Prefix,
    subsystem: Subsystem,
    templates: Sequence[RecordTemplate],
    patience: Fraction | None,
    steps: int,
) -> IssuedBatch:
    """Issue the labels of each date: of the host, of the IP address, or of both."""
    now_ns = registry.clock.now_ns()
    last = tx.timeline(prefix.key)  # and lock it: from here on, the addresses cannot change
    prefix = tx.reread_prefix(prefix.key) or prefix
    subsystem = prefix.subsystem or subsystem
    _check_gap(registry, prefix, last, now_ns)

    def names_at(date: Fraction) -> _NamesOfDate:
        labels: list[ibi.RepositoryName | ibi.OpaqueName] = []
        if subsystem.host is not None:
            labels.append(ibi.repository_name(subsystem.host, subsystem.port, date))
        if subsystem.ip is not None:
            labels.append(ibi.opaque_name(subsystem.ip, subsystem.ip_port, date))
        return _NamesOfDate([label.key for label in labels], lambda template: template.pair_for(prefix, labels))

    def longest_wait() -> Fraction:
        """A date of a coarse grid may be due a whole step ahead."""
        return _limit_wait(registry.settings.wait + steps * subsystem.granularity, patience)

    if len(templates) > 1:  # dates beyond the longest wait are left for the next chunk
        templates = templates[: most_at_once(registry, prefix, patience, steps)]
    timeline = _FreeDates(tx, prefix, ibi_ticks(now_ns, last, subsystem.granularity), names_at, now_ns)
    return _issue_dated(timeline, templates, longest_wait)


def most_at_once(registry: Registry, prefix: Prefix, patience: Fraction | None = None, steps: int = 1) -> int | None:
    """Return how many dates one transaction may take from a timeline: None if the names have no dates.

    Half of the longest wait is left, because other callers take dates as well.
    """
    if prefix.subsystem is None and prefix.minter != "pilin":
        return None
    step = MILLISECOND if prefix.subsystem is None else prefix.subsystem.granularity
    longest = registry.settings.wait + (steps - 1) * step
    return max(1, int(_limit_wait(longest, patience) / 2 / step))


def _limit_wait(longest: Fraction, patience: Fraction | None) -> Fraction:
    """Limit the wait to the caller's patience: a name issued to a caller that has timed out is wasted."""
    return longest if patience is None else min(longest, patience)


class _NamesOfDate(NamedTuple):
    """The keys of the names that a date has, and the function that builds their first revisions from a record."""

    keys: list[str]
    build: Callable[[RecordTemplate], list[Change]]


class _FreeDates(NamedTuple):
    """The next dates of a timeline. One whose names exist (imported, or from before a reset) is skipped."""

    tx: Transaction
    prefix: Prefix
    tick: Callable[[], Tick]
    names_at: Callable[[Fraction], _NamesOfDate]
    now_ns: int

    def take(self, count: int) -> Iterator[tuple[Tick, _NamesOfDate]]:
        while count > 0:
            candidates = [(one := self.tick(), self.names_at(one.date)) for _ in range(count)]
            taken = self.tx.find_many([key for _, names in candidates for key in names.keys])
            for one, names in candidates:
                if taken.keys().isdisjoint(names.keys):
                    count -= 1
                    yield one, names


def _issue_dated(
    timeline: _FreeDates, templates: Sequence[RecordTemplate], longest_wait: Callable[[], Fraction]
) -> IssuedBatch:
    """Issue one name per date, in the order of the records."""
    issued: list[Change] = []
    minted: list[MintedIdentifier] = []
    newest: Tick | None = None
    for (newest, names), template in zip(timeline.take(len(templates)), templates, strict=True):
        if not is_due(newest, timeline.now_ns):
            check_wait(timeline.prefix.name, newest, timeline.now_ns, longest_wait())
        changes = names.build(template)
        issued.extend(changes)
        alias = changes[1].identifier.name if len(changes) > 1 else None
        minted.append(MintedIdentifier(changes[0].identifier.name, alias, newest.date))
    if newest is None:
        raise NameTaken(timeline.prefix.name)
    timeline.tx.put_timeline(timeline.prefix.key, newest.date, HIGH_WATER_LEAD)
    timeline.tx.insert(issued)
    return IssuedBatch(minted, newest.due, (timeline.prefix.key,))


def _check_gap(registry: Registry, prefix: Prefix, last: Fraction | None, now_ns: int) -> None:
    """Refuse a clock that is implausibly far ahead: its date would block the timeline until real time catches up."""
    if last is None or now_ns // NANOSECONDS - int(last) < registry.settings.largest_gap_days * 86_400 - 1:
        return  # nearly always, and without exact fractions
    now = Fraction(now_ns, NANOSECONDS)
    if now - last > registry.settings.gap:
        raise ClockJumped(prefix.name, last, now, now - last)
