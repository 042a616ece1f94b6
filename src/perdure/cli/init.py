"""`perdure init`: create a registry in a folder."""

import asyncio
import shlex
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit
from uuid import UUID

import typer

from perdure.cli.admin_name import choose_admin_name
from perdure.cli.move import warn_about_plaintext_connection
from perdure.cli.remote.server_address import is_this_machine
from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.errors import InvalidInput
from perdure.folder.registry_folder import ADMIN_KEY, is_registry, make_registry, open_registry, registry_location
from perdure.names.uuid5 import PPID_NAMESPACE
from perdure.records.authority_metadata import DEFAULT_TYPE_PREFIX
from perdure.records.namespaces import check_namespace, is_local
from perdure.settings_file import DEFAULT_STORE, SETTINGS
from perdure.store.postgres.postgres_options import PostgresOptions

_PARTITIONS: Final = PostgresOptions().partitions

EXAMPLES = """
**Examples**

- `perdure init`
- `perdure init archive --name "City Archive of Leiden" --prefix 12345`
- public, with persons as `https://id.example.org/PRID-…`: `perdure init archive --public-url https://id.example.org`
- `perdure init archive --store "postgresql://perdure@db.example.org/perdure?sslmode=verify-full"`
"""


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the registry. It is created if it does not exist.")
    ] = Path(),
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the administrator or organisation. Default: Administrator of HOST."),
    ] = None,
    prefix: Annotated[
        str | None,
        typer.Option(
            metavar="PREFIX", help="Handle prefix for the identifiers of agents. Default: a new local prefix."
        ),
    ] = None,
    store: Annotated[
        str,
        typer.Option(
            metavar="STORE",
            help="Database: sqlite:FILE, or postgresql://user@host:5432/database.",
        ),
    ] = DEFAULT_STORE,
    partitions: Annotated[
        int, typer.Option(metavar="N", min=1, max=256, help="PostgreSQL only: number of table partitions.")
    ] = _PARTITIONS,
    admin: Annotated[str, typer.Option(metavar="AGENT", help="Short name of the first administrator.")] = "admin",
    type_prefix: Annotated[
        str, typer.Option(metavar="PREFIX", help="Prefix of the types of authority metadata.")
    ] = DEFAULT_TYPE_PREFIX,
    ppid_namespace: Annotated[
        str, typer.Option(metavar="UUID", help="Namespace of person identifiers. It can never be changed.")
    ] = str(PPID_NAMESPACE),
    public_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Base URL at which readers reach the server. Persons are named there in linked data, for life.",
        ),
    ] = "",
    person_iris: Annotated[
        str,
        typer.Option(
            metavar="IRI",
            help="Another base for the IRIs of persons, as in https://ppid.org/. It can never be changed.",
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Create a registry: settings file, database, and an administrator with a key and an identifier.

    The IRI of a person in linked data is fixed for life. It begins with --public-url (or --person-iris). Without both,
    it is a local IRI, which never resolves; if public_url is set in the settings before the first person is
    registered, persons are named there.

    If the folder already contains a registry, nothing is changed.
    """
    if is_registry(folder) and registry_location(folder).exists():
        asyncio.run(_print_existing(folder, json))
        return
    try:
        namespace = UUID(ppid_namespace)
    except ValueError:
        raise InvalidInput("registry", "ppid_namespace", "the PPID namespace must be a UUID") from None
    if person_iris:
        check_namespace(person_iris, "--person-iris")
    warn_about_plaintext_connection(store)
    created = asyncio.run(
        make_registry(
            folder,
            store=store,
            postgresql=PostgresOptions(partitions=partitions),
            name=choose_admin_name(name, may_ask=not json),
            home=prefix,
            admin=admin,
            type_prefix=type_prefix,
            ppid_namespace=namespace,
            public_url=public_url,
            person_iris=person_iris,
        )
    )
    persons = created.registry.namespaces.ppid
    if is_this_machine(urlsplit(persons).hostname or ""):
        print_error(
            f"persons would be named {persons}PRID-… for life, an address that only this machine can reach: for a "
            "public registry, create another one with its public address"
        )
    if json:
        typer.echo(
            to_json(
                {
                    "created": True,
                    "registry": created.registry.id,
                    "admin": admin,
                    "identifier": created.admin.identifier,
                    "prefix": created.registry.home,
                    "person_iris": persons,
                    "key": created.key,
                }
            )
        )
        return
    typer.echo(f"Created a registry in {folder.resolve()}")
    typer.echo(f"  settings    {SETTINGS}")
    typer.echo(f"  database    {registry_location(folder).database}")
    has_local = is_local(persons)
    shown = "no public IRIs: set public_url before the first one" if has_local else f"{persons}PRID-…, for life"
    typer.echo(f"  persons     {shown}")
    typer.echo(f"  you         {admin}, {created.admin.identifier}")
    typer.echo(f"  your key    {created.key}")
    typer.echo(f"The key is shown only once. It is also in the file {ADMIN_KEY}, which commands in this folder use.")
    typer.echo("If others can read that file, delete it and set PERDURE_KEY instead.")
    if name is None:
        typer.echo(f"Your name in the history is {escape_control(created.admin.name)}.")
        typer.echo(f"To change it:  perdure agent rename {admin} --name NAME")
    change_folder = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    typer.echo(f"Next:  {change_folder}perdure mint {created.registry.home} https://example.org/")
    typer.echo("       perdure prefix add --help   ·   perdure agent add --help")


async def _print_existing(folder: Path, json: bool) -> None:
    async with open_registry(folder) as registry:
        if json:
            typer.echo(to_json({"created": False, "registry": registry.id, "prefix": registry.home}))
        else:
            typer.echo(f"{folder.resolve()} already contains a registry ({registry.id[:8]}); nothing was changed.")
