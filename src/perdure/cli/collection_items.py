"""`perdure collection put`, `get` and `show`: items into a collection, and out of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.collection_options import (
    CollectionName,
    Label,
    content_text,
    count_text,
    holding_fields,
    print_holding,
)
from perdure.cli.registry_session import Folder, Json, run_anonymous, run_as_agent
from perdure.cli.terminal import escape_control, make_console, print_error, to_json
from perdure.cli.transfer_progress import show_steps
from perdure.collections.addresses import item_address
from perdure.collections.bag_reader import is_bag, read_bag
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.held_items import HeldItem, find_item, require_known_collection
from perdure.collections.item_content import ITEM_PAGE
from perdure.collections.item_records import require_known_item
from perdure.collections.retrieval import get_item
from perdure.collections.source_files import LocalFile, SourceFile, list_directory
from perdure.errors import InvalidInput, quote_text
from perdure.registry import Registry
from perdure.registry.entities import Agent
from perdure.registry.holdings import Holding
from perdure.registry.store_interface import Reader

PUT_EXAMPLES = """
**Examples**

- a new item: `perdure collection put archive thesis.pdf --subsystem sid.inpe.br/mtc-m18 --title 'On lasting'`
- a new version of it: `perdure collection put archive thesis.pdf --label sid.inpe.br/mtc-m18/2009/02.16.17.46`
- a directory with a page to begin with:
  `perdure collection put archive site/ --subsystem sid.inpe.br/mtc-m18 --main index.html`
- in a script that may be interrupted:
  `perdure collection put archive data/ --subsystem sid.inpe.br/mtc-m18 --resume survey-7`
"""
GET_EXAMPLES = """
**Examples**

- `perdure collection get sid.inpe.br/mtc-m18/2009/02.16.17.46 --to thesis`
- as it was: `perdure collection get sid.inpe.br/mtc-m18/2009/02.16.17.46 --version 1 --to old`
- as a bag: `perdure collection get sid.inpe.br/mtc-m18/2009/02.16.17.46 --as-bag --to bag`
"""
SHOW_EXAMPLES = "**Example**\n\n- `perdure collection show sid.inpe.br/mtc-m18/2009/02.16.17.46`"


def put(
    collection: CollectionName,
    source: Annotated[
        Path, typer.Argument(metavar="FILE|DIR|BAG", help="File, directory, or BagIt bag to store.", exists=True)
    ],
    label: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Existing name: the files are its next version.")
    ] = None,
    subsystem: Annotated[
        str | None, typer.Option(metavar="PREFIX", help="Mint a new name under this IBI subsystem.")
    ] = None,
    pool: Annotated[
        str | None, typer.Option(metavar="POOL", help="Mint a new name under a subsystem of this pool.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of a new item.")] = None,
    main: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Main file, to which the identifier leads; / for the page of the item. Default: that of the version "
            "before, or the only file.",
        ),
    ] = None,
    message: Annotated[str, typer.Option(metavar="TEXT", help="What is new in this version.")] = "",
    resume: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", help="Any text. For a day, the same text continues with the same new name."),
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Store a file or a directory under a new name, or as the next version of an item. Old versions stay readable.

    First the name is reserved, then the files are written to disk, then the identifier points to them. After an
    interruption, run the command again with --label NAME, or with the same --resume: files that are stored already are
    not stored twice.
    """
    _check_options(label, subsystem, pool, title, resume)
    _check_main(source, main)

    async def work(registry: Registry, by: Agent) -> Holding:
        name = label
        if name is None:
            minted = await reserve_name(registry, by, collection, subsystem or pool or "", title=title, token=resume)
            name = minted.name
            also = f", also known as {minted.alias}" if minted.alias else ""
            print_error(f"reserved {name}{also}; after an interruption, continue with --label {name}")
        with make_console(stderr=True).status("counting files"):
            total = sum(one.size or 0 for one in _list_sources(source))
        with show_steps(total) as report:
            sources = _list_sources(source)
            return await put_item(
                registry, by, collection, name, sources, main_file=main, message=message, report=report
            )

    holding = run_as_agent(folder, work)
    if not json:
        print_error(f"stored in {collection}: {content_text(holding)}")
    print_holding(holding, holding.label, json)


def _check_options(
    label: str | None, subsystem: str | None, pool: str | None, title: str | None, resume: str | None
) -> None:
    if sum(one is not None for one in (label, subsystem, pool)) != 1:
        reason = "give the subsystem or the pool for a new name (--subsystem, --pool), or an existing name (--label)"
        raise InvalidInput("collection", "label", reason)
    if label is not None and (title is not None or resume is not None):
        reason = "--title and --resume are for new names: change a title with perdure set, and repeat --label as it is"
        raise InvalidInput("collection", "title", reason)


def _check_main(source: Path, main: str | None) -> None:
    """Refuse a main file that is missing before anything is stored."""
    if main not in (None, ITEM_PAGE) and all(one.path != main for one in _list_sources(source)):
        raise InvalidInput("item", "main", f"{source} has no file {quote_text(main)}, so that is not its main file")


def _list_sources(source: Path) -> Iterator[SourceFile]:
    if not source.is_dir():
        yield LocalFile(source.name, source, source.stat().st_size)
        return
    yield from read_bag(source) if is_bag(source) else list_directory(source)


def get(
    label: Label,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="DIR", help="New directory. Default: the last part of the label.")
    ] = None,
    version: Annotated[int | None, typer.Option(metavar="N", min=1, help="Version. Default: the newest.")] = None,
    collection: Annotated[
        str | None,
        typer.Option(metavar="COLLECTION", help="Collection to read. Default: that of the original, then copies."),
    ] = None,
    as_bag: Annotated[bool, typer.Option("--as-bag", help="Write a BagIt bag with digests and metadata.")] = False,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Copy the files of an item to a new directory. Each file is compared with its digest.

    If a file of the original is damaged, the item is taken from a copy.
    """
    target = to or Path(label.rstrip("/").rpartition("/")[2])
    with show_steps() as report:
        got = run_anonymous(
            folder,
            lambda registry: get_item(
                registry, label, target, version=version, collection=collection, as_bag=as_bag, report=report
            ),
        )
    for problem in got.problems:
        print_error(str(problem))
    if json:
        fields = {"label": got.label, "collection": got.collection, "version": got.version, "files": got.files}
        typer.echo(to_json(fields | {"size": got.size, "path": str(target)}))
        return
    content = f"version {got.version}, {count_text(got.files, 'file')}, {count_text(got.size, 'byte')}"
    typer.echo(escape_control(f"Copied {got.label} from {got.collection} to {target}: {content}."))


def show(label: Label, folder: Folder = None, json: Json = False) -> None:
    """Show which collections hold an item: original and copies, with dates and where each came from."""

    def look_up(reader: Reader) -> tuple[HeldItem, dict[str, str]]:
        item = require_known_item(find_item(reader, label))
        found = {one.collection: require_known_collection(reader, one.collection) for one in item.holdings}
        return item, {name: item_address(one, item.label) for name, one in found.items() if one.url is not None}

    item, addresses = run_anonymous(folder, lambda registry: registry.store.read(look_up))
    if json:
        held = [holding_fields(one) | {"url": addresses.get(one.collection)} for one in item.holdings]
        typer.echo(to_json({"label": item.label, "name": item.name, "holdings": held}))
        return
    typer.echo(item.label)
    for one in item.holdings:
        place = addresses.get(one.collection) if one.is_elsewhere else one.collection
        typer.echo(f"  {place}: {one.role} since {one.role_since[:19]}Z, {content_text(one)}")
        lines = [
            ("address", None if one.is_elsewhere else addresses.get(one.collection)),
            ("main file", one.main_file),
            ("stored", f"{one.put_at[:19]}Z, from {one.source}"),
            ("checked", f"{one.outcome} at {one.verified_at[:19]}Z" if one.verified_at else "not yet"),
        ]
        for heading, text in lines:
            if text:
                typer.echo(f"    {heading:<10} {escape_control(text)}")
