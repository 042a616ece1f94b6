"""A thousand simultaneous requests for IBI labels to four workers: no label twice, none early, none starved, none lost."""

import asyncio
import json
import os
import secrets
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import request
from tests.http.transport.test_worker import await_workers
from tests.http.worker_connections import TimedResponse, connect_to_workers, most_overtaken, send_at_once
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, need_engine

from perdure import ibi
from perdure.folder.registry_folder import DEFAULT_STORE, make_registry, open_registry
from perdure.registry import add_pool, add_subsystem, verify
from perdure.registry.entities import Agent
from perdure.registry.registry import Registry

WORKERS = 4
REQUESTS = 1000
CLIENTS = 40
STEP = Fraction(1, 1000)
PREFIX, MOVED, POOL = "inpe.br/mtc-m18", "inpe.br/mtc-m21b", "main"
HOST = "mtc-m21b.inpe.br"
MEMBERS = [f"example.org/{host}" for host in "abcd"]
TARGET = "https://example.org/thing"
SETTINGS = "connections = 4000"


@pytest.fixture(params=ENGINES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A registry with a subsystem and a pool of four others, all with a granularity of a thousandth of a second."""
    need_engine(request.param)
    schema = f"t_{secrets.token_hex(6)}"
    store = database().address(schema) if request.param == "postgres" else DEFAULT_STORE
    registry = tmp_path / "registry"
    asyncio.run(make_registry(registry, name="Tests", store=store))
    yield registry
    if request.param == "postgres":
        database().drop(schema)


async def administrator(registry: Registry) -> Agent:
    found = await registry.store.read(lambda reader: reader.agent("admin"))
    assert found is not None
    return found


async def add_all(folder: Path) -> None:
    async with open_registry(folder) as registry:
        by = await administrator(registry)
        await add_subsystem(registry, by, "mtc-m18.inpe.br", "150.163.34.243", granularity=STEP)
        for number, name in enumerate(MEMBERS):
            await add_subsystem(registry, by, f"{name[-1]}.example.org", f"150.163.34.{number}", granularity=STEP)
        await add_pool(registry, by, POOL, MEMBERS)


def minting_request(server: LiveServer, where: str) -> bytes:
    body = json.dumps({"target": TARGET}).encode()
    headers = (f"authorization: Bearer {server.key}", "content-type: application/json")
    return request(f"/api/v1/ibi/{where}", *headers, method="POST", body=body)


def send(
    server: LiveServer, where: str, connections: int, times: int = 1, into: list[TimedResponse] | None = None
) -> list[TimedResponse]:
    """Send requests at once, on as many connections to each worker. Then send more on each connection."""
    workers = await_workers(server, WORKERS)
    responses: list[TimedResponse] = [] if into is None else into

    async def send_all() -> None:
        async with connect_to_workers(server.address, workers, connections // WORKERS) as opened:
            await send_at_once(opened, minting_request(server, where), responses, times)

    asyncio.run(send_all())
    assert Counter(one.worker for one in responses) == dict.fromkeys(workers, connections // WORKERS * times)
    return responses


def dates_of(responses: Sequence[TimedResponse]) -> list[Fraction]:
    """Return the dates. Check that they are distinct, later than those that clients knew, and that none was early."""
    dates = [ibi.parse(one.name).date for one in responses]
    by_date = sorted(zip(dates, responses, strict=True), key=lambda pair: pair[0])
    assert all(earlier < later for (earlier, _), (later, _) in pairwise(by_date))
    assert all(date * 10**9 <= one.received for date, one in by_date), "an answer came before its own date"
    # Later than each date that was known when it was requested: going back from the last date, nothing was sent after
    # an answer with a later date had come.
    earliest_answer = by_date[-1][1].received
    for _, one in reversed(by_date):
        assert one.sent <= earliest_answer, "a date is before one that was known when it was requested"
        earliest_answer = min(earliest_answer, one.received)
    return dates


def test_a_thousand_simultaneous_requests_and_a_kill_in_the_middle_of_a_thousand_more(folder: Path) -> None:
    asyncio.run(add_all(folder))
    with run_server(folder, "--workers", str(WORKERS), "--no-access-log", settings=SETTINGS) as server:
        first = send(server, PREFIX, REQUESTS)
        dates = dates_of(first)
        before_kill = kill_in_the_middle(server)
        dates += dates_of(before_kill)
    assert min(dates[REQUESTS:]) > max(dates[:REQUESTS])
    with run_server(folder) as restarted, restarted.client() as client:
        again = client.post(f"/api/v1/ibi/{PREFIX}", json={"target": TARGET}).json()["identifiers"][0]["name"]
    assert ibi.parse(again).date > max(dates)
    names = [*(one.name for one in (*first, *before_kill)), again]
    asyncio.run(check_registry(folder, names))


def kill_in_the_middle(server: LiveServer) -> list[TimedResponse]:
    """Kill all processes of the server when some of a thousand requests have been answered. Return these answers."""
    workers = await_workers(server, WORKERS)
    responses: list[TimedResponse] = []

    async def kill_after_some() -> None:
        async with connect_to_workers(server.address, workers, REQUESTS // WORKERS) as opened:
            sending = asyncio.create_task(send_at_once(opened, minting_request(server, PREFIX), responses))
            while len(responses) < REQUESTS // 5:
                assert not sending.done()
                await asyncio.sleep(0.001)
            for pid in (server.process.pid, *workers):
                os.kill(pid, signal.SIGKILL)
            await sending

    asyncio.run(kill_after_some())
    server.process.wait()
    assert len(responses) < REQUESTS, "the kill came too late to be in the middle"
    return responses


async def check_registry(folder: Path, names: Sequence[str]) -> None:
    """Check that each acknowledged label is stored, with its target, that none came from nothing, and all is whole."""
    async with open_registry(folder) as registry:
        rows = await registry.store.read(lambda reader: reader.identifiers_after("", 3 * REQUESTS, f"{PREFIX}/"))
        stored = {row.name: row.target for row in rows}
        assert {stored.get(name) for name in names} == {TARGET}
        assert len(names) == len(set(names)) <= len(stored) <= 2 * REQUESTS + 1
        assert await verify(registry) == []


def test_no_request_is_starved_and_none_gets_a_label_of_the_past_when_the_host_changes(folder: Path) -> None:
    asyncio.run(add_all(folder))
    with (
        run_server(folder, "--workers", str(WORKERS), "--no-access-log", settings=SETTINGS) as server,
        ThreadPoolExecutor(1) as thread,
    ):
        responses: list[TimedResponse] = []
        sending = thread.submit(send, server, PREFIX, CLIENTS, REQUESTS // CLIENTS, responses)
        with server.client() as client:
            while len(responses) < REQUESTS // 4:
                assert not sending.done(), sending.result()
                time.sleep(0.001)
            moved = client.patch(f"/api/v1/prefixes/{PREFIX}", json={"host": HOST}, headers={"If-Match": "*"})
        assert moved.status_code == 200, moved.text
        sending.result()
        pooled = send(server, POOL, REQUESTS // 2)
    dates = dates_of(responses)
    assert most_overtaken(responses) < REQUESTS // 2, "some requests waited while all others were served"
    prefixes = [ibi.parse(one.name).prefix for _, one in sorted(zip(dates, responses, strict=True))]
    assert prefixes == sorted(prefixes)  # the new one comes after the old one
    assert set(prefixes) == {PREFIX, MOVED}
    check_pool(pooled)
    asyncio.run(check_whole(folder))


def check_pool(responses: Sequence[TimedResponse]) -> None:
    """Check that the requests were shared by all subsystems of the pool, each with its own timeline."""
    of_member: dict[str, list[TimedResponse]] = {}
    for one in responses:
        of_member.setdefault(ibi.parse(one.name).prefix, []).append(one)
    assert sorted(of_member) == MEMBERS
    for found in of_member.values():
        dates_of(found)
    assert min(len(found) for found in of_member.values()) > len(responses) // 10


async def check_whole(folder: Path) -> None:
    async with open_registry(folder) as registry:
        assert await verify(registry) == []
