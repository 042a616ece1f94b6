"""The sums of resolutions that a process has not written to the store yet, in a private table in memory.

SQLite adds them up without the interpreter's lock, so that the event loop goes on meanwhile on another processor, and
gives them back in the order of the store, so that writing them changes few of its pages.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

from perdure.registry.entities import ResolutionCount

_CREATE: Final = """
CREATE TABLE sums (key TEXT, day TEXT, client TEXT, count INTEGER, PRIMARY KEY (key, day, client)) WITHOUT ROWID
"""
_ADD: Final = """
INSERT INTO sums SELECT value, ?, ?, count(*) FROM json_each(?) WHERE true GROUP BY value
ON CONFLICT (key, day, client) DO UPDATE SET count = count + excluded.count
"""
_FIRST: Final = "SELECT key, day, client, count FROM sums ORDER BY key, day, client LIMIT ?"
_REMOVE: Final = "DELETE FROM sums WHERE (key, day, client) <= (?, ?, ?)"


class ResolutionSums:
    """The sums, by key, day and kind of client. One thread at a time may use them."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.execute(_CREATE)

    def add(self, day: str, client: str, lists: Sequence[bytes]) -> None:
        """Count the keys in these lists, which are JSON."""
        keys = b"[%b]" % b",".join([one[1:-1] for one in lists if one != b"[]"])
        self._connection.execute(_ADD, (day, client, keys.decode()))

    def first(self, limit: int) -> list[ResolutionCount]:
        """Return the first sums in the order of the store."""
        return [ResolutionCount(*row) for row in self._connection.execute(_FIRST, (limit,))]

    def remove_through(self, last: ResolutionCount) -> None:
        """Remove the sums up to this one, after they were written."""
        self._connection.execute(_REMOVE, (last.key, last.day, last.client))

    def clear(self) -> int:
        """Remove all sums. Return how many there were."""
        return self._connection.execute("DELETE FROM sums").rowcount

    def close(self) -> None:
        self._connection.close()

    def __len__(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM sums").fetchone()
        return int(count)
