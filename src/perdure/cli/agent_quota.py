"""`perdure agent quota`: how many bytes an agent may upload into collections."""

import re
from typing import Annotated, Final

import typer

from perdure.cli.registry_session import Folder, Json, print_result, run_as_agent
from perdure.errors import InvalidInput, quote_text
from perdure.registry import Registry
from perdure.registry.entities import Agent
from perdure.registry.permissions.storage_quota import StorageUse, set_storage_quota, show_storage, storage_limit

EXAMPLES = """
**Examples**

- `perdure agent quota maria`
- `perdure agent quota maria --limit 200GB`
- `perdure agent quota maria --no-limit`
"""
_SIZE: Final = re.compile(r"([0-9]{1,18})\s*(|kB|MB|GB|TB)")
_UNITS: Final = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def quota(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Short name of the agent, such as maria.")],
    limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="What the agent may upload in all: bytes, or with a unit, as in 200GB."),
    ] = None,
    no_limit: Annotated[
        bool, typer.Option("--no-limit", help="Remove the agent's own limit. That of the settings applies again.")
    ] = False,
    used: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Correct what is counted, for example after items were removed.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show or change how many bytes an agent may upload into collections.

    Uploads over HTTP count, each with its size. What the command stores beside the server does not.
    """
    if limit is not None and no_limit:
        raise InvalidInput("agent", "limit", "give either --limit or --no-limit")
    most = None if limit is None else parse_size(limit, "--limit")
    counted = None if used is None else parse_size(used, "--used")

    async def work(registry: Registry, by: Agent) -> tuple[StorageUse, int | None]:
        if limit is None and not no_limit and used is None:
            return await show_storage(registry, by, agent)
        before, _ = await show_storage(registry, by, agent)
        chosen = before.quota if limit is None and not no_limit else most
        changed = await set_storage_quota(registry, by, agent, chosen, used=counted)
        return changed, storage_limit(registry, changed)

    use, applied = run_as_agent(folder, work)
    allowed = "without a limit" if applied is None else f"of {applied}"
    text = f"{agent} has uploaded {use.used} bytes {allowed}"
    print_result({"agent": agent, "used": use.used, "quota": use.quota, "limit": applied}, json, text)


def parse_size(text: str, option: str) -> int:
    """Return a number of bytes.

    >>> parse_size("200GB", "--limit"), parse_size("1500", "--limit")
    (200000000000, 1500)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        reason = f"{option} must be a number of bytes, or one with a unit (kB, MB, GB, TB), not {quote_text(text)}"
        raise InvalidInput("agent", "size", reason)
    return int(match[1]) * _UNITS[match[2]]
