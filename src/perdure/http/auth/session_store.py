"""The session store: one small file per session, in a private folder that all workers of a server share."""

import atexit
import os
import secrets
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Final

from perdure.errors import StoreUnavailable

MOST: Final = 10_000  # files; beyond this, the oldest expired ones are removed
_FULL_FACTOR: Final = 10  # times MOST unexpired files: then new sessions are refused
_CLEANUP_INTERVAL: Final = 100  # files that one worker adds between two clean-ups
_FULL_PAUSE: Final = 10  # seconds before a full store is checked again


class SessionStore:
    """The files of the sessions. The modification time of a file is the time until which it must not be removed."""

    def __init__(self, folder: Path | None, most: int = MOST, cleanup_interval: int = _CLEANUP_INTERVAL) -> None:
        self._folder = folder
        self._most = most
        self._cleanup_interval = cleanup_interval
        self._added = 0
        self._full_until = 0.0
        self._cleanup_lock = threading.Lock()
        self._folder_lock = threading.Lock()

    def put(self, name: str, content: bytes, needed_until: int, now: int) -> bool:
        """Write a file. Returns False, and changes nothing, if any worker has written a file of that name.

        Sometimes it removes expired files first, which may be slow: call it on a thread.
        """
        if now < self._full_until:
            raise _store_full_error()
        self._added += 1
        if self._added % self._cleanup_interval == 0 and self._cleanup_lock.acquire(blocking=False):
            try:
                self._remove_expired(now)
            finally:
                self._cleanup_lock.release()
        folder = self._open_folder()
        temporary = folder / f".{secrets.token_hex(16)}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, content)
            os.utime(descriptor, (now, needed_until))
            os.link(temporary, folder / name)  # atomic: a reader would take a half-written file for a removed one
        except FileExistsError:
            return False
        finally:
            os.close(descriptor)
            temporary.unlink(missing_ok=True)  # another worker may have removed it
        return True

    def get(self, name: str) -> bytes | None:
        """Return the content of a file, empty after `remove`, or None if there is no such file."""
        try:
            return (self._open_folder() / name).read_bytes()
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """Empty a file. It is not deleted, so that its name cannot be used again."""
        file = self._open_folder() / name
        try:
            modified = file.stat().st_mtime
            os.truncate(file, 0)
            os.utime(file, (modified, modified))
        except FileNotFoundError:
            pass

    def _remove_expired(self, now: int) -> None:
        if len(os.listdir(self._open_folder())) <= self._most:
            return
        with os.scandir(self._open_folder()) as entries:
            files = sorted((_needed_until(entry), entry.path) for entry in entries)
        excess = max(0, len(files) - self._most)
        remaining = len(files)
        for needed_until, path in files[:excess]:
            if needed_until > now:
                break
            Path(path).unlink(missing_ok=True)
            remaining -= 1
        if remaining > self._most * _FULL_FACTOR:
            first = files[len(files) - remaining][0]  # nothing can be removed before then
            self._full_until = max(first, now + _FULL_PAUSE)
            raise _store_full_error()

    def _open_folder(self) -> Path:
        with self._folder_lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="perdure-sessions-"))
                atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
            elif not self._folder.is_dir():
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return self._folder


def _store_full_error() -> StoreUnavailable:
    return StoreUnavailable("too many sessions were created in a short time: try again later", True)


def _needed_until(entry: "os.DirEntry[str]") -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:  # another worker removed it
        return float("inf")
