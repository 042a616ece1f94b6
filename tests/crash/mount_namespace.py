"""Programs with mounts of their own, which vanish when they end."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

# Most systems let every user create a mount namespace as its root; otherwise root itself can mount.
_WAYS: Final = (["unshare", "--user", "--map-root-user", "--mount"], ["unshare", "--mount"])


def in_own_mounts(prepare: str, folder: Path, program: list[str]) -> list[str]:
    """Return the command that runs `program` after `prepare`, a line of shell in which `$0` is the folder."""
    for way in _WAYS:
        try:
            subprocess.run([*way, "sh", "-c", prepare, str(folder)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return [*way, "sh", "-c", f'{prepare} && exec "$@"', str(folder), *program]
    pytest.skip("NOT TESTED: this machine lets tests mount nothing, not even for themselves alone (unshare, mount)")
