"""`perdure collection put`, `get` and `show`: items into a collection, and out of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from perdure.cli import use_cases as use
from perdure.cli.any_registry import AnyRegistry, run_anonymous, run_as_agent
from perdure.cli.collection_options import (
    CollectionName,
    Label,
    content_text,
    count_text,
)
from perdure.cli.item_deposit import PutRequest, PutResult
from perdure.cli.registry_session import Folder, Json, find_folder
from perdure.cli.terminal import escape_control, print_error, to_json
from perdure.cli.transfer_progress import show_steps
from perdure.collections.bag_reader import is_bag, read_bag
from perdure.collections.deposit import check_texts
from perdure.collections.held_items import require_collection
from perdure.collections.item_content import ITEM_PAGE
from perdure.collections.source_check import SourceTotals, check_sources, refuse_directory_around
from perdure.collections.source_files import SourceFile, find_file, list_directory
from perdure.collections.stoppable_work import run_stoppable
from perdure.collections.zip_reader import list_zip
from perdure.errors import InvalidInput
from perdure.registry.entities import Agent
from perdure.registry.registry import Registry

PUT_EXAMPLES = """
**Examples**

- a new item: `perdure collection put archive thesis.pdf --subsystem sid.inpe.br/mtc-m18 --title 'On lasting'`
- a new version of it: `perdure collection put archive thesis.pdf --label sid.inpe.br/mtc-m18/2009/02.16.17.46`
- a directory with a page to begin with:
  `perdure collection put archive site/ --subsystem sid.inpe.br/mtc-m18 --main index.html`
- the files in a zip file: `perdure collection put archive survey.zip --unzip --subsystem sid.inpe.br/mtc-m18`
- in a script that may be interrupted:
  `perdure collection put archive data/ --subsystem sid.inpe.br/mtc-m18 --resume survey-7`
"""
GET_EXAMPLES = """
**Examples**

- `perdure collection get sid.inpe.br/mtc-m18/2009/02.16.17.46 --to thesis`
- as it was: `perdure collection get sid.inpe.br/mtc-m18/2009/02.16.17.46 --version 1 --to old`
- as a bag: `perdure collection get sid.inpe.br/mtc-m18/2009/02.16.17.46 --as-bag --to bag`
"""


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
    unzip: Annotated[
        bool, typer.Option("--unzip", help="FILE is a zip file: store the files in it, instead of itself.")
    ] = False,
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

    async def work(registry: AnyRegistry, by: Agent) -> PutResult:
        if isinstance(registry, Registry):
            check_texts(registry.settings.limits, title, message)
            target = await registry.store.read(lambda reader: require_collection(reader, collection))
            refuse_directory_around(source, Path(target.path), "the directory of the collection")
            refuse_directory_around(source, find_folder(folder), "the folder of the registry, with its keys")
        request = PutRequest(
            collection=collection,
            label=label,
            prefix=subsystem or pool or "",
            title=title,
            main=main,
            message=message,
            token=resume,
            totals=await _check_source(source, main, unzip=unzip),
            list_sources=lambda: _list_sources(source, unzip=unzip),
        )
        return await use.put_files(registry, by, request)

    stored = run_as_agent(folder, work)
    if not json:
        done = "unchanged in" if stored.is_unchanged else "stored in"
        print_error(f"{done} {collection}: {content_text(stored)}")
    typer.echo(to_json(stored.fields) if json else escape_control(stored.label))


def _check_options(
    label: str | None, subsystem: str | None, pool: str | None, title: str | None, resume: str | None
) -> None:
    if sum(one is not None for one in (label, subsystem, pool)) != 1:
        reason = "give the subsystem or the pool for a new name (--subsystem, --pool), or an existing name (--label)"
        raise InvalidInput("collection", "label", reason)
    if label is not None and (title is not None or resume is not None):
        reason = "--title and --resume are for new names: change a title with perdure set, and repeat --label as it is"
        raise InvalidInput("collection", "title", reason)


async def _check_source(source: Path, main: str | None, *, unzip: bool) -> SourceTotals:
    """Refuse files that cannot be stored, and a main file that is missing, before anything is written."""
    empty: list[str] = []
    wanted = None if main == ITEM_PAGE else main
    with show_steps() as report:
        totals = await run_stoppable(
            lambda report: check_sources(_list_sources(source, empty.append, unzip=unzip), wanted, report), report
        )
    if empty:
        directories = "1 empty directory is" if len(empty) == 1 else f"{len(empty):,} empty directories are"
        print_error(f"{directories} not stored, because an item consists of files: {empty[0]}")
    return totals


def _list_sources(
    source: Path, report_empty: Callable[[str], None] | None = None, *, unzip: bool
) -> Iterator[SourceFile]:
    if unzip:
        if source.is_dir():
            raise InvalidInput("collection", "unzip", f"{source} is a directory, not a zip file: leave --unzip out")
        yield from list_zip(source)
        return
    if not source.is_dir():
        yield find_file(source)
        return
    yield from read_bag(source) if is_bag(source) else list_directory(source, report_empty)


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
            lambda registry: use.get_item(
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
