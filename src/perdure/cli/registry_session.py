"""The registry that a command works on, and the agent for whom it acts."""

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

from perdure.cli.terminal import print_error, to_json
from perdure.errors import BadKey, InvalidInput, NoSuchName
from perdure.folder.registry_folder import ADMIN_KEY, is_registry, open_registry, resolver_addresses
from perdure.registry import Registry, authenticate
from perdure.registry.entities import Agent
from perdure.registry.opening_checks import confirm_clock
from perdure.registry.own_addresses import OwnAddresses
from perdure.registry.similar_names import with_similar_names
from perdure.settings_file import SETTINGS, read_settings

T = TypeVar("T")

Folder = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        "-R",
        envvar="PERDURE_REGISTRY",
        metavar="DIR",
        help="Folder of the registry. Default: the current folder, or the nearest parent with a registry.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="Identifier, in any form: bare, as a URL of a resolver, or with hdl: or doi:."),
]


def find_folder(given: Path | None) -> Path:
    """Return the given folder, or the nearest one at or above the current folder with a registry."""
    if given is not None:
        return given
    here = Path.cwd()
    for folder in (here, *here.parents):
        if is_registry(folder):
            return folder
    reason = f"no registry found ({SETTINGS}): create one with perdure init, or give its folder with --registry"
    raise InvalidInput("registry", "folder", reason)


def find_own_addresses(given: Path | None) -> OwnAddresses:
    """Return the web addresses of the registry's resolver. Without a registry, there are none."""
    try:
        folder = find_folder(given)
    except InvalidInput:
        return ()
    return resolver_addresses(read_settings(folder))


def warn_about_readable_key(folder: Path) -> None:
    """Warn on standard error if other users can read the administrator's key."""
    key = folder / ADMIN_KEY
    with suppress(OSError):
        if stat.S_IMODE(key.stat().st_mode) & 0o077:
            print_error(f"other users can read {key}; to change that: chmod 600 {shlex.quote(str(key.absolute()))}")


def run_anonymous(folder: Path | None, work: Callable[[Registry], Awaitable[T]], *, check: bool = True) -> T:
    """Run work that needs no permission. Without `check`, a store that has lost changes is opened too."""

    location = find_folder(folder)
    warn_about_readable_key(location)

    async def session() -> T:
        async with open_registry(location, check=check) as registry:
            return await _with_suggestions(registry, work(registry))

    return asyncio.run(session())


def run_as_agent(folder: Path | None, work: Callable[[Registry, Agent], Awaitable[T]]) -> T:
    """Run work as the agent to whom the configured key belongs."""
    location = find_folder(folder)
    warn_about_readable_key(location)

    async def session() -> T:
        async with open_registry(location) as registry:
            agent = await authenticate(registry, _read_key(location))
            return await _with_suggestions(registry, work(await _confirm_clock(registry), agent))

    return asyncio.run(session())


async def _with_suggestions(registry: Registry, work: Awaitable[T]) -> T:
    """Return the result of work. If a name is not registered, the error suggests similar ones."""
    try:
        return await work
    except NoSuchName as problem:
        raise await with_similar_names(registry, problem) from None


async def _confirm_clock(registry: Registry) -> Registry:
    """Ask a user at a terminal to confirm a doubtful clock."""
    if registry.clock_doubt is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return registry
    if not typer.confirm(f"{registry.clock_doubt}\nIs the clock right?", err=True):
        return registry
    await confirm_clock(registry)
    return registry._replace(clock_doubt=None)


def run_maybe_as_agent(folder: Path | None, work: Callable[[Registry, Agent | None], Awaitable[T]]) -> T:
    """Run work as the agent of the configured key, or anonymously. An agent may see more."""
    location = find_folder(folder)
    warn_about_readable_key(location)

    async def session() -> T:
        async with open_registry(location) as registry:
            return await _with_suggestions(registry, work(registry, await _find_agent(registry, location)))

    return asyncio.run(session())


async def _find_agent(registry: Registry, folder: Path) -> Agent | None:
    """Return the agent of the configured key, or None. With an invalid key, public data is still shown."""
    if "PERDURE_KEY" not in os.environ and not (folder / ADMIN_KEY).is_file():
        return None
    try:
        return await authenticate(registry, _read_key(folder))
    except BadKey as problem:
        print_error(f"{problem}; showing only public data")
        return None


def _read_key(folder: Path) -> str:
    """Return the key from PERDURE_KEY, or from the file that `perdure init` wrote."""
    given = os.environ.get("PERDURE_KEY")
    if given is not None:
        if not given.strip():
            raise BadKey("PERDURE_KEY is empty")
        return given
    try:
        return (folder / ADMIN_KEY).read_text("utf-8", "replace")
    except FileNotFoundError:
        reason = (
            f"no key found: set PERDURE_KEY (there is no file {ADMIN_KEY}); "
            "if all keys are lost, see perdure agent recover --help"
        )
        raise BadKey(reason) from None


def print_result(value: Any, json: bool, text: str) -> None:
    """Print a result as text or as JSON."""
    typer.echo(to_json(msgspec.to_builtins(value, enc_hook=str)) if json else text)
