"""The verdict of ocfl-py, an independent implementation, on a storage root."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from perdure.collections.storage_root import StorageRoot

_PROGRAM: Final = Path(__file__).with_name("ocfl_program.py")
_PYTHON: Final = Path(os.environ.get("PERDURE_OCFL", Path(sys.prefix) / "ocfl")) / "bin" / "python"


def judge(root: StorageRoot) -> int:
    """Assert that ocfl-py calls a storage root and all its objects valid; return how many objects it has found."""
    if not _PYTHON.exists():
        pytest.skip("ocfl-py is not installed: make setup")
    found = subprocess.run([_PYTHON, _PROGRAM, root.path], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    return int(found.stdout.split()[-1])
