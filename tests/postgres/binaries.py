"""The folder of PostgreSQL's programs: Debian installs them outside the PATH, in a folder for each version."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

OLDEST: Final = 15
OVERRIDE: Final = "PERDURE_POSTGRES_BIN"  # a folder; where it is set, nothing else is looked at
_FOLDERS: Final = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "usr/local/pgsql/bin",
    "opt/homebrew/opt/postgresql@*/bin",
)


@cache
def binaries() -> Path | None:
    """Return the folder with `initdb` and `postgres` of the newest supported version."""
    found = {folder: _version(folder) for folder in _candidates()}
    usable = [folder for folder, version in found.items() if version >= OLDEST]
    return max(usable, key=lambda folder: found[folder], default=None)


def _candidates() -> Iterator[Path]:
    override = os.environ.get(OVERRIDE)
    if override is not None:
        yield Path(override)
        return
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    tool = shutil.which("pg_config")
    if tool is not None:
        result = subprocess.run([tool, "--bindir"], capture_output=True, text=True, check=False)
        if result.returncode == 0:
            yield Path(result.stdout.strip())
    for pattern in _FOLDERS:
        yield from Path("/").glob(pattern)


def _version(folder: Path) -> int:
    """Return the major version, or 0 if there is no server."""
    if not all(os.access(folder / program, os.X_OK) for program in ("postgres", "initdb")):
        return 0
    result = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False)
    number = re.search(r"\) (\d+)", result.stdout)
    return int(number[1]) if number else 0
