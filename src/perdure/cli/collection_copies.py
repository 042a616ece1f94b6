"""`perdure collection copy`, `migrate`, `install` and `remove`: items in more than one collection."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Final

import typer

from perdure.cli.collection_options import (
    CollectionName,
    Destination,
    Label,
    Origin,
    content_text,
    count_text,
    holding_fields,
    print_holding,
)
from perdure.cli.exit_codes import SOME_REFUSED
from perdure.cli.registry_session import Folder, Json, run_as_agent
from perdure.cli.remote.server_address import parse_server
from perdure.cli.terminal import print_error, to_json
from perdure.cli.transfer_progress import StepDisplay, show_steps
from perdure.collections.collection_address import CollectionAddress, parse_collection_address
from perdure.collections.copies import Migration, copy_item, migrate_all, migrate_item
from perdure.collections.removal import remove_item
from perdure.errors import InvalidInput
from perdure.registry import Registry
from perdure.registry.entities import Agent

COPY_EXAMPLES = "**Example**\n\n- `perdure collection copy sid.inpe.br/mtc-m18/2009/02.16.17.46 archive mirror`"
MIGRATE_EXAMPLES = """
**Examples**

- `perdure collection migrate sid.inpe.br/mtc-m18/2009/02.16.17.46 archive new-archive`
- a whole collection, and free the old disk: `perdure collection migrate --all archive new-archive --remove-source`
- from another server, with the key of an agent there in PERDURE_ORIGIN_KEY:
  `perdure collection migrate 8JMKD3MGP8W/34PGRBS https://id.example.org/items/archive new-archive`
"""
INSTALL_EXAMPLES = """
**Examples**

- `perdure collection install 8JMKD3MGP8W/34PGRBS mirror --from https://id.example.org`
- from one of its collections:
  `perdure collection install 8JMKD3MGP8W/34PGRBS mirror --from https://id.example.org/items/archive`
"""
REMOVE_EXAMPLES = """
**Examples**

- `perdure collection remove sid.inpe.br/mtc-m18/2009/02.16.17.46 mirror`
- the last copy: `perdure collection remove sid.inpe.br/mtc-m18/2009/02.16.17.46 archive --last --reason 'a test'`
"""

_ORIGIN_KEY: Final = "PERDURE_ORIGIN_KEY"
_WITH_LABEL: Final = 3
_WITHOUT_LABEL: Final = 2


def copy(label: Label, origin: Origin, to: Destination, folder: Folder = None, json: Json = False) -> None:
    """Copy an item with all its versions to another collection. The original stays where it is.

    Each file is compared with its digest on the way. A copy that exists gets the versions that it lacks.
    """
    with show_steps() as report:
        holding = run_as_agent(folder, lambda registry, by: copy_item(registry, by, label, origin, to, report))
    print_holding(holding, f"{to} has a copy of {holding.label}: {content_text(holding)}.", json)


def migrate(
    parties: Annotated[
        list[str],
        typer.Argument(
            metavar="[LABEL] FROM TO",
            help="The item, unless --all, and the two collections. FROM can be the URL of one on another server.",
        ),
    ],
    all_items: Annotated[bool, typer.Option("--all", help="Move every original of the collection FROM.")] = False,
    remove_source: Annotated[
        bool, typer.Option("--remove-source", help="Remove the item from FROM at the end, instead of leaving a copy.")
    ] = False,
    origin_key_file: Annotated[
        Path | None,
        typer.Option(
            "--origin-key-file",
            metavar="FILE",
            help="File with the key of an agent of the other server. Default: the environment variable "
            "PERDURE_ORIGIN_KEY.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Move the original of an item to another collection, or all originals of a collection (--all FROM TO).

    All digests are compared on both sides before the identifier points to the new address. Until then it points to the
    old one. What was the original becomes a copy. After an interruption, run the same command again: it continues where
    it stopped. Exit code 1: some items could not be moved.

    Run it on the server that gets the originals. If FROM is on another server, both servers must be running, the
    other one must have this one as a peer, and the key must be that of an agent there who may edit the items.
    """
    if len(parties) != (_WITHOUT_LABEL if all_items else _WITH_LABEL):
        raise InvalidInput("collection", "label", "give LABEL FROM TO, or --all FROM TO")
    origin, to = parties[-2:]
    if "://" in to:
        here = f"perdure collection migrate … ADDRESS-OF-{origin} {to.rstrip('/').rpartition('/')[2]}"
        raise InvalidInput("collection", "to", f"originals are moved by the server that gets them: run there  {here}")
    elsewhere = parse_collection_address(origin)
    if elsewhere is not None:
        if remove_source:
            reason = "the other server keeps a copy, which its operator can remove: leave --remove-source out"
            raise InvalidInput("collection", "remove-source", reason)
        key = _read_origin_key(elsewhere.server, origin_key_file)
        items = None if all_items else parties[0]
        run_as_agent(folder, lambda registry, by: _migrate_here(registry, by, items, elsewhere, to, key, json))
        return
    if all_items:
        run_as_agent(folder, lambda registry, by: _migrate_all(registry, by, origin, to, remove_source, json))
        return
    with show_steps() as report:
        holding = run_as_agent(
            folder,
            lambda registry, by: migrate_item(
                registry, by, parties[0], origin, to, remove_source=remove_source, report=report
            ),
        )
    print_holding(holding, f"{to} has the original of {holding.label} now: {content_text(holding)}.", json)


def _read_origin_key(server: str, file: Path | None) -> str:
    """Return the key for the other server. It is not sent without encryption to another machine."""
    given = os.environ.get(_ORIGIN_KEY) if file is None else file.read_text("utf-8")
    if not given:
        reason = f"give the key of an agent of {server} with --origin-key-file, or in {_ORIGIN_KEY}"
        raise InvalidInput("collection", "origin-key-file", reason)
    return parse_server(server, given).key or ""


async def _migrate_here(
    registry: Registry, by: Agent, label: str | None, origin: CollectionAddress, to: str, key: str, as_json: bool
) -> None:
    from perdure.collections.original_move import take_all_originals, take_original  # its library for HTTP is slow

    if label is None:
        with show_steps() as report:
            moves = take_all_originals(registry, by, origin, to, key, report)
            counts = await _print_moves(moves, report, as_json)
        _print_summary(*counts, origin.url, to, as_json)
        return
    with show_steps() as report:
        holding = await take_original(registry, by, label, origin, to, key, report)
    print_holding(holding, f"{to} has the original of {holding.label} now: {content_text(holding)}.", as_json)


async def _migrate_all(registry: Registry, by: Agent, origin: str, to: str, remove_source: bool, as_json: bool) -> None:
    with show_steps() as report:
        moves = migrate_all(registry, by, origin, to, remove_source=remove_source, report=report)
        counts = await _print_moves(moves, report, as_json)
    _print_summary(*counts, origin, to, as_json)


async def _print_moves(moves: AsyncIterator[Migration], display: StepDisplay, as_json: bool) -> tuple[int, int]:
    """Print each move that failed, or as JSON each that was done. Return how many were done, and how many failed."""
    moved = problems = 0
    async for one in moves:
        if one.holding is None:
            problems += 1
            print_error(f"{one.name}: {one.problem}", display.screen)
            continue
        moved += 1
        if as_json:
            display.echo(to_json(holding_fields(one.holding)))
    return moved, problems


def _print_summary(moved: int, problems: int, origin: str, to: str, as_json: bool) -> None:
    if not as_json:
        typer.echo(f"Moved {count_text(moved, 'original')} from {origin} to {to}; {problems:,} could not be moved.")
    if problems:
        raise typer.Exit(SOME_REFUSED)


def install(
    label: Label,
    collection: CollectionName,
    server: Annotated[
        str, typer.Option("--from", metavar="URL", help="Address of the other server, or of a collection there.")
    ],
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Copy an item from another server into a collection here, with all its versions.

    Each file is compared with the digest that the server gives. A copy that exists gets the versions that it lacks.
    After an interruption, run the same command again: large files continue where they stopped.
    """
    from perdure.collections.installation import install_item  # its library for HTTP is slow to import

    with show_steps() as report:
        holding = run_as_agent(
            folder, lambda registry, by: install_item(registry, by, label, collection, server, report)
        )
    print_holding(holding, f"{collection} has a copy of {holding.label}: {content_text(holding)}.", json)


def remove(
    label: Label,
    collection: CollectionName,
    last: Annotated[bool, typer.Option("--last", help="Remove the only intact copy. This needs a reason.")] = False,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Reason, for the log.")] = None,
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Remove an item from a collection, with all its versions there.

    The original stays while there are copies, and so does the only intact copy, unless the identifier was withdrawn.
    The log records what was removed.
    """
    done = run_as_agent(
        folder, lambda registry, by: remove_item(registry, by, label, collection, last=last, reason=reason)
    )
    if json:
        typer.echo(to_json({"removed": None if done.holding is None else holding_fields(done.holding)}))
    elif done.holding is None:
        typer.echo(f"Removed files of {label} from {collection} that it had no record of.")
    else:
        typer.echo(f"Removed the {done.holding.role} of {done.holding.label} from {collection}.")
