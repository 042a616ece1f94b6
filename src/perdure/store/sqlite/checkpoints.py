"""Checkpoints of the write-ahead log, which keep it small however many readers there are.

SQLite checkpoints every thousand pages, and restarts the log only in a moment without readers. On a busy server that
moment never comes, and the log grows without limit. So past a limit the writer waits for the readers of old snapshots:
briefly, between its own transactions, and less often after an unsuccessful wait.

Checkpoints are less frequent than SQLite's own: a page that was written many times is then copied once, which leaves
the writer more time for its callers.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import apsw

from perdure.store.sqlite.connection import BusyTimeout

LARGEST_LOG: Final = 16_384  # pages: 64 MiB

_PAGES_BETWEEN: Final = 4000  # pages: 16 MiB
_WAIT: Final = 0.2  # seconds to wait for readers
_FIRST_PAUSE: Final = 0.5  # seconds after an unsuccessful wait; doubled after each further one
_LONGEST_PAUSE: Final = 60.0


class Checkpointer:
    """The checkpoints of a writing connection. Call it between two transactions, on the connection's own thread."""

    def __init__(
        self,
        connection: apsw.Connection,
        busy_timeout: BusyTimeout,
        largest_log: int = LARGEST_LOG,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._busy_timeout = busy_timeout
        self._largest_log = largest_log
        self._now = now
        self._pages = 0  # in the log, after the last commit
        self._tried_at = 0  # pages in the log at the last checkpoint
        self._pause = _FIRST_PAUSE
        self._not_before = 0.0
        connection.set_wal_hook(self._on_commit)  # replaces SQLite's own hook, which would checkpoint within the commit

    def _on_commit(self, connection: apsw.Connection, database: str, pages: int) -> int:
        if pages < self._tried_at:  # the log was restarted
            self._tried_at = 0
        self._pages = pages
        return apsw.SQLITE_OK

    def __call__(self) -> None:
        """Checkpoint if it is time. A failure only costs disk space: the log is safe, and the next call tries again."""
        if self._pages >= self._largest_log and self._now() >= self._not_before:
            self._truncate_log()
        elif self._pages - self._tried_at >= min(_PAGES_BETWEEN, self._largest_log):
            self._tried_at = self._pages
            with suppress(apsw.Error):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def _truncate_log(self) -> None:
        """Checkpoint and truncate the whole log. Readers that start meanwhile do not need the log, and may continue."""
        self._tried_at = self._pages
        try:
            with self._busy_timeout.shorten_to(_WAIT):
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error:
            self._not_before = self._now() + self._pause
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            return
        self._pages = self._tried_at = 0
        self._pause, self._not_before = _FIRST_PAUSE, 0.0
