"""When the database server is killed, its clients continue by themselves, and acknowledged operations are not lost."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import psycopg
import pytest
from tests.crash.audit import audit
from tests.crash.crash_registry import ServerNote, create_in
from tests.crash.kill import WorkerProcess
from tests.crash.ledger import Ledger
from tests.crash.worker import IN_FLIGHT, READY
from tests.postgres.server import PostgresServer
from tests.system_packages import require_package

from perdure.store.postgres.postgres_options import PostgresOptions

_LONGEST_AT_WORK: Final = 0.8  # seconds between two kills
_LONGEST_GONE: Final = 0.6
_PATIENT, _IMPATIENT = 30.0, 0.1  # settle_seconds: longer than the server is gone, and shorter


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """Start a server of its own, with durable settings."""
    require_package("postgresql")
    with PostgresServer(fsync=True) as server:
        yield server


def _kill_all(server: PostgresServer) -> None:
    """Kill all processes of the server, as a power cut would."""
    server.kill()
    time.sleep(random.uniform(0, _LONGEST_GONE))
    server.start()


def _kill_one(server: PostgresServer) -> None:
    """Kill a process that serves a client, as when memory runs out: the server then ends all others, and recovers."""
    with closing(psycopg.connect(server.address(), autocommit=True)) as connection:
        query = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'perdure%' ORDER BY random() LIMIT 1"
        row = connection.execute(query).fetchone()
        if row is None:
            return
        os.kill(row[0], signal.SIGKILL)
        while _alive(connection):
            time.sleep(0.005)
    server.await_recovery()


def _alive(connection: psycopg.Connection) -> bool:
    """Return whether a process runs; the server ends it when it notices the kill."""
    with suppress(psycopg.OperationalError):
        connection.execute("SELECT")
    return not connection.closed


def _kill_again_and_again(
    server: PostgresServer,
    folder: Path,
    kills: list[Callable[[PostgresServer], None]],
    processes: int,
    settle_seconds: float,
) -> list[WorkerProcess]:
    """Kill the server repeatedly while the clients continue; then kill them too, and read their reports."""
    folder.mkdir()
    options = PostgresOptions(partitions=2, settle_seconds=settle_seconds)
    ServerNote(server.address(schema=folder.name), options).write_to(folder)
    asyncio.run(create_in(folder))
    clients = [WorkerProcess(folder, share=share, of=processes, undaunted=True) for share in range(processes)]
    for client in clients:
        client.await_line(READY)
        client.await_another()
    for kill in kills:
        until = time.monotonic() + random.uniform(0, _LONGEST_AT_WORK)
        while time.monotonic() < until:
            for client in clients:
                client.read_until(min(until, time.monotonic() + 0.01))
        kill(server)
        for client in clients:
            client.await_another()
    ledger = Ledger()
    ledger.enter([client.kill() for client in clients])
    audit(ledger, folder, len(clients) * IN_FLIGHT + sum(client.unknown_count for client in clients))
    return clients


@pytest.mark.parametrize("processes", [2])
def test_clients_reconnect_after_their_server_was_killed(
    server: PostgresServer, tmp_path: Path, processes: int
) -> None:
    clients = _kill_again_and_again(
        server, tmp_path / "registry", [_kill_all, _kill_one, _kill_all], processes, _PATIENT
    )
    assert sum(client.unknown_count for client in clients) == 0, "it came back in time for a look-up of the outcome"


def test_the_outcome_of_a_commit_on_a_killed_server_is_reported_as_unknown(
    server: PostgresServer, tmp_path: Path
) -> None:
    clients = _kill_again_and_again(server, tmp_path / "registry", [_kill_all] * 4, 1, _IMPATIENT)
    assert sum(client.unknown_count + client.refused_count for client in clients) > 0


@pytest.mark.slow
@pytest.mark.parametrize("settle_seconds", [_PATIENT, _IMPATIENT], ids=["patient", "impatient"])
@pytest.mark.parametrize("processes", [1, 3])
def test_nothing_is_lost_or_doubled_when_a_server_is_killed_many_times(
    server: PostgresServer, tmp_path: Path, processes: int, settle_seconds: float
) -> None:
    kills = random.choices([_kill_all, _kill_one], weights=[3, 1], k=6)
    _kill_again_and_again(server, tmp_path / "registry", kills, processes, settle_seconds)
