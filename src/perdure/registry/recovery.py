"""After a backup was restored, or a database has lost what it acknowledged: nothing may be issued a second time."""

from fractions import Fraction
from typing import NamedTuple

from perdure.errors import InvalidInput
from perdure.minting.clock import seconds
from perdure.minting.timeline import AHEAD
from perdure.names import instant
from perdure.records.checks import one_line
from perdure.registry.agents import THE_MACHINE
from perdure.registry.entities import COUNTER, Event, known_count, unknown_count
from perdure.registry.protocol import Transaction
from perdure.registry.registry import Registry


class Advance(NamedTuple):
    """Which timelines were moved forward, to when; and the prefixes that do not count until they are reset."""

    moved: dict[str, str]
    unsure: list[str]


def advance_timelines(
    registry: Registry, tx: Transaction, marks: dict[str, Fraction], known: dict[str, Fraction]
) -> Advance:
    """Move every timeline past its own last date, the marks, what else is `known` to have been issued, and the present.

    Timelines that the database has never heard of count too: their first names were issued since. A counter that is
    not among `known` may have gone further than its mark, which may be as old as the backup: it stops.
    """
    now = seconds(registry.clock)
    here = tx.timelines()
    moved: dict[str, str] = {}
    unsure: list[str] = []
    for key in sorted(here.keys() | marks.keys() | known.keys()):
        last = here.get(key)
        candidates = [date for source in (here, marks, known) if (date := source.get(key)) is not None]
        if not key.endswith(COUNTER):
            safe = max(*candidates, now)
            if last is None or safe > last:
                tx.put_timeline(key, safe, AHEAD)
                moved[key] = instant.to_iso(safe // 1)
        elif known.get(key, Fraction(-1)) < 0:
            tx.put_timeline(key, unknown_count(max(map(known_count, candidates))), AHEAD)
            unsure.append(key.removesuffix(COUNTER))
        elif last is None or max(candidates) > last:
            tx.put_timeline(key, max(candidates), AHEAD)
            moved[key] = str(max(candidates))
    return Advance(moved, sorted(unsure))


async def accept_loss(registry: Registry, marks: dict[str, Fraction], reason: str) -> Advance:
    """Go on with a database that has lost changes: record why, move all timelines past the marks, and believe it."""
    one_line(reason, "reason", registry.settings.limits.text_characters)
    missing = await registry.store.find_disagreement()
    if not missing:
        raise InvalidInput("recover", "accept", "nothing is missing: the database has all that its marks name")

    def work(tx: Transaction) -> Advance:
        stopped = {key for key, last in tx.timelines().items() if key.endswith(COUNTER) and last < 0}
        known = {key: mark for key, mark in marks.items() if key not in stopped}
        advance = advance_timelines(registry, tx, marks, known)
        detail = f"{reason} ({'; '.join(missing)})"
        tx.put_event(Event(registry.now(), THE_MACHINE, "recover", registry.id, detail))
        return advance

    advance = await registry.store.write(work)
    await registry.store.reset_marks()
    return advance
