"""Files that the command stores in an item: the request, its result, and the way into a collection on this machine."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from perdure.cli.terminal import print_error
from perdure.cli.transfer_progress import show_steps
from perdure.collections.deposit import check_room, put_item, reserve_name
from perdure.collections.held_items import find_item
from perdure.collections.source_check import SourceTotals
from perdure.collections.source_files import SourceFile
from perdure.registry import Registry
from perdure.registry.entities import Agent


class PutRequest(NamedTuple):
    """Files for an item: one with a label, or a new one that gets its name from a subsystem or a pool.

    With the same `token`, a new item gets the same name for a day. The sources can be listed more than once.
    """

    collection: str
    label: str | None
    prefix: str
    title: str | None
    main: str | None
    message: str
    token: str | None
    totals: SourceTotals
    list_sources: Callable[[], Iterator[SourceFile]]


class PutResult(NamedTuple):
    """The newest version of the item after its files were stored, and whether it was there before."""

    label: str
    version: int
    files: int
    size: int
    is_unchanged: bool
    fields: dict[str, Any]


async def put_files(registry: Registry, by: Agent, request: PutRequest) -> PutResult:
    """Store the files as a version of an item. The name of a new item is reserved and shown first."""
    name, before = request.label, None
    if name is None:
        await check_room(registry, request.collection, request.totals.size)
        minted = await reserve_name(
            registry, by, request.collection, request.prefix, title=request.title, token=request.token
        )
        name = minted.name
        announce_name(name, minted.alias)
    else:
        known = name
        before = await registry.store.read(lambda reader: find_item(reader, known).holding_in(request.collection))
    with show_steps(request.totals.size) as report:
        stored = await put_item(
            registry,
            by,
            request.collection,
            name,
            request.list_sources(),
            main_file=request.main,
            message=request.message,
            report=report,
        )
    return PutResult(
        stored.label, stored.version, stored.files, stored.size, stored == before, msgspec.to_builtins(stored)
    )


def announce_name(name: str, alias: str | None) -> None:
    """Show a name that was reserved, with which an interrupted command continues."""
    also = f", also known as {alias}" if alias else ""
    print_error(f"reserved {name}{also}; after an interruption, continue with --label {name}")
