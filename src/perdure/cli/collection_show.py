"""`perdure collection show`: which collections hold an item, its versions, and their files."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from perdure.cli.collection_options import Label, content_text, count_text, holding_fields
from perdure.cli.registry_session import Folder, Json, run_anonymous
from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.collections.addresses import item_address
from perdure.collections.held_items import HeldItem, find_item, require_known_collection
from perdure.collections.item import ItemVersion, StoredItem
from perdure.collections.item_records import require_known_item
from perdure.collections.storage_root import StorageRoot
from perdure.errors import PerdureError
from perdure.registry.holdings import Collection, Holding
from perdure.registry.store_interface import Reader

EXAMPLES = """
**Examples**

- `perdure collection show sid.inpe.br/mtc-m18/2009/02.16.17.46`
- the files of its first version: `perdure collection show sid.inpe.br/mtc-m18/2009/02.16.17.46 --files --version 1`
"""


class _ShownItem(NamedTuple):
    """An item with the collections that hold it, and its versions; None if they cannot be read."""

    item: HeldItem
    collections: dict[str, Collection]
    stored: StoredItem | None


def show(
    label: Label,
    files: Annotated[bool, typer.Option("--files", help="List the files, with their sizes and digests.")] = False,
    version: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="With --files: of this version. Default: the newest.")
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Show an item: its original and its copies, with dates and where each came from, and its versions."""
    shown = _look_up(folder, label)
    listed = shown.stored.version(version) if files and shown.stored is not None else None
    if json:
        typer.echo(to_json(_describe(shown, listed)))
        return
    typer.echo(shown.item.label)
    for one in shown.item.holdings:
        _print_holding(one, shown.collections[one.collection])
    for version_shown in () if shown.stored is None else shown.stored.versions:
        typer.echo(escape_control(f"  {_version_line(version_shown)}"))
    for file in () if listed is None else listed.files.values():
        size = "missing" if file.size < 0 else count_text(file.size, "byte")
        typer.echo(escape_control(f"    {file.path}  {size}, {file.media_type}, sha512 {file.sha512}"))


def _look_up(folder: Path | None, label: str) -> _ShownItem:
    def work(reader: Reader) -> tuple[HeldItem, dict[str, Collection]]:
        item = require_known_item(find_item(reader, label))
        return item, {one.collection: require_known_collection(reader, one.collection) for one in item.holdings}

    item, collections = run_anonymous(folder, lambda registry: registry.store.read(work))
    return _ShownItem(item, collections, _read_stored(item, collections))


def _read_stored(item: HeldItem, collections: dict[str, Collection]) -> StoredItem | None:
    """Return the versions, from the first collection where they can be read."""
    problem: PerdureError | None = None
    for one in item.holdings:
        if not one.is_elsewhere:
            try:
                return StorageRoot.open(collections[one.collection].path).read_item(one.label)
            except PerdureError as found:
                problem = problem or found
    if problem is not None:
        print_error(f"the versions cannot be shown: {problem}")
    return None


def _print_holding(holding: Holding, collection: Collection) -> None:
    address = item_address(collection, holding.label) if collection.url is not None else None
    place = collection.url if holding.is_elsewhere else holding.collection
    typer.echo(f"  {place}: {holding.role} since {holding.role_since[:19]}Z, {content_text(holding)}")
    lines = [
        ("address", address),
        ("main file", holding.main_file),
        ("stored", f"{holding.put_at[:19]}Z, from {holding.source}"),
        ("checked", f"{holding.outcome} at {holding.verified_at[:19]}Z" if holding.verified_at else "not yet"),
    ]
    for heading, text in lines:
        if text:
            typer.echo(f"    {heading:<10} {escape_control(text)}")


def _version_line(version: ItemVersion) -> str:
    count = count_text(len(version.inventory.list_files(version.number)), "file")
    agent = "" if version.agent is None else f", by {version.agent.name}"
    message = f": {version.message}" if version.message else ""
    return f"version {version.number}: {version.created:%Y-%m-%dT%H:%M:%SZ}, {count}{agent}{message}"


def _describe(shown: _ShownItem, listed: ItemVersion | None) -> dict[str, Any]:
    held = []
    for one in shown.item.holdings:
        collection = shown.collections[one.collection]
        url = None if collection.url is None else item_address(collection, one.label)
        held.append(holding_fields(one) | {"url": url})
    versions = [
        {
            "version": one.number,
            "created": f"{one.created:%Y-%m-%dT%H:%M:%SZ}",
            "agent": None if one.agent is None else one.agent._asdict(),
            "message": one.message,
            "files": len(one.inventory.list_files(one.number)),
        }
        for one in (() if shown.stored is None else shown.stored.versions)
    ]
    described = {"label": shown.item.label, "name": shown.item.name, "holdings": held, "versions": versions}
    return described if listed is None else described | {"files": [one._asdict() for one in listed.files.values()]}
