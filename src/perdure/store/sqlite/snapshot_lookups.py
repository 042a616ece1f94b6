"""Synchronous look-ups on the thread of an event loop: those of one iteration of the loop share one snapshot.

Starting and ending a read transaction costs more than the look-up in it. A snapshot lasts for one call, so that every
request sees all writes that were acknowledged before it, and checkpoints are not delayed.
"""

from collections.abc import Sequence
from typing import Any, Final

import apsw

from perdure.registry.store_interface import Redirect, ResultCallback, StoredRecord
from perdure.store.sqlite.migrations import PLAIN_REDIRECT

_MAPPED_BYTES: Final = 1 << 40  # more than any database, so all of it is mapped
# One index look-up for each key: the index covers the query.
_REDIRECTS: Final = f"""
SELECT i.key, i.target, i.version FROM carray(?) AS wanted
CROSS JOIN identifiers AS i INDEXED BY redirects ON i.key = wanted.value WHERE {PLAIN_REDIRECT}
"""
_RECORDS: Final = """
SELECT i.key, i.version, i.record FROM carray(?) AS wanted CROSS JOIN identifiers AS i ON i.key = wanted.value
"""


class SnapshotLookups:
    """The look-ups of an event loop, on a connection of its own."""

    def __init__(self, connection: apsw.Connection) -> None:
        # Pages are read from the system's cache without a copy; this connection only reads.
        connection.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
        cursor = connection.cursor()
        self._execute = cursor.execute

    def find_redirects(self, keys: Sequence[str], callback: ResultCallback[Redirect]) -> None:
        rows = {key: (target, version) for key, target, version in self._rows(_REDIRECTS, keys)}
        callback([rows.get(key) for key in keys])

    def find_records(self, keys: Sequence[str], callback: ResultCallback[StoredRecord]) -> None:
        rows = {key: (version, record) for key, version, record in self._rows(_RECORDS, keys)}
        callback([rows.get(key) for key in keys])

    def _rows(self, query: str, keys: Sequence[str]) -> list[Any]:
        """Run one statement, and so read one snapshot. An error returns nothing: another kind of read reports it."""
        try:
            return self._execute(query, (apsw.carray(tuple(keys)),)).fetchall()
        except (apsw.Error, OSError, UnicodeDecodeError):
            return []
