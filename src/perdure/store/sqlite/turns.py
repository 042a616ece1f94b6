"""Look-ups that answer at once, on the thread of an event loop: those of one turn of the loop share one snapshot.

To begin and end a read transaction costs more than the look-up in it. A snapshot lives for one call, so that every
request sees all that was acknowledged before it came, and checkpoints are not held up.
"""

from collections.abc import Sequence
from typing import Any, Final

import apsw

from perdure.registry.protocol import Give, Redirect, Written
from perdure.store.sqlite.migrations import PLAIN_REDIRECT

_MAPPED: Final = 1 << 40  # more than any database: the whole of it
# One look into one index for each key; where it is a plain redirect, that index holds the whole answer.
_REDIRECTS: Final = f"""
SELECT i.key, i.target, i.version FROM carray(?) AS wanted
CROSS JOIN identifiers AS i INDEXED BY redirects ON i.key = wanted.value WHERE {PLAIN_REDIRECT}
"""
_RECORDS: Final = """
SELECT i.key, i.version, i.record FROM carray(?) AS wanted CROSS JOIN identifiers AS i ON i.key = wanted.value
"""


class Turns:
    """One connection that belongs to one event loop."""

    def __init__(self, connection: apsw.Connection) -> None:
        # Pages come straight from the system's cache, without a copy of each: this connection only reads.
        connection.execute(f"PRAGMA mmap_size = {_MAPPED}")
        cursor = connection.cursor()
        self._execute = cursor.execute

    def redirects(self, keys: Sequence[str], give: Give[Redirect]) -> None:
        found = {key: (target, version) for key, target, version in self._rows(_REDIRECTS, keys)}
        give([found.get(key) for key in keys])

    def records(self, keys: Sequence[str], give: Give[Written]) -> None:
        found = {key: (version, record) for key, version, record in self._rows(_RECORDS, keys)}
        give([found.get(key) for key in keys])

    def _rows(self, query: str, keys: Sequence[str]) -> list[Any]:
        """As one statement, and so of one snapshot."""
        try:
            return self._execute(query, (apsw.carray(tuple(keys)),)).fetchall()
        except (apsw.Error, OSError, UnicodeDecodeError):  # whoever asks the long way is told what is wrong
            return []
