"""The memory of a worker under full load: it stops growing when the caches are full."""

import asyncio
import json
import random
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import Connection, RawResponse, connection
from tests.http.sample_registry import PREFIX, fill_registry, open_for_writing
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, need_engine

from perdure.registry import Statement, mint
from perdure.settings_file import DEFAULT_STORE

NAMES = 100_000
INTERVAL, LONGEST = 30.0, 300.0  # seconds: between two measurements, and until all caches are full
MOST = 260  # MiB, as in the documentation
GROWTH = 3  # MiB in one interval
READERS = 6
DOCUMENTS = ("application/ld+json", "text/turtle", "application/rdf+xml", "application/n-triples", "text/html")
JSON = "content-type: application/json"


@pytest.fixture(params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveServer]:
    """A server with one worker, on each engine, with more names than its caches hold."""
    need_engine(request.param)
    folder, schema = tmp_path / "registry", f"t_{secrets.token_hex(6)}"
    fill_registry(folder, {}, store=database().address(schema) if request.param == "postgres" else DEFAULT_STORE)

    async def fill(at_once: int = 2_000) -> None:
        async with open_for_writing(folder) as (registry, admin):
            statement = Statement(target=f"https://example.org/{'x' * 1_000}")
            for first in range(0, NAMES, at_once):
                suffixes = [f"number{number}" for number in range(first, first + at_once)]
                await mint(registry, admin, PREFIX, statement=statement, suffixes=suffixes)

    asyncio.run(fill())
    with run_server(folder, "--no-access-log") as server:
        yield server
    if request.param == "postgres":
        database().drop(schema)


def anonymous_memory(pid: int) -> int:
    """Return the memory of a process in MiB, without the files that it maps."""
    match = re.search(r"^Anonymous:\s+([0-9]+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert match is not None
    return int(match[1]) >> 10


class Load:
    """Clients that send every kind of request, with different content each time, until they are stopped."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._key = f"authorization: Bearer {server.key}"
        self._done = threading.Event()
        self.statuses: Counter[tuple[str, int]] = Counter()
        kinds = [*[self.page, self.record] * READERS, self.redirect, self.search, self.put, self.observe]
        kinds += [self.import_lines, self.changes, self.wrong_key, self.other_host]
        self.kinds = {kind.__name__ for kind in kinds}
        self._threads = [threading.Thread(target=self._send_requests, args=(kind,)) for kind in kinds]
        for thread in self._threads:
            thread.start()

    def _send_requests(self, kind: Callable[[Connection], RawResponse]) -> None:
        while not self._done.is_set():
            with connection(self._server) as client:
                for _ in range(100):
                    self.statuses[kind.__name__, kind(client).status] += 1
                    if self._done.is_set():
                        break

    def stop(self) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(60)

    def _name(self) -> str:
        return f"{PREFIX}/number{random.randrange(NAMES)}"

    def page(self, client: Connection) -> RawResponse:
        return client.request(f"/{self._name()}?info")

    def record(self, client: Connection) -> RawResponse:
        return client.request(f"/api/v1/identifiers/{self._name()}")

    def redirect(self, client: Connection) -> RawResponse:
        return client.request(f"/{self._name()}")

    def search(self, client: Connection) -> RawResponse:
        return client.request(f"/api/v1/search?q=number{random.randrange(NAMES)}*")

    def put(self, client: Connection) -> RawResponse:
        value = {"index": 1, "type": "URL", "data": {"format": "string", "value": "https://example.org/"}}
        path, body = f"/api/handles/{PREFIX}/put-{secrets.token_hex(8)}", json.dumps([value]).encode()
        return client.request(path, self._key, JSON, method="PUT", body=body)

    def observe(self, client: Connection) -> RawResponse:
        observation = {
            "retrieval_timestamp": "2025-01-09T10:30:00Z",
            "content_hash": secrets.token_hex(32),
            "source_url": "https://example.org/",
            "claims": [{"type": "name", "value": f"Jan {secrets.token_hex(4)}"}],
        }
        created = client.request("/api/v1/poid", self._key, JSON, method="POST", body=json.dumps(observation).encode())
        path = f"/{json.loads(created.body)['ppid']}"
        return [client.request(path, f"accept: {kind}") for kind in DOCUMENTS][-1]

    def import_lines(self, client: Connection) -> RawResponse:
        lines = [{"name": f"{PREFIX}/imported-{secrets.token_hex(8)}", "target": "https://e.org/"} for _ in range(50)]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return client.request(
            "/api/v1/imports", self._key, "content-type: application/x-ndjson", method="POST", body=body
        )

    def changes(self, client: Connection) -> RawResponse:
        return client.request("/api/v1/changes?limit=1000", self._key)

    def wrong_key(self, client: Connection) -> RawResponse:
        return client.request("/api/v1/agents/me", f"authorization: Bearer perdure_{secrets.token_hex(20)}")

    def other_host(self, client: Connection) -> RawResponse:
        client.send(f"GET /{self._name()} HTTP/1.1\r\nhost: {secrets.token_hex(8)}.example.org\r\n\r\n".encode())
        answer = client.read()
        assert answer is not None
        return answer


@pytest.mark.slow
def test_the_memory_of_a_worker_stops_growing(full: LiveServer) -> None:
    load = Load(full)
    pid = full.process.pid
    measured = [anonymous_memory(pid)]
    try:
        while len(measured) < 2 or measured[-1] - measured[-2] > GROWTH:
            assert len(measured) * INTERVAL < LONGEST, measured
            time.sleep(INTERVAL)
            measured.append(anonymous_memory(pid))
    finally:
        load.stop()
    assert {kind for kind, status in load.statuses if status in (200, 201, 302, 401)} == load.kinds
    assert max(measured) < MOST, measured
