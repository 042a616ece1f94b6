"""The removal of redacted content from unused parts of the database file.

A redaction removes the content from every row, but its bytes may remain in free pages. SQLite overwrites what it
deletes, but not what it moves: a row that once moved to another page has left a copy. Only rewriting the file (VACUUM)
removes all copies. That happens after every redaction if it takes seconds. The operator rewrites a larger database with
`perdure compact`, because writes block meanwhile.
"""

import time
from collections.abc import Callable
from typing import Final

import apsw

from perdure.registry.store_interface import UNSCRUBBED
from perdure.store.sqlite.connection import BusyTimeout

LARGEST_SCRUBBED: Final = 256 << 20  # bytes of a database that is rewritten automatically

_WAIT: Final = 5.0  # seconds to wait for other connections
_PAUSE: Final = 10.0  # seconds after an unsuccessful wait
_SET_UNSCRUBBED: Final = "INSERT OR REPLACE INTO facts (name, value) VALUES (?, '')"
_CLEAR_UNSCRUBBED: Final = "DELETE FROM facts WHERE name = ?"


class Scrubber:
    """The automatic rewrite. Call it between two transactions of a writing connection, on its own thread."""

    def __init__(
        self,
        connection: apsw.Connection,
        busy_timeout: BusyTimeout,
        largest: int = LARGEST_SCRUBBED,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._busy_timeout = busy_timeout
        self._largest = largest
        self._now = now
        self._not_before = 0.0
        self._is_requested = is_unscrubbed(connection)  # by a process that ended before it was done

    def request(self) -> None:
        """Request a rewrite, inside the transaction that redacts, so that the request outlives the process."""
        self._connection.execute(_SET_UNSCRUBBED, (UNSCRUBBED,))
        self._is_requested = True

    def __call__(self) -> None:
        """Rewrite the file if that was requested. A failure changes nothing, and is tried again."""
        if not self._is_requested or self._now() < self._not_before:
            return
        try:
            if is_unscrubbed(self._connection) and database_size(self._connection) <= self._largest:
                with self._busy_timeout.shorten_to(_WAIT):
                    scrub(self._connection)
            self._is_requested = False
        except apsw.Error:
            self._not_before = self._now() + _PAUSE


def scrub(connection: apsw.Connection) -> None:
    """Rewrite the file, and truncate the log, which has the old pages."""
    connection.execute("VACUUM")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.execute(_CLEAR_UNSCRUBBED, (UNSCRUBBED,))


def is_unscrubbed(connection: apsw.Connection) -> bool:
    return connection.execute("SELECT 1 FROM facts WHERE name = ?", (UNSCRUBBED,)).get is not None


def database_size(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA page_count").get) * int(connection.execute("PRAGMA page_size").get)
