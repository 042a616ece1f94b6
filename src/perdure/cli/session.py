"""How a command finds its registry, and who it acts for."""

import asyncio
import os
import shlex
import stat
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import typer

from perdure.cli.screen import as_json, complain
from perdure.errors import BadKey, InvalidInput
from perdure.folder import ADMIN_KEY, is_registry, open_registry
from perdure.registry import Registry, authenticate
from perdure.registry.entities import Agent
from perdure.registry.opening import confirm_clock
from perdure.settings_file import SETTINGS

T = TypeVar("T")

Folder = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        "-R",
        envvar="PERDURE_REGISTRY",
        metavar="DIR",
        help="The registry's folder. Default: this folder, or the nearest one above it that holds one.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The identifier, in any form in which people write it.")]


def find_folder(given: Path | None) -> Path:
    """The folder that was named, or the nearest one at or above this one that holds a registry."""
    if given is not None:
        return given
    here = Path.cwd()
    for folder in (here, *here.parents):
        if is_registry(folder):
            return folder
    reason = f"there is no registry here ({SETTINGS}): make one with perdure init, or name its folder with --registry"
    raise InvalidInput("registry", "folder", reason)


def remark_on_key(folder: Path) -> None:
    """Say on the standard error that others can read the administrator's key, and which command changes that."""
    key = folder / ADMIN_KEY
    with suppress(OSError):
        if stat.S_IMODE(key.stat().st_mode) & 0o077:
            complain(f"others can read {key}, and act as its owner; to change that: chmod 600 {shlex.quote(str(key))}")


def read(folder: Path | None, work: Callable[[Registry], Awaitable[T]], *, check: bool = True) -> T:
    """Run work that needs no authority. Without `check`, a store that has lost changes is opened too."""

    place = find_folder(folder)
    remark_on_key(place)

    async def session() -> T:
        async with open_registry(place, check=check) as registry:
            return await work(registry)

    return asyncio.run(session())


def act(folder: Path | None, work: Callable[[Registry, Agent], Awaitable[T]]) -> T:
    """Do something in the name of the agent whose key is at hand."""
    place = find_folder(folder)
    remark_on_key(place)

    async def session() -> T:
        async with open_registry(place) as registry:
            agent = await authenticate(registry, _key(place))
            return await work(await _confirm_clock(registry), agent)

    return asyncio.run(session())


async def _confirm_clock(registry: Registry) -> Registry:
    """Ask a person at a terminal whether a clock that is in doubt is right."""
    if registry.clock_doubt is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return registry
    if not typer.confirm(f"{registry.clock_doubt}\nIs the clock right?", err=True):
        return registry
    await confirm_clock(registry)
    return registry._replace(clock_doubt=None)


def look(folder: Path | None, work: Callable[[Registry, Agent | None], Awaitable[T]]) -> T:
    """Look at something; whoever has a key at hand may see more."""
    place = find_folder(folder)
    remark_on_key(place)

    async def session() -> T:
        async with open_registry(place) as registry:
            return await work(registry, await _whoever(registry, place))

    return asyncio.run(session())


async def _whoever(registry: Registry, folder: Path) -> Agent | None:
    """Whose key is at hand, if anybody's; a key that opens nothing is no reason to hide what is public."""
    if "PERDURE_KEY" not in os.environ and not (folder / ADMIN_KEY).is_file():
        return None
    try:
        return await authenticate(registry, _key(folder))
    except BadKey as problem:
        complain(f"{problem}; only what is public is shown")
        return None


def _key(folder: Path) -> str:
    """The key from the environment, else the one that `init` left in the folder."""
    given = os.environ.get("PERDURE_KEY")
    if given is not None:
        if not given.strip():
            raise BadKey("PERDURE_KEY is set, but empty")
        return given
    try:
        return (folder / ADMIN_KEY).read_text("utf-8", "replace")
    except FileNotFoundError:
        reason = (
            f"none is at hand; set PERDURE_KEY to yours (no {ADMIN_KEY} is here), or see perdure agent recover --help"
        )
        raise BadKey(reason) from None


def say(value: Any, json: bool, text: str) -> None:
    """One result, for a person or for a program."""
    typer.echo(as_json(msgspec.to_builtins(value, enc_hook=str)) if json else text)
