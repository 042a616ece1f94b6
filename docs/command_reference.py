"""Writes the command reference from the commands' own help: `make docs-reference`."""

import os
import subprocess
import sys

COMMANDS = [
    "",
    "init",
    "serve",
    "tour",
    "mint",
    "bind",
    "set",
    "add-value",
    "remove-value",
    "withdraw",
    "reinstate",
    "show",
    "resolve",
    "history",
    "diff",
    "search",
    "prefix",
    "prefix add",
    "prefix derive",
    "prefix list",
    "prefix show",
    "prefix change",
    "prefix reset",
    "agent",
    "agent add",
    "agent key",
    "agent grant",
    "agent revoke",
    "agent list",
    "agent recover",
    "transfer",
    "log",
    "import",
    "export",
    "backup",
    "restore",
    "move",
    "migrate",
    "verify",
    "stats",
    "explain",
    "check",
    "generate",
    "generate pilin",
    "generate ibi",
    "generate poid",
    "generate prid",
]
WIDTH = "96"


def help_of(command: str) -> str:
    """The help as it is shown, without the blanks at line ends."""
    environment = {
        **os.environ,
        "COLUMNS": WIDTH,
        "TERMINAL_WIDTH": WIDTH,
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    call = [sys.executable, "-m", "perdure", *command.split(), "--help"]
    shown = subprocess.run(call, capture_output=True, check=True, encoding="utf-8", env=environment).stdout
    return "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())


def reference() -> str:
    """The whole page."""
    parts = ["# Commands\n\nWhat `--help` says, command by command."]
    parts += [f"## `{f'perdure {command}'.strip()}`\n\n```text\n{help_of(command)}\n```" for command in COMMANDS]
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(reference())
