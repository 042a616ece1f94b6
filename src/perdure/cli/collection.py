"""`perdure collection`: directories of items, each under the name of its identifier."""

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import (
    collection_copies,
    collection_export,
    collection_items,
    collection_show,
    collection_verify,
)
from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_anonymous
from perdure.cli.bulk_session import exit_if_refused
from perdure.cli.collection_options import CollectionName, collection_fields, content_text, count_text
from perdure.cli.help import CommandGroup
from perdure.cli.item_overview import CollectionEntry, ItemEntry
from perdure.cli.progress import count_progress
from perdure.cli.registry_session import Folder, Json, find_folder, run_as_agent
from perdure.cli.terminal import escape_control, print_error, print_table, to_json
from perdure.collections.addresses import default_address
from perdure.collections.collection_admin import (
    change_address,
    change_path,
    create_collection,
    find_collection,
)
from perdure.errors import InvalidInput
from perdure.registry import Registry
from perdure.registry.entities import Agent
from perdure.settings_file import read_settings

app: CommandGroup = CommandGroup(help="Keep items in directories, and copies of them elsewhere.")

EXAMPLES = """
**Examples**

- `perdure collection create archive --path /srv/archive`
- `perdure collection put archive thesis.pdf --subsystem sid.inpe.br/mtc-m18 --title 'On lasting'`
- `perdure collection list archive`
- `perdure collection copy sid.inpe.br/mtc-m18/2009/02.16.17.46 archive mirror`
- `perdure collection verify archive --rolling 30d --rate 50MB`
"""
CREATE_EXAMPLES = """
**Examples**

- `perdure collection create archive --path /srv/archive`
- `perdure collection create mirror --path /mnt/nas/mirror --url https://mirror.example.org/items/mirror`
"""
CHANGE_EXAMPLES = """
**Examples**

- `perdure collection change archive --url https://items.example.org/archive`
- `perdure collection change archive --path /mnt/new-disk/archive`
"""
LIST_EXAMPLES = "**Examples**\n\n- `perdure collection list`\n- `perdure collection list archive --problems`"

Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Public address of the collection. Default: /items/NAME below public_url in the settings."
    ),
]


@app.command("create", epilog=CREATE_EXAMPLES)
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and hyphens.")],
    path: Annotated[Path, typer.Option("--path", metavar="DIR", help="New or empty directory, on any disk.")],
    url: Url = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Create a collection: a directory that holds items under the names of their identifiers.

    The directory is an OCFL 1.1 storage root, so that other programs can read it too. The identifier of each item
    points to the public address of the collection. A directory that is a collection already is taken over.
    """
    address = url if url is not None else default_address(read_settings(find_folder(folder)).http.public_url, name)
    made = run_as_agent(folder, lambda registry, by: create_collection(registry, by, name, path, address))
    if json:
        typer.echo(to_json(collection_fields(made)))
        return
    typer.echo(f"Created the collection {made.name} in {escape_control(made.path)}")
    typer.echo(f"  public address   {made.url}")


@app.command("change", epilog=CHANGE_EXAMPLES)
def change(
    name: CollectionName,
    url: Annotated[str | None, typer.Option(metavar="URL", help="New public address of the collection.")] = None,
    path: Annotated[
        Path | None, typer.Option("--path", metavar="DIR", help="Where the directory is now, after you have moved it.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Change the public address of a collection, with the targets of all its items; or record its new directory.

    After an interruption, run the same command again: it continues where it stopped. Exit code 1: some targets could
    not be changed.
    """
    if (url is None) == (path is None):
        raise InvalidInput("collection", "url", "give the new address with --url, or the new directory with --path")
    if path is not None:
        changed = run_as_agent(folder, lambda registry, by: change_path(registry, by, name, path))
        typer.echo(
            to_json(collection_fields(changed))
            if json
            else f"The collection {changed.name} is in {escape_control(changed.path)} now."
        )
        return
    address = url or ""
    retargeted, refused = run_as_agent(folder, lambda registry, by: _change_address(registry, by, name, address))
    if json:
        typer.echo(to_json({"name": name, "url": address.rstrip("/"), "changed": retargeted, "refused": refused}))
    else:
        targets = count_text(retargeted, "target")
        typer.echo(f"The address of {name} is {address.rstrip('/')} now: {targets} changed, {refused:,} refused.")
    exit_if_refused(refused)


async def _change_address(registry: Registry, by: Agent, name: str, url: str) -> tuple[int, int]:
    changed = refused = 0
    total = (await find_collection(registry, name)).totals.originals
    with count_progress("items") as bar:
        task = bar.add_task("changing targets", total=total)
        async for step in change_address(registry, by, name, url):
            changed, refused = step.change.changed, step.change.refused
            bar.update(task, completed=step.change.seen)
            for problem in step.problems:
                print_error(f"{problem.name}: {problem.reason}", bar.console)
    return changed, refused


@app.command("list", epilog=LIST_EXAMPLES)
def list_(
    name: Annotated[
        str | None, typer.Argument(metavar="COLLECTION", help="List the items of this collection, one per line.")
    ] = None,
    problems: Annotated[
        bool, typer.Option("--problems", help="Only items that were damaged, missing or unreadable at the last check.")
    ] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """List the collections, or the items of one."""
    if name is None:
        if problems:
            raise InvalidInput("collection", "problems", "name the collection whose items are to be listed")
        _print_collections(run_anonymous(folder, use.list_collections), json)
        return
    run_anonymous(folder, lambda registry: _print_items(registry, name, only_problems=problems, as_json=json))


def _print_collections(found: list[CollectionEntry], as_json: bool) -> None:
    if as_json:
        for one in found:
            typer.echo(to_json(one.fields))
        return
    columns = [
        ("name", [one.name for one in found]),
        ("items", [f"{one.items:,}" for one in found]),
        ("originals", [f"{one.originals:,}" for one in found]),
        ("bytes", [f"{one.size:,}" for one in found]),
        ("problems", [f"{one.problems:,}" for one in found if one.problems is not None]),
        ("directory", [one.directory for one in found if one.directory is not None]),
        ("address", [one.url or "" for one in found]),
    ]
    shown = [(heading, texts) for heading, texts in columns if texts or not found]
    rows = zip(*(texts for _, texts in shown), strict=True)
    print_table(tuple(heading for heading, _ in shown), rows, whole=("name",))


async def _print_items(registry: AnyRegistry, name: str, *, only_problems: bool, as_json: bool) -> None:
    async for page in use.list_items(registry, name, only_problems=only_problems):
        for one in page:
            typer.echo(to_json(one.fields) if as_json else _item_line(one))


def _item_line(one: ItemEntry) -> str:
    checked = f", {one.outcome} at {one.verified_at[:19]}Z" if one.verified_at else ""
    return escape_control(f"{one.label}  {one.role}, {content_text(one)}{checked}")


app.command("show", epilog=collection_show.EXAMPLES)(collection_show.show)
app.command("put", epilog=collection_items.PUT_EXAMPLES)(collection_items.put)
app.command("get", epilog=collection_items.GET_EXAMPLES)(collection_items.get)
app.command("copy", epilog=collection_copies.COPY_EXAMPLES)(collection_copies.copy)
app.command("migrate", epilog=collection_copies.MIGRATE_EXAMPLES)(collection_copies.migrate)
app.command("install", epilog=collection_copies.INSTALL_EXAMPLES)(collection_copies.install)
app.command("remove", epilog=collection_copies.REMOVE_EXAMPLES)(collection_copies.remove)
app.command("verify", epilog=collection_verify.EXAMPLES)(collection_verify.verify)
app.command("export", epilog=collection_export.EXAMPLES)(collection_export.export)
