"""A watcher of the embedded store, from a separate connection."""

from hashlib import sha256
from pathlib import Path

import apsw

from perdure.registry.store_interface import UNSCRUBBED


class StoreWatcher:
    """Detects any write, by any process, to any table."""

    def __init__(self, file: Path) -> None:
        self._connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        self._seen: tuple[int, bytes] = (-1, b"")

    def close(self) -> None:
        self._connection.close()

    def version(self) -> int:
        """Return a number that changes with every commit, even one without effect."""
        return int(self._connection.execute("PRAGMA data_version").get)

    def state(self) -> bytes:
        """Return a digest of everything that is stored, except whether unused parts of the file are scrubbed.

        Any process that opens the store scrubs them, if a redaction or a removed secret has left something there.
        """
        version = self.version()
        if version != self._seen[0]:
            self._seen = version, self._digest()
        return self._seen[1]

    def _digest(self) -> bytes:
        read = self._connection.execute
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        digest = sha256()
        for (table,) in read(tables).fetchall():
            rows = read(f'SELECT * FROM "{table}"').fetchall()  # noqa: S608
            digest.update(repr([row for row in rows if table != "facts" or row[0] != UNSCRUBBED]).encode())
        return digest.digest()
