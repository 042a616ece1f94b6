"""Which commands work with `--server`. A command that is in no table works on the machine of the registry only.

To make a command work with `--server`: write its use cases in this package, pair them in `perdure.cli.use_cases`, let
the command import its `run_…` functions from `perdure.cli.any_registry`, and add it here.
"""

from typing import Final

REMOTE: Final = frozenset(
    {
        "mint",
        "bind",
        "set",
        "add-value",
        "remove-value",
        "redact",
        "withdraw",
        "reinstate",
        "transfer",
        "show",
        "resolve",
        "history",
        "diff",
        "search",
        "stats",
        "import",
        "export",
        "prefix add",
        "prefix derive",
        "prefix list",
        "prefix show",
        "prefix change",
        "peer add",
        "peer list",
        "peer show",
        "peer change",
        "peer remove",
        "peer check",
        "peer export",
        "peer import",
        "pool add",
        "pool change",
        "pool list",
        "pool show",
        "pool remove",
        "retarget",
        "list",
        "bulk withdraw",
        "bulk transfer",
        "bulk list",
        "bulk show",
        "bulk undo",
        "agent add",
        "agent key",
        "agent grant",
        "agent revoke",
        "agent list",
        "agent rename",
        "agent retire",
        "agent reinstate",
        "person observe",
        "person import",
        "person reconstruct",
        "person revise",
        "person show",
        "person history",
        "person find",
        "person merge",
        "person split",
        "person undo",
        "person restrict",
        "person lift",
        "person redact",
    }
)
# The API has nothing that they need, or they work on the files of a registry.
LOCAL_ONLY: Final = frozenset(
    {
        "init",
        "serve",
        "prefix reset",
        "agent quota",
        "peer identity",
        "agent recover",
        "log",
        "person export",
        "backup",
        "restore",
        "recover",
        "move",
        "migrate",
        "compact",
        "verify",
        "handle-user add",
        "handle-user list",
        "handle-user remove",
    }
)
WITHOUT_REGISTRY: Final = frozenset(
    {"tour", "explain", "check", "generate pilin", "generate ibi", "generate poid", "generate prid", "ibi simulate"}
)
