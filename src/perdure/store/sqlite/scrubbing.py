"""What was redacted is gone from every row; its bytes may still lie in parts of the file that nobody uses.

SQLite overwrites what it lets go of, but not what it moves: a row that went to another page once has left a copy. Only
a file that is written anew has none. That is done after every redaction, where it takes seconds; a larger database is
written anew when somebody says so (`perdure compact`), because nobody else can write meanwhile.
"""

import time
from collections.abc import Callable
from typing import Final

import apsw

from perdure.registry.protocol import UNSCRUBBED
from perdure.store.sqlite.connection import Patience

LARGEST_SCRUBBED: Final = 256 << 20  # bytes of a database that is written anew without being asked

_WAIT: Final = 5.0  # seconds in which others may finish
_PAUSE: Final = 10.0  # seconds after a wait in vain
_REMEMBER: Final = "INSERT OR REPLACE INTO facts (name, value) VALUES (?, '')"
_FORGET: Final = "DELETE FROM facts WHERE name = ?"


class Scrubbing:
    """Call it between two transactions of a writing connection, on the connection's own thread."""

    def __init__(
        self,
        connection: apsw.Connection,
        patience: Patience,
        largest: int = LARGEST_SCRUBBED,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._patience = patience
        self._largest = largest
        self._now = now
        self._not_before = 0.0
        self._is_wanted = is_unscrubbed(connection)  # by a process that did not come to it

    def want(self) -> None:
        """Inside of the transaction that redacts, so that it is not forgotten with the process."""
        self._connection.execute(_REMEMBER, (UNSCRUBBED,))
        self._is_wanted = True

    def __call__(self) -> None:
        """A failure leaves things as they are, to be tried again."""
        if not self._is_wanted or self._now() < self._not_before:
            return
        try:
            if is_unscrubbed(self._connection) and size_of(self._connection) <= self._largest:
                with self._patience.shortened(_WAIT):
                    scrub(self._connection)
            self._is_wanted = False
        except apsw.Error:
            self._not_before = self._now() + _PAUSE


def scrub(connection: apsw.Connection) -> None:
    """Write the file anew, and cut the log, in which the old pages are."""
    connection.execute("VACUUM")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.execute(_FORGET, (UNSCRUBBED,))


def is_unscrubbed(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT 1 FROM facts WHERE name = ?", (UNSCRUBBED,)).get is not None


def size_of(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA page_count").get) * int(connection.execute("PRAGMA page_size").get)
