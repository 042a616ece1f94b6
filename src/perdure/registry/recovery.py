"""Recovery after a backup was restored, or a database has lost acknowledged changes: no name may be issued twice."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from perdure.errors import InvalidInput
from perdure.names import instant
from perdure.records.validation import check_one_line
from perdure.registry.entities import COUNTER_SUFFIX, Event, Prefix, counter_key, from_count, to_uncertain_count
from perdure.registry.permissions.agents import MACHINE_AGENT
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Transaction
from perdure.timelines.clock import now_seconds
from perdure.timelines.timeline import HIGH_WATER_LEAD

_DATED: Final = frozenset({"pilin", "ibi"})  # the minters of names with dates


class Advance(NamedTuple):
    """The timelines that were moved forward, to their new dates; and the prefixes whose counters need a reset."""

    moved: dict[str, str]
    unsure: list[str]


def advance_timelines(
    registry: Registry, tx: Transaction, marks: dict[str, Fraction], known: dict[str, Fraction]
) -> Advance:
    """Move every timeline past its own last date, the marks, what else is `known` to have been issued, and the present.

    Timelines that the database does not know count too: their first names were issued since. A counter that is not
    among `known` may have gone further than its mark, which may be as old as the backup: it stops. If nothing is
    known, as on an empty machine, the first number of a prefix may have been issued since, by a clock a little ahead.
    """
    now = now_seconds(registry.clock)
    timelines = tx.timelines()
    prefixes = tx.prefixes()
    sequential = {counter_key(one) for one in prefixes if one.minter == "sequential"}
    unseen = set() if known else _list_possible_timelines(prefixes)
    if not known:
        now += HIGH_WATER_LEAD
    moved: dict[str, str] = {}
    unsure: list[str] = []
    for key in sorted(timelines.keys() | marks.keys() | known.keys() | unseen):
        last = timelines.get(key)
        candidates = [date for source in (timelines, marks, known) if (date := source.get(key)) is not None]
        if not key.endswith(COUNTER_SUFFIX):
            safe = max([*candidates, now])
            if last is None or safe > last:
                tx.put_timeline(key, safe, HIGH_WATER_LEAD)
                moved[key] = instant.to_iso(safe // 1)
        elif known.get(key, Fraction(-1)) < 0:
            count = max(map(from_count, candidates), default=0)
            tx.put_timeline(key, to_uncertain_count(count), Fraction(0))
            if count or key in sequential:
                unsure.append(key.removesuffix(COUNTER_SUFFIX))
        elif last is None or max(candidates) > last:
            tx.put_timeline(key, max(candidates), HIGH_WATER_LEAD)
            moved[key] = str(max(candidates))
    return Advance(moved, sorted(unsure))


def _list_possible_timelines(prefixes: Sequence[Prefix]) -> set[str]:
    """Return every timeline that these prefixes may have. The minter of a prefix can be changed to a sequential one."""
    counters = {counter_key(one) for one in prefixes if one.scheme == "handle"}
    return counters | {one.key for one in prefixes if one.minter in _DATED}


async def accept_loss(registry: Registry, marks: dict[str, Fraction], reason: str) -> Advance:
    """Accept that a database has lost changes.

    Record the reason, move all timelines past the marks, and reset the marks.
    """
    check_one_line(reason, "reason", registry.settings.limits.text_characters)
    missing = await registry.store.find_disagreement()
    if not missing:
        raise InvalidInput("recover", "accept", "nothing is missing: the database contains every acknowledged change")

    def work(tx: Transaction) -> Advance:
        stopped = {key for key, last in tx.timelines().items() if key.endswith(COUNTER_SUFFIX) and last < 0}
        known = {key: mark for key, mark in marks.items() if key not in stopped}
        advance = advance_timelines(registry, tx, marks, known)
        detail = f"{reason} ({'; '.join(missing)})"
        tx.put_event(Event(registry.current_time(), MACHINE_AGENT, "recover", registry.id, detail))
        return advance

    advance = await registry.store.write(work)
    await registry.store.reset_marks()
    return advance
