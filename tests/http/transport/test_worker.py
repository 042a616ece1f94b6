"""Several worker processes on one store: all see an acknowledged write at once, and a worker that dies is replaced."""

import asyncio
import json
import os
import secrets
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import THROUGH_APPLICATION, Connection, connection, request
from tests.http.sample_registry import PREFIX, fill_registry, open_for_writing
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, need_engine

from perdure.folder.registry_folder import open_registry
from perdure.registry import Statement, mint, update, verify
from perdure.settings_file import DEFAULT_STORE

PATIENCE = 30.0
CLIENTS = 50
RETRIEVAL = {"retrieval_timestamp": "2025-01-09T10:30:00Z", "content_hash": "0" * 64}
MEGABYTE = 1 << 20
LARGEST_LOG = 64 * MEGABYTE  # above this size the writer waits for the readers
BEYOND = 32 * MEGABYTE  # written while it waits, and until it tries again


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("two") / "registry"
    fill_registry(folder, {"abc": "https://example.org/0"})
    with run_server(folder, "--workers", "2", "--no-access-log") as server:
        await_workers(server, 2)
        yield server


def await_workers(server: LiveServer, count: int) -> list[int]:
    """Wait for this number of serving processes and return them, without the tracker of shared resources."""
    until = time.monotonic() + PATIENCE
    while True:
        pids = [pid for pid in _children(server.process.pid) if b"spawn_main" in _command(pid)]
        if len(pids) == count:
            return pids
        assert time.monotonic() < until, f"there are {len(pids)} workers, not {count}"
        time.sleep(0.02)


def _children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _connections(pid: int) -> int:
    links = (os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink())
    return sum(link.startswith("socket:") for link in links)


def connect_to_both(server: LiveServer, stack: ExitStack) -> list[Connection]:
    """Open connections until each worker has accepted some."""
    pids = await_workers(server, 2)
    before = {pid: _connections(pid) for pid in pids}
    connections: list[Connection] = []
    until = time.monotonic() + PATIENCE
    while any(_connections(pid) < before[pid] + 2 for pid in pids):
        assert time.monotonic() < until, "one worker accepts no connections"
        connections.append(stack.enter_context(connection(server)))
        assert connections[-1].request("/healthz").status == 200
    return connections


# Freshness


def test_a_write_of_another_program_is_visible_to_every_worker_at_once(two: LiveServer) -> None:
    async def write_and_read(readers: list[Connection]) -> None:
        async with open_for_writing(two.folder) as (registry, admin):
            for number in range(150):
                target = f"https://example.org/{number + 1}"
                await update(registry, admin, f"{PREFIX}/abc", Statement(target=target))
                for reader in readers:
                    assert reader.request(f"/{PREFIX}/abc").header("location") == target
                await mint(registry, admin, PREFIX, statement=Statement(target=target), suffixes=[f"fresh-{number}"])
                for reader in readers:
                    assert reader.request(f"/{PREFIX}/fresh-{number}").header("location") == target

    with ExitStack() as stack:
        asyncio.run(write_and_read(connect_to_both(two, stack)))


def test_a_write_that_one_worker_acknowledged_is_visible_to_every_worker_at_once(two: LiveServer) -> None:
    with ExitStack() as stack:
        readers = connect_to_both(two, stack)
        client = stack.enter_context(two.client())
        for number in range(150):
            target = f"https://example.org/api/{number}"
            path = f"/api/handles/{PREFIX}/acknowledged-{number % 50}"
            put = client.put(path, json=_values(target))
            assert put.status_code in (200, 201), put.text
            for reader in readers:
                name = path.removeprefix("/api/handles")
                assert reader.request(name).header("location") == target
                assert reader.request(name, THROUGH_APPLICATION).header("location") == target
                assert target.encode() in reader.request(path).body


def test_a_withdrawn_name_is_gone_on_every_worker_at_once(two: LiveServer) -> None:
    with ExitStack() as stack:
        readers = connect_to_both(two, stack)
        client = stack.enter_context(two.client())
        for number in range(30):
            path = f"/api/handles/{PREFIX}/withdrawn-{number}"
            assert client.put(path, json=_values("https://example.org/")).status_code == 201
            assert client.delete(path).status_code == 200
            for reader in readers:
                assert reader.request(path.removeprefix("/api/handles")).status == 410
                assert reader.request(path).status == 404


def test_a_new_prefix_is_known_to_every_worker_at_once(two: LiveServer) -> None:
    with ExitStack() as stack:
        readers = connect_to_both(two, stack)
        fill_registry(two.folder, {"first": "https://example.org/first"}, prefix="20.500.778")
        for reader in readers:
            assert reader.request("/20.500.778/first").header("location") == "https://example.org/first"
            assert reader.request("/api/handles/20.500.778/first").status == 200


# Concurrent observations


@pytest.fixture(scope="module", params=ENGINES)
def two_worker_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with two workers, on each engine."""
    need_engine(request.param)
    folder, schema = tmp_path_factory.mktemp("two_workers") / "registry", f"t_{secrets.token_hex(6)}"
    fill_registry(folder, {}, store=database().address(schema) if request.param == "postgres" else DEFAULT_STORE)
    with run_server(folder, "--workers", "2", "--no-access-log") as server:
        await_workers(server, 2)
        yield server
    if request.param == "postgres":
        database().drop(schema)


def test_fifty_clients_of_two_workers_with_one_observation_create_one_identifier(two_worker_server: LiveServer) -> None:
    async def read_stored() -> tuple[set[str], int]:
        async with open_registry(two_worker_server.folder) as registry:
            rows, persons = await registry.store.read(
                lambda reader: (reader.identifiers_after("", 1000, "POID-"), reader.count_persons())
            )
            assert await verify(registry) == []
            return {row.name for row in rows}, persons

    rounds, made = 10, set()
    with ExitStack() as stack:
        clients = connect_to_both(two_worker_server, stack)
        clients += [stack.enter_context(connection(two_worker_server)) for _ in range(CLIENTS - len(clients))]
        for number in range(rounds):
            content = {"claims": [{"type": "name", "value": "Jan"}], "source_url": f"https://example.org/{number}"}
            body = json.dumps(RETRIEVAL | content).encode()
            key = f"authorization: Bearer {two_worker_server.key}"
            posted = request("/api/v1/poid", key, "content-type: application/json", method="POST", body=body)
            for client in clients:
                client.send(posted)
            answers = [client.read("POST") for client in clients]
            assert Counter(answer and answer.status for answer in answers) == {201: 1, 200: len(clients) - 1}
            bodies = {answer.body for answer in answers if answer is not None}
            assert len(bodies) == 1
            made.add(json.loads(bodies.pop())["ppid"])
    assert len(clients) >= CLIENTS
    assert asyncio.run(read_stored()) == (made, rounds)
    assert len(made) == rounds


def _values(target: str) -> dict[str, object]:
    return {"values": [{"index": 1, "type": "URL", "data": {"format": "string", "value": target}}]}


# Workers that die


def test_a_worker_that_is_killed_is_replaced_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    fill_registry(folder, {"abc": "https://example.org/abc"})
    with run_server(folder, "--workers", "2", "--no-access-log") as server:
        with server.client() as client:
            assert (
                client.put(f"/api/handles/{PREFIX}/stored", json=_values("https://example.org/stored")).status_code
                == 201
            )
        first = await_workers(server, 2)
        os.kill(first[0], signal.SIGKILL)
        until = time.monotonic() + PATIENCE
        while (
            first[0] in (now := [pid for pid in _children(server.process.pid) if b"spawn_main" in _command(pid)])
            or len(now) < 2
        ):
            assert time.monotonic() < until, "the killed worker was not replaced"
            time.sleep(0.05)
        with ExitStack() as stack:
            for reader in connect_to_both(server, stack):
                assert reader.request(f"/{PREFIX}/stored").header("location") == "https://example.org/stored"
        with server.client() as client:
            assert (
                client.put(f"/api/handles/{PREFIX}/later", json=_values("https://example.org/later")).status_code == 201
            )
        assert server.stop() == 0


def test_other_workers_answer_while_one_is_being_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    fill_registry(folder, {"abc": "https://example.org/abc"})
    with run_server(folder, "--workers", "2", "--no-access-log") as server, ExitStack() as stack:
        connections = connect_to_both(server, stack)
        os.kill(await_workers(server, 2)[0], signal.SIGKILL)
        alive = 0
        for client in connections:
            client.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            alive += client.read() is not None
        assert 0 < alive < len(connections)
        for _ in range(20):
            try:
                with connection(server) as client:
                    assert client.request(f"/{PREFIX}/abc").status == 302
            except (AssertionError, ConnectionResetError):
                time.sleep(0.05)  # it was in the backlog of the killed worker
                with connection(server) as client:
                    assert client.request(f"/{PREFIX}/abc").status == 302


def test_no_worker_outlives_the_server(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    fill_registry(folder, {})
    with run_server(folder, "--workers", "2") as server:
        pids = await_workers(server, 2)
        assert server.stop() == 0
    assert not any(b"spawn_main" in _command(pid) for pid in pids)


def list_server_folders(folder: Path) -> list[Path]:
    """Return the temporary folders of servers."""
    return sorted(path for path in folder.iterdir() if path.name.startswith("perdure-server-"))


def test_workers_end_with_a_server_that_is_killed_and_the_next_server_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, temporary = tmp_path / "registry", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    fill_registry(folder, {"abc": "https://example.org/abc"})
    with run_server(folder, "--workers", "2") as server, connection(server) as idle:
        assert idle.request("/healthz").status == 200
        pids = await_workers(server, 2)
        server.process.kill()
        server.process.wait()
        until = time.monotonic() + PATIENCE
        while any(b"spawn_main" in _command(pid) for pid in pids):
            assert time.monotonic() < until, "workers run on without the process that started them"
            time.sleep(0.05)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(server.address)
            other.listen()
    [left] = list_server_folders(temporary)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "lock").write_text("")
    link, foreign = temporary / "perdure-server-link", temporary / "perdure-server-without-lock"
    link.symlink_to(tmp_path / "elsewhere")
    foreign.mkdir()
    with run_server(folder, "--workers", "2") as running:
        assert left not in list_server_folders(temporary)
        with run_server(folder) as beside:  # does not remove the folder of a running server
            assert len(list_server_folders(temporary)) == 4
            with beside.client() as client:
                assert client.get("/metrics").status_code == 200
        with running.client() as client:
            assert client.get("/metrics").status_code == 200
    assert list_server_folders(temporary) == [link, foreign]
    assert (tmp_path / "elsewhere" / "lock").exists()


# The write-ahead log


def test_the_log_stays_small_during_reads_and_writes(two: LiveServer) -> None:
    assert largest_log(two, seconds=4.0) < LARGEST_LOG + BEYOND


@pytest.mark.slow
def test_the_log_stays_small_under_constant_load_for_a_long_time(two: LiveServer) -> None:
    """Run long enough for the log to exceed its limit several times."""
    assert largest_log(two, seconds=90.0) < LARGEST_LOG + BEYOND


def largest_log(server: LiveServer, *, seconds: float, filler: int = 60_000) -> int:
    """Return the largest size of the log, with constant readers on every worker and writers of large values."""
    log = server.folder / "perdure.db-wal"
    end = time.monotonic() + seconds
    failed: list[str] = []

    def read() -> None:
        with connection(server) as reader:
            while time.monotonic() < end:
                if reader.request(f"/{PREFIX}/abc").status != 302:
                    failed.append("a read")

    def write(writer: int) -> None:
        with httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.key}"}, timeout=PATIENCE
        ) as client:
            number = 0
            while time.monotonic() < end:
                number += 1
                value = {"index": 2, "type": "NOTE", "data": {"format": "string", "value": f"{number}" + "x" * filler}}
                if client.put(f"/api/handles/{PREFIX}/filled-{writer}", json={"values": [value]}).status_code not in (
                    200,
                    201,
                ):
                    failed.append("a write")

    threads = [threading.Thread(target=read) for _ in range(4)] + [
        threading.Thread(target=write, args=(writer,)) for writer in range(4)
    ]
    for thread in threads:
        thread.start()
    largest = 0
    while any(thread.is_alive() for thread in threads):
        largest = max(largest, log.stat().st_size if log.exists() else 0)
        time.sleep(0.02)
    assert failed == []
    assert largest > 0
    return largest
