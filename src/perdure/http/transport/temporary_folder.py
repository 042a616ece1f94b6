"""The temporary folder that the processes of one server share. Folders of killed servers are removed."""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_PREFIX: Final = "perdure-server-"
_LOCK: Final = "lock"  # locked while the server runs; the system releases the lock when the process ends


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Create the folder when the server starts, and remove it when the server stops."""
    _remove_abandoned()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as made:
        folder = Path(made)
        lock = os.open(folder / "lock.new", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.rename(folder / "lock.new", folder / _LOCK)  # only a lock that is held ever has this name
            yield folder
        finally:
            os.close(lock)


def _remove_abandoned() -> None:
    """Remove the folders of this user's servers that are not running any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is another user's, or another server has removed it at the same moment
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not _is_held(folder / _LOCK):
                shutil.rmtree(folder)


def _is_held(lock: Path) -> bool:
    """Return whether a running server holds this lock. Raise OSError if the lock file does not exist."""
    descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
