"""The checks when a registry is opened, before anything is minted or served.

The store must have what it has acknowledged, its newest revision and event must be what was recorded, and the clock
must be near the newest change: a machine that starts with a wrong clock would mint names with wrong dates.
"""

from fractions import Fraction
from typing import Final

from perdure.errors import ClockUnconfirmed, StoreBehind, StoreDamaged
from perdure.registry.entities import Event
from perdure.registry.history_digest import event_digest, expected_digest
from perdure.registry.permissions.keys import MACHINE_AGENT
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader, Store, Transaction
from perdure.timelines.clock import NANOSECONDS, Clock

CLOCK_CONFIRMED: Final = "clock_confirmed"  # a fact: the time at which the operator last confirmed the clock

_LARGEST_LAG: Final = 3600  # seconds that a clock may be behind the newest change
_LONGEST_PAUSE: Final = 400 * 86_400  # seconds without a change after which the operator must confirm the clock
_MICROSECONDS: Final = 1_000_000
_EARLIEST_TIME: Final = 10**15  # changes from before they were numbered by time have smaller numbers


async def check_store(store: Store) -> None:
    """Refuse a store that is behind its marks, or whose newest revision or event was altered."""
    missing = await store.find_disagreement()
    if missing:
        raise StoreBehind(missing)
    await store.read(_check_newest)


def _check_newest(reader: Reader) -> None:
    newest = reader.newest_change()
    if newest is not None:
        one = newest.revision
        before = reader.revision(newest.key, one.version - 1) if one.version > 1 else None
        if one.digest != expected_digest(newest.key, one, b"" if before is None else before.digest):
            raise _damage_error(f"version {one.version} of {newest.key}")
    events = reader.events(2)
    if events and events[0].digest != event_digest(events[0], events[1].digest if events[1:] else b""):
        raise _damage_error(f"the event {events[0].action!a} of {events[0].at}")


def _damage_error(what: str) -> StoreDamaged:
    return StoreDamaged(
        f"the database is damaged: {what} is not what was recorded. Run perdure verify, and restore a backup"
    )


async def find_clock_doubt(store: Store, clock: Clock) -> ClockUnconfirmed | None:
    """Compare the clock with the newest change, and with the time at which the operator last confirmed the clock."""

    def work(reader: Reader) -> tuple[int, int]:
        newest = reader.newest_change()
        return 0 if newest is None else newest.number, int(reader.fact(CLOCK_CONFIRMED) or 0)

    newest, confirmed = await store.read(work)
    now = clock.now_ns() * _MICROSECONDS // NANOSECONDS
    if newest < _EARLIEST_TIME or any(_is_near(now, then) for then in (newest, confirmed)):
        return None
    last, now_seconds = Fraction(newest, _MICROSECONDS), Fraction(now, _MICROSECONDS)
    return ClockUnconfirmed("the system clock", last, now_seconds, now_seconds - last)


def _is_near(now: int, then: int) -> bool:
    return -_LARGEST_LAG * _MICROSECONDS <= now - then <= _LONGEST_PAUSE * _MICROSECONDS


async def confirm_clock(registry: Registry) -> None:
    """Record that the operator has confirmed the clock."""
    now = registry.clock.now_ns() * _MICROSECONDS // NANOSECONDS

    def work(tx: Transaction) -> None:
        tx.put_fact(CLOCK_CONFIRMED, str(now))
        tx.put_event(Event(registry.current_time(), MACHINE_AGENT, "clock confirmed", registry.id))

    await registry.store.write(work)
