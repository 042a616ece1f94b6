"""`perdure serve`: the HTTP server of a registry."""

import asyncio
import os
import shlex
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from perdure.cli.command_name import program_call
from perdure.cli.error_hints import with_hint
from perdure.cli.init import user_name
from perdure.cli.registry_session import Folder, find_folder, warn_about_readable_key
from perdure.cli.terminal import print_error, to_json
from perdure.errors import InvalidInput
from perdure.folder.registry_folder import ADMIN_KEY, is_registry, make_registry, open_registry, registry_location
from perdure.http_options import check_http_options
from perdure.registry.entities import Prefix
from perdure.registry.name_keys import require_prefix
from perdure.registry.person_iris import explain_person_iris
from perdure.settings_file import read_settings

_LOOPBACK: Final = "127.0.0.1"
_OTHER_LOOPBACK: Final = "127.0.0.2"

EXAMPLES = """
**Examples**

- `perdure serve`
- `perdure serve --registry archive --port 8000 --workers 4`
- `perdure serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem`
- for scripts, with a free port: `perdure serve --port 0 --announce json`
"""


def serve(
    folder: Folder = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 for all interfaces.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port to listen on; 0 for any free port.")
    ] = 8080,
    workers: Annotated[int, typer.Option(metavar="N", min=1, max=256, help="Number of worker processes.")] = 1,
    tls_cert: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TLS certificate with its chain (PEM), for https.", dir_okay=False),
    ] = None,
    tls_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Private key of the certificate, if it is in another file.", dir_okay=False),
    ] = None,
    access_log: Annotated[
        bool | None, typer.Option("--access-log/--no-access-log", help="Log every request on standard error.")
    ] = None,
    announce: Annotated[
        str | None,
        typer.Option(metavar="json", help='json: print one line {"url": …, "admin_key": …} when the server is ready.'),
    ] = None,
) -> None:
    """Serve a registry over HTTP: the resolver, the Handle API, and Perdure's own API.

    If there is no registry, one is created. Ctrl-C or SIGTERM stops the server after it has finished the requests
    in progress. No acknowledged change is lost.
    """
    from perdure.http.transport.server import (  # imported here because the framework is slow to load
        ListenOptions,
        listen,
    )
    from perdure.http.transport.server import serve as run

    if announce not in (None, "json"):
        raise InvalidInput("serve", "announce", "the only supported value of --announce is json")
    if tls_key is not None and tls_cert is None:
        raise InvalidInput("serve", "tls_key", "--tls-key requires --tls-cert")
    listen_options = ListenOptions(host, port, workers, tls_cert, tls_key)
    listening = listen(listen_options)  # first, because the key of a new registry is shown only once
    location, key = _find_or_create_registry(folder)
    warn_about_readable_key(location)
    options = check_http_options(read_settings(location).http)
    if access_log is not None:
        options = msgspec.structs.replace(options, access_log=access_log)
    home = asyncio.run(_home_prefix(location))
    is_proxied = any(ip_address(_LOOPBACK) in network for network in options.proxies)

    def ready(url: str) -> None:
        if announce:
            typer.echo(to_json({"url": url} | ({"admin_key": key} if key else {})))
        else:
            _print_welcome(url, location, key, home, workers, is_proxied)

    run(location, options, listen_options, listening, ready)


def _find_or_create_registry(folder: Path | None) -> tuple[Path, str | None]:
    """Return the folder to serve, and the administrator's key if the registry is new."""
    try:
        location = find_folder(folder)
    except InvalidInput:
        location = Path()  # no registry here or above: create one here
    if is_registry(location) and registry_location(location).exists():
        return location, None
    if location == Path() and any(Path().iterdir()):
        reason = "no registry found, and this folder is not empty: give a folder with --registry, which will be created"
        raise InvalidInput("registry", "folder", reason)
    created = asyncio.run(make_registry(location, name=user_name()))
    return location, created.key


async def _home_prefix(location: Path) -> Prefix:
    async with open_registry(location) as registry:
        if registry.clock_doubt is not None:
            print_error(with_hint(registry.clock_doubt, program_call()))
        note = explain_person_iris(registry, read_settings(location).person_iris)
        if note is not None:
            print_error(note)
        return await registry.store.read(lambda reader: require_prefix(reader, registry.home))


def _print_welcome(url: str, folder: Path, key: str | None, home: Prefix, workers: int, is_proxied: bool) -> None:
    """Print the URL, the new key, and commands that work as printed in any folder."""
    folder = folder.resolve()
    typer.echo(f"Serving the registry in {folder}" + (f" with {workers} workers" if workers > 1 else ""))
    typer.echo(f"  URL         {url}")
    key_file = folder / ADMIN_KEY
    if key is not None:
        typer.echo("  registry    new: created just now, because this folder had none")
        typer.echo(f"  admin key   {key}")
        typer.echo(f"              (shown only once; also in {key_file}, which only you can read)")
    has_key_file = key_file.is_file()
    typer.echo(
        "Commands to try in another terminal:" if has_key_file else "Commands to try (export PERDURE_KEY first):"
    )
    bearer = f"$(cat {shlex.quote(str(key_file))})" if has_key_file else "$PERDURE_KEY"
    option, field = "", ""
    if home.minter == "chosen":  # any suffix that is not taken on a later start
        option, field = " --suffix try-$(date +%s)", ', "suffix": "http-\'$(date +%s)\'"'
    interface = f"--interface {_OTHER_LOOPBACK} " if is_proxied else ""  # a request of the proxy's address is not local
    typer.echo(f"""  # mint an identifier, with the command or over HTTP
  NAME=$({program_call()} mint {home.name} https://example.org/{option} --registry {shlex.quote(str(folder))})
  curl {interface}-X POST {url}/api/v1/identifiers -H "Authorization: Bearer {bearer}" \\
       -H 'Content-Type: application/json' -d '{{"prefix": "{home.name}", "target": "https://example.org/"{field}}}'
  # resolve it, and read its record as Handle clients do
  curl -i {url}/$NAME
  curl {url}/api/handles/$NAME""")
    typer.echo(f"API documentation: {url}/api/v1/docs      Stop the server with Ctrl-C.")
    if os.isatty(1):
        typer.echo("")
