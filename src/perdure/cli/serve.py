"""`perdure serve`: the registry over HTTP."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from perdure.cli.advice import advised
from perdure.cli.init import user_name
from perdure.cli.screen import as_json, complain
from perdure.cli.session import Folder, find_folder, remark_on_key
from perdure.errors import InvalidInput
from perdure.folder import ADMIN_KEY, is_registry, make_registry, open_registry, registry_place
from perdure.http_options import check_http_options
from perdure.settings_file import read_settings

EXAMPLES = """
**Examples**

- `perdure serve`
- `perdure serve --registry archive --port 8000 --workers 4`
- `perdure serve --host 0.0.0.0 --port 443 --tls-cert cert.pem --tls-key key.pem`
- for a script: `perdure serve --port 0 --announce json`
"""


def serve(
    folder: Folder = None,
    host: Annotated[str, typer.Option(help="The address to listen on; 0.0.0.0 is every one.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8080,
    workers: Annotated[int, typer.Option(min=1, max=256, help="How many processes answer.")] = 1,
    tls_cert: Annotated[
        Path | None, typer.Option(help="The certificate (PEM, with its chain), to speak https.", dir_okay=False)
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="Its private key, if it is not in the same file.", dir_okay=False)
    ] = None,
    access_log: Annotated[
        bool | None, typer.Option("--access-log/--no-access-log", help="Write every request to the standard error.")
    ] = None,
    announce: Annotated[
        str | None,
        typer.Option(metavar="json", help='json: print one line {"url": …, "admin_key": …} when it is ready.'),
    ] = None,
) -> None:
    """Serve a registry: the resolver, the HTTP interface that Handle clients know, and Perdure's own.

    Where there is no registry yet, one is made. Ctrl-C, or SIGTERM, ends it: what was acknowledged is kept, and
    requests that have begun are answered first.
    """
    from perdure.http.server import Place, listen  # the framework takes a while to load
    from perdure.http.server import serve as run

    if announce not in (None, "json"):
        raise InvalidInput("serve", "announce", "the only announcement is json")
    if tls_key is not None and tls_cert is None:
        raise InvalidInput("serve", "tls_key", "a key needs its certificate: --tls-cert")
    where = Place(host, port, workers, tls_cert, tls_key)
    listening = listen(where)  # before a registry is made, whose key is shown once, when everything has gone well
    place, key = _registry(folder)
    remark_on_key(place)
    options = check_http_options(read_settings(place).http)
    if access_log is not None:
        options = msgspec.structs.replace(options, access_log=access_log)
    home = asyncio.run(_home(place))

    def ready(url: str) -> None:
        if announce:
            typer.echo(as_json({"url": url} | ({"admin_key": key} if key else {})))
        else:
            _greet(url, place, key, home, workers)

    run(place, options, where, listening, ready)


def _registry(folder: Path | None) -> tuple[Path, str | None]:
    """The folder to serve, and the administrator's key if the registry was made just now."""
    try:
        place = find_folder(folder)
    except InvalidInput:
        place = Path()  # none here or above: a new one, here
    if is_registry(place) and registry_place(place).exists():
        return place, None
    if place == Path() and any(Path().iterdir()):
        reason = "there is no registry here, and the folder is not empty: name one with --registry, which is made then"
        raise InvalidInput("registry", "folder", reason)
    founded = asyncio.run(make_registry(place, name=user_name()))
    return place, founded.key


async def _home(place: Path) -> str:
    async with open_registry(place) as registry:
        if registry.clock_doubt is not None:
            complain(advised(registry.clock_doubt))
        return registry.home


def _greet(url: str, place: Path, key: str | None, home: str, workers: int) -> None:
    """What a person needs to go on, and nothing else."""
    say = typer.echo
    say(f"Perdure serves the registry in {place.resolve()}" + (f" with {workers} workers" if workers > 1 else ""))
    say(f"  address     {url}")
    if key is not None:
        say(f"  admin key   {key}")
        say(f"              (shown this once; it also lies in {ADMIN_KEY}, readable by you alone)")
    shown_key = key or "$PERDURE_KEY"
    say("Three commands to try, in another terminal:")
    say(f"""  curl -X POST {url}/api/v1/identifiers -H "Authorization: Bearer {shown_key}" \\
       -H 'Content-Type: application/json' -d '{{"prefix": "{home}", "target": "https://example.org/"}}'""")
    say(f"  curl -i {url}/NAME            # the name that came back: where it leads")
    say(f"  curl {url}/api/handles/NAME   # its record, as Handle clients read it")
    say(f"The interface, to read and to try: {url}/api/v1/docs      Ctrl-C ends it.")
    if os.isatty(1):
        say("")
