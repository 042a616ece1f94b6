"""Sessions of commands that work on the registry of a folder, or on one that a server has (`--server`)."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

from perdure.cli import registry_session
from perdure.cli.remote.remote_registry import CALLER, RemoteRegistry
from perdure.cli.server_option import chosen_server
from perdure.cli.terminal import print_error
from perdure.errors import BadKey
from perdure.registry import Registry
from perdure.registry.entities import Agent

T = TypeVar("T")

AnyRegistry = Registry | RemoteRegistry


def run_anonymous(folder: Path | None, work: Callable[[AnyRegistry], Awaitable[T]]) -> T:
    """Run work that needs no permission. A remote registry does not get the key."""
    server = chosen_server()
    if server is None:
        return registry_session.run_anonymous(folder, work)
    return _run(work(RemoteRegistry(server.without_key())))


def run_as_agent(folder: Path | None, work: Callable[[AnyRegistry, Agent], Awaitable[T]]) -> T:
    """Run work as the agent to whom the key belongs."""
    server = chosen_server()
    if server is None:
        return registry_session.run_as_agent(folder, work)
    if server.key is None:
        raise BadKey("no key found: set PERDURE_KEY, or give its file with --key-file")
    return _run(work(RemoteRegistry(server), CALLER))


def run_maybe_as_agent(folder: Path | None, work: Callable[[AnyRegistry, Agent | None], Awaitable[T]]) -> T:
    """Run work as the agent of the key, or anonymously. An agent may see more."""
    server = chosen_server()
    if server is None:
        return registry_session.run_maybe_as_agent(folder, work)
    if server.key is not None:
        try:
            return _run(work(RemoteRegistry(server), CALLER))
        except BadKey as problem:
            print_error(f"{problem}; showing only public data")
    return _run(work(RemoteRegistry(server.without_key()), None))


def check_registry(folder: Path | None) -> None:
    """Check that there is a registry to work on, before work that takes long."""
    if chosen_server() is None:
        registry_session.find_folder(folder)


def _run(work: Awaitable[T]) -> T:
    """Run work that waits for the network without the event loop. Ctrl-C ends it at once, not after a time limit."""

    async def session() -> T:
        return await work

    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        return asyncio.run(session())
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
