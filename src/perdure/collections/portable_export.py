"""The export of a collection to a medium that needs neither a server nor a network."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from perdure.collections.durable_tree import sync_path
from perdure.collections.held_items import HeldItem, find_item, require_collection
from perdure.collections.portable_medium import MediumWriter, PortableExport
from perdure.collections.storage_errors import explain_storage_errors
from perdure.collections.storage_root import StorageRoot
from perdure.collections.work_progress import Report
from perdure.errors import InvalidInput
from perdure.names.resolver_address import ResolverAddress
from perdure.registry.peers.peer_fields import ALL_NAMES
from perdure.registry.registry import Registry
from perdure.registry.store_interface import Reader

_CHUNK: Final = 500


async def export_portable(
    registry: Registry,
    collection: str,
    to: Path,
    *,
    public_url: str = "",
    own: tuple[ResolverAddress, ...] = (),
    report: Report | None = None,
) -> PortableExport:
    """Write the items of a collection to a new directory. It has its name only when it is complete.

    An item that is damaged, or that was withdrawn, is left out. Links in HTML files to other items of the collection
    are replaced by relative ones, and the unchanged files are kept beside. Other `upn:` links lead to the server of
    their prefix, or else to `public_url`.
    """
    if to.exists():
        raise InvalidInput("collection", "portable", f"{to} exists already: name a new directory")
    found, peers = await registry.store.read(lambda reader: (require_collection(reader, collection), reader.peers()))
    servers = {ALL_NAMES: public_url.rstrip("/")} if public_url else {}
    servers |= {prefix: peer.url for peer in peers if not peer.private for prefix in peer.prefixes}
    unfinished = to.with_name(f".{to.name}.unfinished")
    with explain_storage_errors(str(to.parent)):
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
    try:
        writer = MediumWriter(registry, collection, StorageRoot.open(Path(found.path)), unfinished, servers, own)
        try:
            async for item in _list_items(registry, collection):
                await writer.add_item(item, report)
            with explain_storage_errors(str(to.parent)):
                done = await asyncio.to_thread(writer.finish)
        finally:
            writer.close()
        with explain_storage_errors(str(to.parent)):
            os.rename(unfinished, to)
            sync_path(to.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return done


async def _list_items(registry: Registry, collection: str) -> AsyncIterator[HeldItem]:
    """Yield the items of a collection in the order of their subjects."""
    key = ""
    while True:

        def work(reader: Reader, key: str = key) -> list[tuple[str, HeldItem]]:
            found = reader.holdings_after(collection, key, _CHUNK)
            return [(one.subject, find_item(reader, one.subject)) for one in found]

        chunk = await registry.store.scan(work)
        for _, item in chunk:
            yield item
        if len(chunk) < _CHUNK:
            return
        key = chunk[-1][0]
