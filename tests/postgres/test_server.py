"""The server for tests: real enough to crash, and removed without a trace."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.postgres.server import PostgresServer, ServerFailed
from tests.system_packages import require_package

ROOT = Path(__file__).parents[2]
SOON = 30.0  # seconds


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    require_package("postgresql")
    with PostgresServer(fsync=True) as server:
        server.create_database("library")
        yield server


def ask(server: PostgresServer, statement: str, *, over_socket: bool = False) -> list[tuple[object, ...]]:
    with psycopg.connect(server.address("library", over_socket=over_socket)) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_the_server_answers_on_its_port_and_on_its_socket(server: PostgresServer) -> None:
    for over_socket in (False, True):
        assert ask(server, "SELECT current_database()", over_socket=over_socket) == [("library",)]


def test_the_server_is_durable_with_fsync(server: PostgresServer) -> None:
    assert ask(server, "SHOW fsync") == ask(server, "SHOW synchronous_commit") == [("on",)]


def test_the_default_order_of_the_server_is_not_that_of_code_points(server: PostgresServer) -> None:
    """So that a store that relies on the server's default collation fails its tests."""
    assert ask(server, "SELECT 'a' < 'B'") == [(True,)]


def test_after_a_kill_the_server_restarts_with_all_committed_data(server: PostgresServer) -> None:
    port = server.port
    for number in range(3):
        ask(server, f"CREATE TABLE kept_{number} AS SELECT 1")
        at_work = psycopg.connect(server.address("library"))
        at_work.execute(f"CREATE TABLE lost_{number} AS SELECT 1")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            at_work.commit()
        at_work.close()
        assert not server.is_running
        server.start()
    assert server.port == port
    tables = ask(server, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    assert tables == [("kept_0",), ("kept_1",), ("kept_2",)]


def test_a_restart_keeps_the_data_and_the_address(server: PostgresServer) -> None:
    ask(server, "CREATE TABLE kept AS SELECT 7 AS n")
    before = server.address("library")
    server.restart()
    assert server.address("library") == before
    assert ask(server, "SELECT n FROM kept") == [(7,)]


def test_a_closed_server_leaves_nothing_even_after_a_kill(server: PostgresServer) -> None:
    server.kill()
    server.close()
    assert not server.folder.exists()


def test_a_setting_that_the_server_refuses_is_reported_with_its_message() -> None:
    require_package("postgresql")
    server = PostgresServer(settings={"shared_buffers": "plenty"})
    with pytest.raises(ServerFailed, match="shared_buffers"), server:
        pass
    assert not server.folder.exists()


OWNER = """
import signal, time
from tests.postgres.server import PostgresServer
signal.signal(signal.SIGINT, signal.default_int_handler)  # background processes ignore it by default
server = PostgresServer()
server.start()
print(server.folder.parent, server.port, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL], ids=lambda sign: sign.name)
def test_no_server_outlives_its_test_run(sign: signal.Signals) -> None:
    require_package("postgresql")
    alone = {name: value for name, value in os.environ.items() if name != "PERDURE_TEST_RUN"}
    with subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=ROOT,
        env=alone,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as owner:
        assert owner.stdout is not None
        folder, port = owner.stdout.readline().split()
        assert Path(folder).exists()
        os.killpg(owner.pid, sign)  # as Ctrl-C does, to all processes of the terminal
    until = time.monotonic() + SOON
    while Path(folder).exists():
        assert time.monotonic() < until, "nothing was cleaned up"
        time.sleep(0.02)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(host="127.0.0.1", port=port, user="perdure")
