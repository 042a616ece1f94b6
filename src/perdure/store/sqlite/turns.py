"""Look-ups that answer at once, on the thread of an event loop: those of one turn of the loop share one snapshot.

To begin and end a read transaction costs more than the look-up in it. A snapshot lives for one call, so that every
request sees all that was acknowledged before it came, and checkpoints are not held up.
"""

from collections.abc import Sequence
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
        # Pages come straight from the system's cache, without a copy of each: this connection only reads.
        connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
        cursor = connection.cursor()
        self._execute = cursor.execute
        self._fetch = cursor.fetchone

    def find(self, keys: Sequence[str]) -> list[Brief | None]:
        execute, fetch = self._execute, self._fetch
        found: list[Any] = []
        with in_our_words():
            execute("BEGIN")
            try:
                for key in keys:
                    execute(_BRIEF, (key,))
                    found.append(fetch())
            finally:
                with suppress(apsw.Error):  # there is nothing to keep; after an error of the disk it has ended already
                    execute("ROLLBACK")
        return found
