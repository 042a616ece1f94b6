"""The folder of a test run, for servers: shared by all its processes, and removed after the run."""

import atexit
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Final

from tests.postgres import cleanup

_VARIABLE: Final = "PERDURE_TEST_RUN"  # how the processes of a run find its folder
_LONGEST: Final = 60  # characters: the path of a socket may have a hundred, and there is more to come


class RunFolder:
    """A folder of the process that created it. A cleanup process removes it, and every server in it, when that ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="perdure-run-", dir=_reachable_temporary_folder()))
        self.path.chmod(0o711)  # a server that may not be root has to pass through
        self._lock: IO[str] = (self.path / cleanup.OWNER).open("a")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._sweeper = subprocess.Popen(
            [sys.executable, "-I", "-S", cleanup.__file__, str(self.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def close(self) -> None:
        self._lock.close()
        self._sweeper.wait()


_mine: RunFolder | None = None


def begin() -> None:
    """Create the folder of a run; its other processes inherit it through the environment."""
    global _mine
    _mine = RunFolder()
    os.environ[_VARIABLE] = str(_mine.path)
    atexit.register(end)


def end() -> None:
    global _mine
    if _mine is not None:
        os.environ.pop(_VARIABLE, None)
        _mine.close()
        _mine = None


def run_folder() -> Path:
    if _VARIABLE not in os.environ:  # outside a test run, say from a benchmark
        begin()
    return Path(os.environ[_VARIABLE])


def _reachable_temporary_folder() -> Path:
    """Return the system's temporary folder, unless its path is too long for a socket or closed to the server's user."""
    usual = Path(tempfile.gettempdir()).resolve()
    closed = os.geteuid() == 0 and any(not folder.stat().st_mode & 0o001 for folder in (usual, *usual.parents))
    if closed or len(str(usual)) > _LONGEST:
        return Path("/tmp")  # noqa: S108 - the folder made in it is private
    return usual
