"""The memory of a worker is bounded: it does everything at once until its caches are full, and then does not go on growing."""

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
from tests.http.furnished import PREFIX, furnish, writing
from tests.http.live import LiveServer, serving
from tests.http.raw_client import Answer, Connection, connection
from tests.postgres.shared import database
from tests.registry_fixture import ENGINES, need_engine

from perdure.registry import Statement, mint
from perdure.settings_file import DEFAULT_STORE

NAMES = 100_000
INTERVAL, LONGEST = 30.0, 300.0  # seconds: between two measurements, and until all caches are full
MOST = 260  # MiB, as the documentation says
GROWTH = 3  # MiB in one interval
READERS = 6
DOCUMENTS = ("application/ld+json", "text/turtle", "application/rdf+xml", "application/n-triples", "text/html")
JSON = "content-type: application/json"


@pytest.fixture(params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveServer]:
    """One worker, on each engine, with more names than its caches hold."""
    need_engine(request.param)
    folder, schema = tmp_path / "registry", f"t_{secrets.token_hex(6)}"
    furnish(folder, {}, store=database().address(schema) if request.param == "postgres" else DEFAULT_STORE)

    async def fill(at_once: int = 2_000) -> None:
        async with writing(folder) as (registry, admin):
            said = Statement(target=f"https://example.org/{'x' * 1_000}")
            for first in range(0, NAMES, at_once):
                suffixes = [f"number{number}" for number in range(first, first + at_once)]
                await mint(registry, admin, PREFIX, said=said, suffixes=suffixes)

    asyncio.run(fill())
    with serving(folder, "--no-access-log") as server:
        yield server
    if request.param == "postgres":
        database().drop(schema)


def anonymous_memory(pid: int) -> int:
    """In MiB: what the process itself takes, without the files that it maps."""
    found = re.search(r"^Anonymous:\s+([0-9]+) kB$", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) >> 10


class Load:
    """Clients that ask for everything that a server does, each time for something else, until they are stopped."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._key = f"authorization: Bearer {server.key}"
        self._done = threading.Event()
        self.statuses: Counter[tuple[str, int]] = Counter()
        kinds = [*[self.page, self.shown] * READERS, self.redirect, self.search, self.put, self.observe]
        kinds += [self.bring, self.changes, self.wrong_key, self.other_host]
        self.kinds = {kind.__name__ for kind in kinds}
        self._threads = [threading.Thread(target=self._ask, args=(kind,)) for kind in kinds]
        for thread in self._threads:
            thread.start()

    def _ask(self, kind: Callable[[Connection], Answer]) -> None:
        while not self._done.is_set():
            with connection(self._server) as one:
                for _ in range(100):
                    self.statuses[kind.__name__, kind(one).status] += 1
                    if self._done.is_set():
                        break

    def stop(self) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(60)

    def _name(self) -> str:
        return f"{PREFIX}/number{random.randrange(NAMES)}"

    def page(self, one: Connection) -> Answer:
        return one.ask(f"/{self._name()}?info")

    def shown(self, one: Connection) -> Answer:
        return one.ask(f"/api/v1/identifiers/{self._name()}")

    def redirect(self, one: Connection) -> Answer:
        return one.ask(f"/{self._name()}")

    def search(self, one: Connection) -> Answer:
        return one.ask(f"/api/v1/search?q=number{random.randrange(NAMES)}*")

    def put(self, one: Connection) -> Answer:
        value = {"index": 1, "type": "URL", "data": {"format": "string", "value": "https://example.org/"}}
        path, body = f"/api/handles/{PREFIX}/put-{secrets.token_hex(8)}", json.dumps([value]).encode()
        return one.ask(path, self._key, JSON, method="PUT", body=body)

    def observe(self, one: Connection) -> Answer:
        said = {
            "retrieval_timestamp": "2025-01-09T10:30:00Z",
            "content_hash": secrets.token_hex(32),
            "source_url": "https://example.org/",
            "claims": [{"type": "name", "value": f"Jan {secrets.token_hex(4)}"}],
        }
        made = one.ask("/api/v1/poid", self._key, JSON, method="POST", body=json.dumps(said).encode())
        path = f"/{json.loads(made.body)['ppid']}"
        return [one.ask(path, f"accept: {kind}") for kind in DOCUMENTS][-1]

    def bring(self, one: Connection) -> Answer:
        lines = [{"name": f"{PREFIX}/brought-{secrets.token_hex(8)}", "target": "https://e.org/"} for _ in range(50)]
        body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        return one.ask("/api/v1/imports", self._key, "content-type: application/x-ndjson", method="POST", body=body)

    def changes(self, one: Connection) -> Answer:
        return one.ask("/api/v1/changes?limit=1000", self._key)

    def wrong_key(self, one: Connection) -> Answer:
        return one.ask("/api/v1/agents/me", f"authorization: Bearer perdure_{secrets.token_hex(20)}")

    def other_host(self, one: Connection) -> Answer:
        one.send(f"GET /{self._name()} HTTP/1.1\r\nhost: {secrets.token_hex(8)}.example.org\r\n\r\n".encode())
        answer = one.read()
        assert answer is not None
        return answer


@pytest.mark.slow
def test_a_worker_does_not_go_on_growing(full: LiveServer) -> None:
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
