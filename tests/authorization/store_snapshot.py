"""A watcher of the embedded store, from a separate connection, and of the folder of uploads."""

from hashlib import sha256
from pathlib import Path

import apsw

from perdure.registry.store_interface import UNSCRUBBED


class StoreWatcher:
    """Detects any write, by any process, to any table, and to any upload."""

    def __init__(self, file: Path, uploads: Path) -> None:
        self._uploads = uploads
        self._connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        self._seen: tuple[object, bytes] = (None, b"")

    def close(self) -> None:
        self._connection.close()

    def version(self) -> object:
        """Return a value that changes with every commit, even one without effect, and with every upload."""
        offsets = sorted((str(one), one.read_bytes()) for one in self._uploads.glob("*/offset"))
        return int(self._connection.execute("PRAGMA data_version").get), offsets

    def state(self) -> bytes:
        """Return a digest of everything that is stored, except whether unused parts of the file are scrubbed.

        Any process that opens the store scrubs them, if a redaction or a removed secret has left something there.
        """
        version = self.version()
        if version != self._seen[0]:
            self._seen = version, self._digest(version)
        return self._seen[1]

    def _digest(self, version: object) -> bytes:
        read = self._connection.execute
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        digest = sha256(repr(version[1]).encode())  # type: ignore[index]
        for (table,) in read(tables).fetchall():
            rows = read(f'SELECT * FROM "{table}"').fetchall()  # noqa: S608
            digest.update(repr([row for row in rows if table != "facts" or row[0] != UNSCRUBBED]).encode())
        return digest.digest()
