"""`perdure init`: a registry in a folder, ready to mint."""

import asyncio
import getpass
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID

import typer

from perdure.cli.move import warn_of_eavesdroppers
from perdure.cli.screen import as_json
from perdure.errors import InvalidInput
from perdure.folder import ADMIN_KEY, is_registry, make_registry, open_registry, registry_place
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.records.authority import DEFAULT_TYPE_PREFIX
from perdure.settings_file import DEFAULT_STORE, SETTINGS
from perdure.store.postgres.options import PostgresOptions

_PARTITIONS: Final = PostgresOptions().partitions

EXAMPLES = """
**Examples**

- `perdure init`
- `perdure init archive --name "City Archive of Leiden" --prefix 12345`
- `perdure init archive --store "postgresql://perdure@db.example.org/perdure?sslmode=verify-full"`
"""


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder of the registry, which is made if it is not there.")
    ] = Path(),
    name: Annotated[
        str | None, typer.Option(help="Who runs it: the first creator's name. Default: your user name.")
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            help="The Handle prefix under which agents get identifiers. Default: a local one, unique to this registry."
        ),
    ] = None,
    store: Annotated[
        str,
        typer.Option(
            metavar="STORE",
            help="Where identifiers are kept: sqlite:FILE, or postgresql://user@host:5432/database.",
        ),
    ] = DEFAULT_STORE,
    partitions: Annotated[
        int, typer.Option(min=1, max=256, help="On PostgreSQL: into how many partitions names are spread.")
    ] = _PARTITIONS,
    admin: Annotated[str, typer.Option(help="The short name of the first administrator.")] = "admin",
    type_prefix: Annotated[
        str, typer.Option(help="The prefix of the types of authority metadata.")
    ] = DEFAULT_TYPE_PREFIX,
    ppid_namespace: Annotated[
        str, typer.Option(help="The UUID that person identifiers are made in. It can never change.")
    ] = str(PPID_NAMESPACE),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a registry: settings, database, an administrator with a key, and that administrator's own identifier.

    Where there is a registry already, nothing is changed.
    """
    if is_registry(folder) and registry_place(folder).exists():
        asyncio.run(_say_what_is_there(folder, json))
        return
    try:
        namespace = UUID(ppid_namespace)
    except ValueError:
        raise InvalidInput("registry", "ppid_namespace", "the namespace must be a UUID") from None
    warn_of_eavesdroppers(store)
    founded = asyncio.run(
        make_registry(
            folder,
            store=store,
            postgresql=PostgresOptions(partitions=partitions),
            name=name or user_name(),
            home=prefix,
            admin=admin,
            type_prefix=type_prefix,
            ppid_namespace=namespace,
        )
    )
    if json:
        typer.echo(
            as_json(
                {
                    "created": True,
                    "registry": founded.registry.id,
                    "admin": admin,
                    "identifier": founded.admin.identifier,
                    "prefix": founded.registry.home,
                    "key": founded.key,
                }
            )
        )
        return
    typer.echo(f"A registry is ready in {folder.resolve()}")
    typer.echo(f"  settings    {SETTINGS}")
    typer.echo(f"  database    {registry_place(folder).database}")
    typer.echo(f"  you are     {admin}, {founded.admin.identifier}")
    typer.echo(f"  your key    {founded.key}")
    typer.echo(
        f"The key is shown this once. It also lies in {ADMIN_KEY}, for commands in this folder; remove that file"
    )
    typer.echo("if others can read it, and set PERDURE_KEY instead.")
    where = "" if folder == Path() else f"cd {folder} && "
    typer.echo(f"Next:  {where}perdure mint {founded.registry.home} https://example.org/")
    typer.echo("       perdure prefix add --help   ·   perdure agent add --help")


async def _say_what_is_there(folder: Path, json: bool) -> None:
    async with open_registry(folder) as registry:
        if json:
            typer.echo(as_json({"created": False, "registry": registry.id, "prefix": registry.home}))
        else:
            typer.echo(f"There is a registry in {folder.resolve()} already ({registry.id[:8]}); nothing was changed.")


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "administrator"
