"""Look-ups that answer at once, on the thread of an event loop: those of one turn of the loop share one snapshot.

To begin and end a read transaction costs more than the look-up in it. A snapshot never lives longer than the turn in
which it began, so that every request sees all that was acknowledged before it came, and checkpoints are not held up.
"""

import asyncio
from contextlib import suppress
from typing import Any, Final

import apsw

from perdure.registry.protocol import Brief
from perdure.store.sqlite.connection import in_our_words

_MAPPED: Final = 1 << 40  # more than any database: the whole of it
_BRIEF: Final = "SELECT target, version, record FROM identifiers WHERE key = ?"


class Turns:
    """One connection that belongs to one event loop."""

    def __init__(self, connection: apsw.Connection) -> None:
        # Pages come straight from the system's cache, without a copy of each: these connections only read.
        connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
        cursor = connection.cursor()
        self._connection = connection
        self._execute = cursor.execute
        self._fetch = cursor.fetchone
        self._call_soon = asyncio.get_running_loop().call_soon
        self._is_open = False

    def find(self, key: str) -> Brief | None:
        try:
            if not self._is_open:
                self._execute("BEGIN")
                self._is_open = True
                self._call_soon(self._end)
            self._execute(_BRIEF, (key,))
            row: Any = self._fetch()
        except apsw.Error:
            self._end()
            with in_our_words():
                raise
        return row  # type: ignore[no-any-return]

    def _end(self) -> None:
        """There is nothing to keep. After an error of the disk, or when the store is closed, it has ended already."""
        self._is_open = False
        with suppress(apsw.Error):
            self._execute("ROLLBACK")
