"""What all processes of one server must know of its sessions: a small file each, in a folder that only they read."""

import atexit
import os
import secrets
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Final

from perdure.errors import StoreUnavailable

MOST: Final = 10_000  # files; beyond, the oldest go that may go
_TOO_MANY: Final = 10  # times as many that may not go yet, and nothing more is taken
_BETWEEN_TIDYINGS: Final = 100  # files that one process adds
_REST: Final = 10  # seconds before a shelf that was found full is looked at again


class Shelf:
    """Every file says, as its own date, until when it must be kept; what lasts longer may have to make room."""

    def __init__(self, folder: Path | None, most: int = MOST, between_tidyings: int = _BETWEEN_TIDYINGS) -> None:
        self._folder = folder
        self._most = most
        self._between = between_tidyings
        self._added = 0
        self._full_until = 0.0
        self._tidying = threading.Lock()
        self._making = threading.Lock()

    def put(self, name: str, content: bytes, needed_until: int, now: int) -> bool:
        """False, and nothing is changed, if there is a file of that name already: whichever process made it.

        Now and then it tidies first, which takes long if there is much: call it on a thread of its own.
        """
        if now < self._full_until:
            raise _too_many()
        self._added += 1
        if self._added % self._between == 0 and self._tidying.acquire(blocking=False):
            try:
                self._tidy(now)
            finally:
                self._tidying.release()
        place = self._place()
        written = place / f".{secrets.token_hex(16)}"
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, content)
            os.utime(descriptor, (now, needed_until))
            os.link(written, place / name)  # all of it at once: who reads half of it would take it for cleared
        except FileExistsError:
            return False
        finally:
            os.close(descriptor)
            written.unlink(missing_ok=True)  # another process may have tidied it away
        return True

    def get(self, name: str) -> bytes | None:
        """Empty, once it was cleared."""
        try:
            return (self._place() / name).read_bytes()
        except FileNotFoundError:
            return None

    def clear(self, name: str) -> None:
        """The file stays, so that its name cannot be taken again, and says nothing any more."""
        file = self._place() / name
        try:
            kept = file.stat().st_mtime
            os.truncate(file, 0)
            os.utime(file, (kept, kept))
        except FileNotFoundError:
            pass

    def _tidy(self, now: int) -> None:
        if len(os.listdir(self._place())) <= self._most:
            return
        with os.scandir(self._place()) as entries:
            files = sorted((_needed_until(entry), entry.path) for entry in entries)
        excess = max(0, len(files) - self._most)
        kept = len(files)
        for needed_until, path in files[:excess]:
            if needed_until > now:
                break
            Path(path).unlink(missing_ok=True)
            kept -= 1
        if kept > self._most * _TOO_MANY:
            first = files[len(files) - kept][0]  # before that nothing can go
            self._full_until = max(first, now + _REST)
            raise _too_many()

    def _place(self) -> Path:
        with self._making:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="perdure-sessions-"))
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            elif not self._folder.is_dir():
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._folder


def _too_many() -> StoreUnavailable:
    return StoreUnavailable("too many sessions were begun in too short a time: try again later", True)


def _needed_until(entry: "os.DirEntry[str]") -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:  # another process tidies too
        return float("inf")
