"""Rows that are held for one transaction, always taken in one order, so that no two processes wait for each other.

Which rows a group of works needs shows only as they run. A row that comes in its turn is taken at once. One that
comes too late (a row behind it in the order is held already) is only looked at: the works run to their end, so that
all they need is known, everything is undone, and they run again with every row taken in order beforehand.
"""

from enum import IntEnum
from typing import Final, NamedTuple

from perdure.store.postgres.connection import Connection


class Care(IntEnum):
    """How a group of works is run. The more care, the more journeys."""

    NONE = 0  # what is gathered is sent at the end, and names are believed to be free
    NAMES = 1  # new names are looked for first
    SAVEPOINTS = 2  # each work in a savepoint of its own, and what it writes is sent before the next begins


class Again(BaseException):
    """The group must be undone and run again. No error of anybody's, and nobody's to catch."""

    def __init__(self, locks: "frozenset[Lock]" = frozenset(), care: Care = Care.NONE) -> None:
        super().__init__()
        self.locks = locks
        self.care = care


class Lock(NamedTuple):
    """A row, and its place in the order."""

    rank: int
    key: str

    @classmethod
    def fact(cls, name: str) -> "Lock":
        return cls(1, name)

    @classmethod
    def timeline(cls, key: str) -> "Lock":
        return cls(_TIMELINE, key)


_TIMELINE: Final = 2
SETTINGS: Final = Lock(0, "settings")

_LOOK: Final = (
    "SELECT value FROM guards WHERE name = %s",
    "SELECT value FROM facts WHERE name = %s",
    "SELECT last FROM timelines WHERE key = %s",
)
# A timeline that has issued nothing has no row that could be held, so it is given one.
_MAKE_TIMELINE: Final = "INSERT INTO timelines (key, last) VALUES (%s, NULL) ON CONFLICT DO NOTHING"


class Locks:
    """The rows that one transaction holds, and what they say."""

    def __init__(self, connection: Connection, beforehand: frozenset[Lock]) -> None:
        self._connection = connection
        self._held: dict[Lock, str | None] = {}
        self._missed: set[Lock] = set()
        for lock in sorted(beforehand):
            self._take(lock)

    def hold(self, lock: Lock) -> str | None:
        """Keep a row from everybody else until the end, and return what it says."""
        if lock in self._held:
            return self._held[lock]
        if self._held and lock < max(self._held):
            self._missed.add(lock)
            row = self._connection.execute(_LOOK[lock.rank], (lock.key,)).fetchone()
            return None if row is None else row[0]
        return self._take(lock)

    def demand(self, lock: Lock) -> None:
        """As `hold`, for something that was looked at already: without the row it must all be looked at anew."""
        if lock not in self._held:
            raise Again(self.needed | {lock})

    def changed(self, lock: Lock, value: str) -> None:
        """The transaction itself has written the row."""
        if lock in self._held:
            self._held[lock] = value

    def copy(self) -> dict[Lock, str | None]:
        return dict(self._held)

    def go_back(self, held: dict[Lock, str | None]) -> None:
        """A savepoint was undone: what was taken since is not held any more."""
        self._held = held

    def check(self) -> None:
        """Whether the transaction may be committed: everything it relies on is held."""
        if self._missed:
            raise Again(self.needed)

    @property
    def needed(self) -> frozenset[Lock]:
        return frozenset(self._held.keys() | self._missed)

    def _take(self, lock: Lock) -> str | None:
        taking = f"{_LOOK[lock.rank]} FOR UPDATE"
        row = self._connection.execute(taking, (lock.key,)).fetchone()
        if row is None and lock.rank == _TIMELINE:
            self._connection.execute(_MAKE_TIMELINE, (lock.key,))
            row = self._connection.execute(taking, (lock.key,)).fetchone()
        self._held[lock] = None if row is None else row[0]
        return self._held[lock]
