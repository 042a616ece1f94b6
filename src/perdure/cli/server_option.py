"""The options `--server`, `--key`, `--key-file` and `--insecure-http`, which stand before the command."""

import os
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from perdure.cli.remote.commands import REMOTE, WITHOUT_REGISTRY
from perdure.cli.remote.server_address import ServerAddress, parse_server
from perdure.errors import InvalidInput

Server = Annotated[
    str | None,
    typer.Option(
        "--server",
        envvar="PERDURE_SERVER",
        metavar="URL",
        help="Work with the registry of this server instead of a folder, as in https://id.example.org.",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="KEY",
        help="Key for --server. Other users of this machine can see it in the list of processes: better set "
        "PERDURE_KEY, or use --key-file.",
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="File with the key for --server.", exists=True, dir_okay=False),
]
InsecureHttp = Annotated[
    bool, typer.Option("--insecure-http", help="Send the key over http:// too. Others on the way can read it.")
]

_MOST_KEY_BYTES: Final = 4_096
_chosen: ContextVar[ServerAddress | None] = ContextVar("server", default=None)


def read_server_options(
    ctx: typer.Context, server: str | None, key: str | None, key_file: Path | None, *, insecure_http: bool
) -> None:
    """Remember the options of this call until the command is known."""
    if key is not None and key_file is not None:
        raise InvalidInput("server", "key", "--key and --key-file cannot be combined")
    if not server and (key is not None or key_file is not None or insecure_http):
        reason = "--key, --key-file and --insecure-http are for --server: for a folder, set PERDURE_KEY"
        raise InvalidInput("server", "server", reason)
    ctx.obj = (server or None, key, key_file, insecure_http)


def choose_server(ctx: Any) -> None:
    """Choose the server on which a command works, or none. Refuse a command that has no remote form."""
    _chosen.set(None)
    root = ctx.find_root()
    server, key, key_file, insecure_http = root.obj or (None, None, None, False)
    command = ctx.command_path.partition(" ")[2]
    if server is None or command in WITHOUT_REGISTRY:
        return
    is_from_environment = _has_source(root, "server", "ENVIRONMENT")
    if any("--registry" in option.opts for option in ctx.command.params) and _has_source(ctx, "folder", "COMMANDLINE"):
        if is_from_environment:
            return
        raise InvalidInput("server", "server", "--server and --registry cannot be combined")
    if command not in REMOTE:
        reason = f"perdure {command} works on the machine of the registry only"
        hint = ": unset PERDURE_SERVER, or give the folder with --registry" if is_from_environment else ""
        raise InvalidInput("server", "server", reason + hint)
    _chosen.set(parse_server(server, _find_key(key, key_file), insecure_http=insecure_http))


def chosen_server() -> ServerAddress | None:
    """Return the server on which this command works; None for a folder."""
    return _chosen.get()


def _has_source(ctx: Any, option: str, source: str) -> bool:
    """Return whether an option was given there. Typer has a copy of click, so only the names of sources compare."""
    found = ctx.get_parameter_source(option)
    return found is not None and found.name == source


def _find_key(key: str | None, key_file: Path | None) -> str | None:
    if key_file is not None:
        with key_file.open("rb") as stream:
            return stream.read(_MOST_KEY_BYTES).decode("utf-8", "replace")
    return key if key is not None else os.environ.get("PERDURE_KEY")
