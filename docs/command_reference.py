"""Generator of the command reference, from the help of the commands: `make docs-reference`."""

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
    "redact",
    "withdraw",
    "reinstate",
    "retarget",
    "bulk",
    "bulk withdraw",
    "bulk transfer",
    "bulk list",
    "bulk show",
    "bulk undo",
    "show",
    "resolve",
    "history",
    "diff",
    "search",
    "list",
    "person",
    "person observe",
    "person import",
    "person reconstruct",
    "person revise",
    "person show",
    "person history",
    "person find",
    "person export",
    "person merge",
    "person split",
    "person undo",
    "person restrict",
    "person lift",
    "person redact",
    "prefix",
    "prefix add",
    "prefix derive",
    "prefix list",
    "prefix show",
    "prefix change",
    "prefix reset",
    "pool",
    "pool add",
    "pool change",
    "pool list",
    "pool show",
    "pool remove",
    "agent",
    "agent add",
    "agent key",
    "agent grant",
    "agent revoke",
    "agent list",
    "agent rename",
    "agent retire",
    "agent reinstate",
    "agent quota",
    "agent recover",
    "handle-user",
    "handle-user add",
    "handle-user list",
    "handle-user remove",
    "peer",
    "peer add",
    "peer list",
    "peer show",
    "peer change",
    "peer remove",
    "peer check",
    "peer export",
    "peer import",
    "peer identity",
    "collection",
    "collection create",
    "collection change",
    "collection list",
    "collection show",
    "collection put",
    "collection get",
    "collection copy",
    "collection migrate",
    "collection install",
    "collection remove",
    "collection verify",
    "collection export",
    "transfer",
    "log",
    "import",
    "export",
    "backup",
    "restore",
    "recover",
    "move",
    "migrate",
    "compact",
    "verify",
    "stats",
    "explain",
    "check",
    "generate",
    "generate pilin",
    "generate ibi",
    "generate poid",
    "generate prid",
    "ibi",
    "ibi simulate",
]
WIDTH = "96"


# One process for all commands, because starting a process takes longer than printing help.
_PRINT_HELP = """
import sys
from perdure.cli.app import main

for command in sys.argv[1:]:
    sys.argv = ["perdure", *command.split(), "--help"]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    print(end="\\f")
"""


def read_help_pages() -> list[str]:
    """Return the help of every command, without trailing blanks."""
    environment = {
        **os.environ,
        "COLUMNS": WIDTH,
        "TERMINAL_WIDTH": WIDTH,
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    call = [sys.executable, "-c", _PRINT_HELP, *COMMANDS]
    output = subprocess.run(call, capture_output=True, check=True, encoding="utf-8", env=environment).stdout
    pages = output.split("\f")[:-1]
    return ["\n".join(line.rstrip() for line in page.strip("\n").splitlines()) for page in pages]


def reference() -> str:
    """Return the reference as Markdown."""
    parts = ["# Commands\n\nThe `--help` of every command. This page is generated."]
    for command, output in zip(COMMANDS, read_help_pages(), strict=True):
        parts.append(f"## `{f'perdure {command}'.strip()}`\n\n```text\n{output}\n```")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(reference())
