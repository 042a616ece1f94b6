"""Searches have their own readers and limits: clients that search all the time do not slow down other requests."""

import asyncio
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.sample_registry import PREFIX, fill_registry, open_for_writing
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, need_engine

from perdure.registry import Statement, mint
from perdure.settings_file import DEFAULT_STORE

NAMES = 60_000
SEARCHERS = 16
SLOW = {"q": " ".join(["num*"] * 20), "limit": "1"}  # each word is compared with as many words as there are names


@pytest.fixture(scope="module", params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """Serve a registry with so many names that a search takes long, on each engine."""
    need_engine(request.param)
    folder, schema = tmp_path_factory.mktemp("full") / "registry", f"t_{secrets.token_hex(6)}"
    fill_registry(folder, {}, store=database().address(schema) if request.param == "postgres" else DEFAULT_STORE)
    asyncio.run(fill(folder))
    with run_server(folder, "--no-access-log") as server:
        yield server
    if request.param == "postgres":
        database().drop(schema)


async def fill(folder: Path, at_once: int = 2_000) -> None:
    async with open_for_writing(folder) as (registry, admin):
        for first in range(0, NAMES, at_once):
            suffixes = [f"number{number}" for number in range(first, first + at_once)]
            await mint(registry, admin, PREFIX, statement=Statement(target="https://example.org/"), suffixes=suffixes)


def typical(client: httpx.Client, path: str, params: dict[str, str], times: int) -> float:
    """Return the median duration of a request, in seconds."""
    taken = []
    for _ in range(times):
        started = time.monotonic()
        assert client.get(path, params=params).status_code == 200
        taken.append(time.monotonic() - started)
    return median(taken)


class Searchers:
    """Clients without credentials that search without a pause, until they are stopped."""

    def __init__(self, server: LiveServer, number: int) -> None:
        self._server = server
        self._done = threading.Event()
        self.answers: Counter[tuple[int, str | None]] = Counter()
        self._threads = [threading.Thread(target=self._search) for _ in range(number)]
        for thread in self._threads:
            thread.start()

    def _search(self) -> None:
        with self._server.client("") as client:
            while not self._done.is_set():
                answer = client.get("/api/v1/search", params=SLOW)
                self.answers[answer.status_code, answer.headers.get("retry-after")] += 1
                if answer.status_code == 429:
                    self._done.wait(0.1)

    def stop(self) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(60)


def test_sixteen_searchers_do_not_slow_other_requests(full: LiveServer) -> None:
    """With shared readers, a request would wait for several searches before it."""
    with ExitStack() as stack:
        client = stack.enter_context(full.client(""))
        info, search = (f"/{PREFIX}/number5", {"info": ""}), ("/api/v1/search", SLOW)
        alone = typical(client, *info, times=10)
        one_search = typical(client, *search, times=3)
        searchers = Searchers(full, SEARCHERS)
        stack.callback(searchers.stop)
        time.sleep(one_search)
        beside = typical(client, *info, times=15)
        other = stack.enter_context(_from("127.0.0.2", full))
        assert other.get("/api/v1/search", params={"q": "number7"}).status_code == 200
        searchers.stop()
        assert beside < alone + 2 * one_search, (alone, one_search, beside)
        assert {status for status, _ in searchers.answers} == {200, 429}
        assert {wait for status, wait in searchers.answers if status == 429} == {"1"}


def _from(address: str, server: LiveServer) -> httpx.Client:
    """Return a client with another address of this machine."""
    return httpx.Client(base_url=server.url, transport=httpx.HTTPTransport(local_address=address), timeout=60)
