"""Row locks of a transaction, always taken in one order, to prevent deadlocks.

The rows that a group of works needs are known only as they run. A row that comes in order is locked at once. A row that
comes too late (one after it in the order is locked already) is only read: the works run to their end, so that all
needed rows are known. Then everything is rolled back, and they run again with all rows locked in order at the start.
"""

from enum import IntEnum
from typing import Final, NamedTuple

from perdure.store.postgres.connection import Connection


class Strictness(IntEnum):
    """How a group of works is run. A stricter run needs more round trips."""

    NONE = 0  # buffered writes are sent at the end, and new names are assumed to be free
    NAMES = 1  # new names are looked up first
    SAVEPOINTS = 2  # each work has a savepoint, and its writes are sent before the next work begins


class RetryGroup(BaseException):
    """An internal signal: roll the group back and run it again. It is not an error, and a work must not catch it."""

    def __init__(self, locks: "frozenset[Lock]" = frozenset(), strictness: Strictness = Strictness.NONE) -> None:
        super().__init__()
        self.locks = locks
        self.strictness = strictness


class Lock(NamedTuple):
    """A row, and its rank in the locking order."""

    rank: int
    key: str

    @classmethod
    def fact(cls, name: str) -> "Lock":
        return cls(1, name)

    @classmethod
    def timeline(cls, key: str) -> "Lock":
        return cls(_TIMELINE_RANK, key)


_TIMELINE_RANK: Final = 2
ADMIN_LOCK: Final = Lock(0, "settings")
HOLDINGS_LOCK: Final = Lock(0, "holdings")

_SELECT_VALUE: Final = (
    "SELECT value FROM guards WHERE name = %s",
    "SELECT value FROM facts WHERE name = %s",
    "SELECT last FROM timelines WHERE key = %s",
)
# A timeline that has issued nothing has no row to lock, so one is inserted.
_MAKE_TIMELINE: Final = "INSERT INTO timelines (key, last) VALUES (%s, NULL) ON CONFLICT DO NOTHING"


class Locks:
    """The rows that a transaction has locked, with their values."""

    def __init__(self, connection: Connection, locked_first: frozenset[Lock]) -> None:
        self._connection = connection
        self._held: dict[Lock, str | None] = {}
        self._missed: set[Lock] = set()
        for lock in sorted(locked_first):
            self._take(lock)

    def hold(self, lock: Lock) -> str | None:
        """Lock a row until the end of the transaction, and return its value."""
        if lock in self._held:
            return self._held[lock]
        if self._held and lock < max(self._held):
            self._missed.add(lock)
            row = self._connection.execute(_SELECT_VALUE[lock.rank], (lock.key,)).fetchone()
            return None if row is None else row[0]
        return self._take(lock)

    def holds(self, lock: Lock) -> bool:
        """Return whether the transaction has locked this row."""
        return lock in self._held

    def try_hold(self, lock: Lock) -> bool:
        """Lock a row unless another transaction holds it. Return whether this transaction holds it now.

        That never waits, so it cannot cause a deadlock in any order.
        """
        if lock in self._held:
            return True
        row = self._connection.execute(f"{_SELECT_VALUE[lock.rank]} FOR UPDATE SKIP LOCKED", (lock.key,)).fetchone()
        if row is None:
            if self._connection.execute(_SELECT_VALUE[lock.rank], (lock.key,)).fetchone() is not None:
                return False
            self.hold(lock)  # there is no row yet
            return True
        self._held[lock] = row[0]
        return True

    def require(self, lock: Lock) -> None:
        """Require a lock for rows that were read already; without it, the group must run again and read them again."""
        if lock not in self._held:
            raise RetryGroup(self.requested_locks | {lock})

    def record_value(self, lock: Lock, value: str) -> None:
        """Record a value that the transaction itself has written."""
        if lock in self._held:
            self._held[lock] = value

    def snapshot(self) -> dict[Lock, str | None]:
        return dict(self._held)

    def roll_back_to(self, held: dict[Lock, str | None]) -> None:
        """Drop the locks that were taken since a savepoint that was rolled back."""
        self._held = held

    def check(self) -> None:
        """Retry the group if it relies on a row that is not locked."""
        if self._missed:
            raise RetryGroup(self.requested_locks)

    @property
    def requested_locks(self) -> frozenset[Lock]:
        return frozenset(self._held.keys() | self._missed)

    def _take(self, lock: Lock) -> str | None:
        statement = f"{_SELECT_VALUE[lock.rank]} FOR UPDATE"
        row = self._connection.execute(statement, (lock.key,)).fetchone()
        if row is None and lock.rank == _TIMELINE_RANK:
            self._connection.execute(_MAKE_TIMELINE, (lock.key,))
            row = self._connection.execute(statement, (lock.key,)).fetchone()
        self._held[lock] = None if row is None else row[0]
        return self._held[lock]
