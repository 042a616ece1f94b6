"""A program that waits until a test run has ended, in any way, and then stops its servers and removes its folder.

It is a process in a session of its own: neither Ctrl-C nor SIGKILL to the run leaves a server behind. It waits for a
lock on a file, which the system releases when the process that has it ends.

    python cleanup.py FOLDER
"""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

OWNER: Final = "owner.lock"
_PATIENCE: Final = 10.0  # seconds for a server to go by itself


def main(folder: Path) -> None:
    with suppress(FileNotFoundError), (folder / OWNER).open("a") as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
    for file in folder.glob("*/data/postmaster.pid"):
        with suppress(OSError, ValueError, IndexError):
            sweep(file)
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def sweep(file: Path) -> None:
    """Stop the server of this pid file at once, without regard to its data. A server that ends in order removes the file."""
    lines = file.read_text().splitlines()
    for sign, patience in ((signal.SIGQUIT, _PATIENCE), (signal.SIGKILL, 0.5)):
        try:
            os.kill(int(lines[0]), sign)
        except ProcessLookupError:
            break
        until = time.monotonic() + patience
        while time.monotonic() < until:
            if not file.exists():
                return
            time.sleep(0.01)
    remove_shared_memory(lines)


def remove_shared_memory(lines: list[str]) -> None:
    """Remove the System V segment of a killed server; the seventh line of the pid file names it."""
    segment = lines[6].split()[1]
    with suppress(FileNotFoundError):
        subprocess.run(["ipcrm", "-m", segment], capture_output=True, check=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
