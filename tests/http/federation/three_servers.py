"""Three running servers that know each other. Each mints labels, has a collection, and is reached through a gate."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import httpx
from tests.http.federation.network_gate import NetworkGate, network_gate
from tests.http.live_server import LiveServer, run_server
from tests.http.sample_registry import open_for_writing

from perdure.collections.collection_admin import create_collection
from perdure.collections.deposit import put_item, reserve_name
from perdure.collections.installation import install_item
from perdure.collections.source_files import list_directory
from perdure.folder.registry_folder import make_registry
from perdure.registry import Registry, add_subsystem, show
from perdure.registry.entities import Agent

T = TypeVar("T")

NAMES = ("north", "south", "west")
CACHE_SECONDS = 0.05  # for which answers are cached
_SETTINGS = f"peer_seconds = 1.0\npeer_cache_seconds = {CACHE_SECONDS}\npeer_missing_seconds = {CACHE_SECONDS}"


class Site:
    """A server, under an address that it has also while it is stopped."""

    def __init__(self, name: str, number: int, folder: Path, gate: NetworkGate) -> None:
        self.name, self.gate = name, gate
        self.subsystem = f"example.org/{name}"
        self._number = number
        self._folder = folder
        self._running: AbstractContextManager[LiveServer] | None = None
        self.server: LiveServer | None = None

    @property
    def url(self) -> str:
        return self.gate.url

    @property
    def live(self) -> LiveServer:
        assert self.server is not None
        return self.server

    def start(self) -> None:
        self._running = run_server(self._folder)
        self.server = self._running.__enter__()
        self.gate.server = self.server.address

    def stop(self) -> None:
        if self._running is not None:
            self._running.__exit__(None, None, None)
            self._running = self.server = self.gate.server = None

    def prepare(self) -> None:
        """Create the registry with its subsystem and its collection."""
        asyncio.run(make_registry(self._folder, name="Tests", public_url=self.url))
        settings = self._folder / "perdure.toml"
        settings.write_text(settings.read_text().replace("[http]", f"[http]\n{_SETTINGS}", 1))

        async def work(registry: Registry, admin: Agent) -> None:
            host, address = f"{self.name}.example.org", f"150.163.34.{self._number}"
            await add_subsystem(registry, admin, host, address, granularity=Fraction(1, 1000))
            await create_collection(registry, admin, "main", self.root, f"{self.url}/items/main")

        self.do(work)

    @property
    def root(self) -> Path:
        return self._folder.with_suffix(".items")

    def do(self, work: Callable[[Registry, Agent], Awaitable[T]]) -> T:
        """Do what a command beside the server does, without the start of a process."""

        async def run() -> T:
            async with open_for_writing(self._folder) as (registry, admin):
                return await work(registry, admin)

        return asyncio.run(run())

    def add_peer(self, other: "Site") -> None:
        with self.live.client() as client:
            added = client.post("/api/v1/peers", json={"url": other.url, "name": other.name, "private": True})
            assert added.status_code == 201, added.text

    def read_announcements(self) -> None:
        """Read what the others announce, without waiting for the next quarter of an hour."""
        with self.live.client() as client:
            for peer in client.get("/api/v1/peers").json()["peers"]:
                client.post(f"/api/v1/peers/{peer['name']}/check")

    def put(self, content: str, label: str | None = None) -> tuple[str, ...]:
        """Store an item under a new name, or its next version, and return both of its labels."""
        source = self._folder.with_suffix(".source")
        source.mkdir(exist_ok=True)
        (source / "text.txt").write_text(content)

        async def work(registry: Registry, admin: Agent) -> tuple[str, ...]:
            name = label or str((await reserve_name(registry, admin, "main", self.subsystem)).name)
            await put_item(registry, admin, "main", name, list_directory(source))
            shown = await show(registry, name)
            return shown.names

        return self.do(work)

    def install(self, label: str, origin: "Site") -> None:
        self.do(lambda registry, admin: install_item(registry, admin, label, "main", origin.url))

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Return the response of the server itself, not through its gate."""
        with self.live.client("") as client:
            return client.get(path, headers=headers)

    def read(self, name: str) -> str:
        """Return what a reader finds who follows the redirects from this server."""
        with self.live.client("") as client:
            found = client.get(f"/{name}", follow_redirects=True)
            assert found.status_code == 200, (self.name, name, found.status_code, found.text)
            return found.text

    def states(self) -> dict[str, str]:
        """Return the states of all labels that the server announces."""
        items = self.get("/.well-known/perdure/holdings").json()["items"]
        return {item["name"].lower(): item["state"] for item in items}


class Federation:
    """All three servers."""

    def __init__(self, sites: dict[str, Site]) -> None:
        self.sites = sites
        self.north, self.south, self.west = sites.values()

    @property
    def running_sites(self) -> list[Site]:
        return [site for site in self.sites.values() if site.server is not None]

    def read_announcements(self) -> None:
        for site in self.running_sites:
            site.read_announcements()

    def count_originals(self) -> Counter[str]:
        """Count the originals of each label in what the servers announce."""
        return Counter(
            label for site in self.running_sites for label, state in site.states().items() if state == "original"
        )


@contextmanager
def three_servers(folder: Path) -> Iterator[Federation]:
    """Run all three until the block ends."""
    with ExitStack() as stack:
        sites = {}
        for number, name in enumerate(NAMES, 1):
            site = Site(name, number, folder / name, stack.enter_context(network_gate()))
            stack.callback(site.stop)
            site.prepare()
            site.start()
            sites[name] = site
        for site in sites.values():
            for other in sites.values():
                if other is not site:
                    site.add_peer(other)
        yield Federation(sites)
