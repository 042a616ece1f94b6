"""Two running servers that know each other as peers. Each has a collection and an identification subsystem."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.http.live_server import LiveServer, run_server

from perdure.collections.storage_root import StorageRoot

_LONGEST = 120.0  # seconds, of a command
HOSTS = {"north": "north.example.org", "south": "south.example.net"}


class Site(NamedTuple):
    """A server with the collection `main`."""

    name: str
    server: LiveServer
    subsystem: str
    folder: Path

    @property
    def collection_url(self) -> str:
        return f"{self.server.url}/items/main"

    @property
    def root(self) -> StorageRoot:
        return StorageRoot.open(self.folder / f"{self.name}-items")

    def put(self, files: Mapping[str, bytes], *options: str) -> str:
        """Put an item, under a new name unless options say otherwise, and return its label."""
        source = self.folder / f"source-{len(list(self.folder.iterdir()))}"
        for path, content in files.items():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            (source / path).write_bytes(content)
        where = options or ("--subsystem", self.subsystem)
        stored = self.server.perdure("collection", "put", "main", str(source), *where, "--json")
        label: str = json.loads(stored)["label"]
        return label

    def holdings(self, label: str) -> dict[str, str]:
        """Return where this registry says that an item is: the role by the collection, or by the URL of a server."""
        shown = json.loads(self.server.perdure("collection", "show", label, "--json"))
        return {_place(one): one["role"] for one in shown["holdings"]}

    def start_migration(self, origin: "Site", *items: str, key: str | None = None) -> "subprocess.Popen[str]":
        command = ["collection", "migrate", *(items or ("--all",)), origin.collection_url, "main"]
        return subprocess.Popen(
            [sys.executable, "-m", "perdure", *command, "--registry", str(self.server.folder), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PERDURE_ORIGIN_KEY": origin.server.key if key is None else key},
        )

    def migrate(self, origin: "Site", *items: str, key: str | None = None) -> tuple[int, str, str]:
        process = self.start_migration(origin, *items, key=key)
        output, errors = process.communicate(timeout=_LONGEST)
        return process.returncode, output, errors

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


def _place(holding: dict[str, Any]) -> str:
    return (str(holding["url"]).rpartition("/items/")[0] and holding["collection"]) or str(holding["url"])


@contextmanager
def two_servers(folder: Path) -> Iterator[tuple[Site, Site]]:
    """Run both servers until the block ends."""
    with ExitStack() as stack:
        sites = []
        for number, (name, host) in enumerate(HOSTS.items(), 1):
            server = stack.enter_context(run_server(folder / name, settings="peer_cache_seconds = 0.05"))
            server.perdure("prefix", "add", "--host", host, "--ip", f"150.163.34.{number}", "--granularity", "0.001")
            url = f"{server.url}/items/main"
            server.perdure("collection", "create", "main", "--path", str(folder / f"{name}-items"), "--url", url)
            sites.append(Site(name, server, f"{host.partition('.')[2]}/{name}", folder))
        north, south = sites
        north.server.perdure("peer", "add", south.server.url, "--name", "south", "--private")
        south.server.perdure("peer", "add", north.server.url, "--name", "north", "--private")
        yield north, south
