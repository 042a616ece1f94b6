"""A full disk: operations are refused clearly, nothing is lost, and the registry continues when there is space again."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.crash.mount_namespace import in_own_mounts

_ROOT: Final = Path(__file__).parents[2]
_SMALL: Final = 8 << 20


def _run(command: list[str]) -> list[int]:
    """Return the numbers of acknowledged and of refused operations."""
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


def test_a_quota_during_group_commits_refuses_writes_and_loses_nothing(tmp_path: Path) -> None:
    acknowledged, refused = _run([sys.executable, "-m", "tests.crash.full_disk_program", str(tmp_path), "quota"])
    assert acknowledged > 0
    assert refused > 0


def test_a_full_disk_during_group_commits_refuses_writes_and_loses_nothing(tmp_path: Path) -> None:
    prepare = f'mount -t tmpfs -o size={_SMALL} tmpfs "$0"'
    program = [sys.executable, "-m", "tests.crash.full_disk_program", str(tmp_path), "disk"]
    acknowledged, refused = _run(in_own_mounts(prepare, tmp_path, program))
    assert acknowledged > 0
    assert refused > 0
