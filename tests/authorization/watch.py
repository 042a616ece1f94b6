"""An eye on all that is kept in the embedded store, from beside whoever writes to it."""

from hashlib import sha256
from pathlib import Path

import apsw


class Watch:
    """Whether anything was written, by whomever, to whichever table."""

    def __init__(self, file: Path) -> None:
        self._connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        self._seen: tuple[int, bytes] = (-1, b"")

    def close(self) -> None:
        self._connection.close()

    def version(self) -> int:
        """Another number whenever something was committed, be it what was there before."""
        return int(self._connection.execute("PRAGMA data_version").get)

    def state(self) -> bytes:
        """A digest of all that is kept."""
        version = self.version()
        if version != self._seen[0]:
            self._seen = version, self._digest()
        return self._seen[1]

    def _digest(self) -> bytes:
        read = self._connection.execute
        tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
        digest = sha256()
        for (table,) in read(tables).fetchall():
            digest.update(repr(read(f'SELECT * FROM "{table}"').fetchall()).encode())  # noqa: S608
        return digest.digest()
