"""Putting the write-ahead log back into the database, so that it stays small however many readers there are.

SQLite copies what it can every thousand pages, and begins the log anew only in a moment without readers. On a busy
server that moment never comes, and the log grows without end. So past a bound the writer waits for the readers of old
states to finish: briefly, while nobody else writes, and less often where that was in vain.

Pages are copied less often than SQLite would: a page that was written many times since is copied once, and the writer
has the more time for those who wait.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import apsw

from perdure.store.sqlite.connection import Patience

LARGEST_LOG: Final = 16_384  # pages: 64 MiB

_PAGES_BETWEEN: Final = 4000  # pages: 16 MiB
_WAIT: Final = 0.2  # seconds in which readers may finish
_FIRST_PAUSE: Final = 0.5  # seconds after a wait in vain; twice as long after each further one
_LONGEST_PAUSE: Final = 60.0


class Checkpoints:
    """Those of one writing connection. Call it between two transactions, on the connection's own thread."""

    def __init__(
        self,
        connection: apsw.Connection,
        patience: Patience,
        largest_log: int = LARGEST_LOG,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._patience = patience
        self._largest_log = largest_log
        self._now = now
        self._pages = 0  # of the log, after the last commit
        self._tried_at = 0  # how many they were when they were last put back
        self._pause = _FIRST_PAUSE
        self._not_before = 0.0
        connection.set_wal_hook(self._committed)  # in the place of SQLite's own, which would do its part in the commit

    def _committed(self, connection: apsw.Connection, database: str, pages: int) -> int:
        if pages < self._tried_at:  # the log has begun anew
            self._tried_at = 0
        self._pages = pages
        return apsw.SQLITE_OK

    def __call__(self) -> None:
        """A failure costs nothing but room: what is in the log is safe there, and is tried again."""
        if self._pages >= self._largest_log and self._now() >= self._not_before:
            self._begin_anew()
        elif self._pages - self._tried_at >= min(_PAGES_BETWEEN, self._largest_log):
            self._tried_at = self._pages
            with suppress(apsw.Error):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _begin_anew(self) -> None:
        """Put all of it back, and cut it. Readers that come meanwhile need the database alone: they may stay."""
        self._tried_at = self._pages
        try:
            with self._patience.shortened(_WAIT):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error:
            self._not_before = self._now() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            return
        self._pages = self._tried_at = 0
        self._pause, self._not_before = _FIRST_PAUSE, 0.0
