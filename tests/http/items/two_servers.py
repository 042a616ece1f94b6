"""Two running servers that know each other as peers. Each has a collection and an identification subsystem."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tests.http.items.item_server import sources
from tests.http.live_server import LiveServer, run_server
from tests.http.sample_registry import open_for_writing

from perdure.collections.collection_address import CollectionAddress
from perdure.collections.collection_admin import create_collection
from perdure.collections.copies import Migration
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.held_items import find_item
from perdure.collections.installation import install_item
from perdure.collections.original_move import take_all_originals, take_original
from perdure.collections.storage_root import StorageRoot
from perdure.federation.registration import add_peer
from perdure.registry import add_subsystem
from perdure.registry.holdings import Holding

_LONGEST = 120.0  # seconds, of a command
COLLECTION = "main"


class Site(NamedTuple):
    """A server with a collection. The methods work beside it, as commands do."""

    name: str
    server: LiveServer
    subsystem: str
    folder: Path

    @property
    def collection_url(self) -> str:
        return f"{self.server.url}/items/{COLLECTION}"

    @property
    def address(self) -> CollectionAddress:
        return CollectionAddress(self.server.url, COLLECTION)

    @property
    def root(self) -> StorageRoot:
        return StorageRoot.open(self.folder / f"{self.name}-items")

    def do(self, use_case: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        async def work() -> Any:
            async with open_for_writing(self.server.folder) as (registry, admin):
                return await use_case(registry, admin, *arguments, **options)

        return asyncio.run(work())

    def put(self, files: Mapping[str, bytes], label: str | None = None, main_file: str | None = None) -> str:
        """Put an item, under a new name if none is given, and return its label."""
        name = label or self.do(reserve_name, COLLECTION, self.subsystem).name
        stored: Holding = self.do(put_item, COLLECTION, name, sources(files), main_file=main_file)
        return stored.label

    def install(self, origin: "Site", label: str) -> None:
        self.do(install_item, label, COLLECTION, origin.collection_url)

    def migrate(self, origin: "Site", label: str, key: str | None = None) -> Holding:
        shown = origin.server.key if key is None else key
        moved: Holding = self.do(take_original, label, origin.address, COLLECTION, shown)
        return moved

    def migrate_all(self, origin: "Site") -> list[Migration]:
        async def collect(*arguments: Any) -> list[Migration]:
            steps: AsyncIterator[Migration] = take_all_originals(*arguments)
            return [step async for step in steps]

        moves: list[Migration] = self.do(collect, origin.address, COLLECTION, origin.server.key)
        return moves

    def start_migration(self, origin: "Site", label: str) -> "subprocess.Popen[str]":
        command = ["collection", "migrate", label, origin.collection_url, COLLECTION]
        return subprocess.Popen(
            [sys.executable, "-m", "perdure", *command, "--registry", str(self.server.folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PERDURE_ORIGIN_KEY": origin.server.key},
        )

    def holdings(self, label: str) -> dict[str, str]:
        """Return where this registry says that an item is: the role by the collection, or by the URL of a server."""

        async def look_up(registry: Any, by: Any) -> dict[str, str]:
            def work(reader: Any) -> dict[str, str]:
                urls = {one.name: one.url if one.is_elsewhere else one.name for one in reader.collections()}
                return {urls[one.collection]: one.role for one in find_item(reader, label).holdings}

            return await registry.store.read(work)

        held: dict[str, str] = self.do(look_up)
        return held

    def target(self, label: str) -> str:
        """Return where the resolver sends a reader."""
        with self.server.client("") as client:
            answer = client.get(f"/{label}")
            assert answer.status_code == 302, answer.text
            location: str = answer.headers["location"]
            return location

    def read(self, label: str) -> bytes:
        """Return what a reader gets who follows all redirects."""
        with self.server.client("") as client:
            answer = client.get(f"/{label}", follow_redirects=True)
            assert answer.status_code == 200, answer.text
            return answer.content


@contextmanager
def two_servers(folder: Path) -> Iterator[tuple[Site, Site]]:
    """Run both servers until the block ends."""
    with ExitStack() as stack:
        sites = []
        for number, name in enumerate(("north", "south"), 1):
            settings = "peer_seconds = 5.0\npeer_cache_seconds = 0.05\npeer_missing_seconds = 0.05"
            server = stack.enter_context(run_server(folder / name, settings=settings))
            site = Site(name, server, f"{name}.org/items", folder)
            host = f"items.{name}.org"
            site.do(add_subsystem, host, f"150.163.34.{number}", granularity=Fraction(1, 1000))
            site.do(create_collection, COLLECTION, folder / f"{name}-items", site.collection_url)
            sites.append(site)
        north, south = sites
        north.do(add_peer, south.server.url, name="south", private=True)
        south.do(add_peer, north.server.url, name="north", private=True)
        yield north, south
