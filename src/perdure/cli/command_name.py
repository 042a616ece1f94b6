"""The command line that calls this program, for commands that people copy from its output."""

import shlex
import shutil
import sys
from pathlib import Path


def program_call() -> str:
    """Return `perdure` if that calls this program, and otherwise a call with an absolute path."""
    script = Path(sys.executable).parent / "perdure"
    on_path = shutil.which("perdure")
    if on_path is not None and Path(on_path).resolve() == script.resolve():
        return "perdure"
    if script.is_file():
        return shlex.quote(str(script))
    return f"{shlex.quote(sys.executable)} -m perdure"
