"""The fast path on PostgreSQL: equal responses, and no request is lost while a query runs."""

import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest
from hypothesis import given, settings
from tests.cutting_proxy import CuttingProxy
from tests.http.fast_path_requests import (
    EVERY_KIND,
    EXACT,
    HEADERS,
    MIXED,
    PATHS,
    TARGETS,
    PathComparison,
    comparable,
    compare_paths,
)
from tests.http.live_server import run_server
from tests.http.raw_client import THROUGH_APPLICATION, Connection, connection, request
from tests.postgres.shared_server import database, need_postgres

HOME = f"/{EXACT}/abc"
RECORD = f"/api/handles/{EXACT}/abc"
HEADER_SECONDS = 0.6
PATIENCE = 20.0


class Server:
    """A served registry, its schema, and the proxy to its database, which can be cut."""

    def __init__(self, comparison: PathComparison, schema: str, proxy: CuttingProxy) -> None:
        self.comparison, self.proxy = comparison, proxy
        self._schema = schema

    @contextmanager
    def lock_names(self) -> Iterator[None]:
        """Lock the table of names, so that the database answers no query for them until the block ends."""
        with psycopg.connect(database().address()) as another:
            another.execute(f"LOCK TABLE {self._schema}.identifiers IN ACCESS EXCLUSIVE MODE".encode())
            yield

    def await_queries(self, number: int) -> None:
        """Wait until this number of queries wait for the lock."""
        is_waiting = f"NOT granted AND relation = '{self._schema}.identifiers'::regclass"
        query = f"SELECT count(*) FROM pg_locks WHERE {is_waiting}"  # noqa: S608
        until = time.monotonic() + PATIENCE
        while database().execute(query) != [(number,)]:
            assert time.monotonic() < until, database().execute(query)
            time.sleep(0.01)

    def catch_up(self) -> None:
        """Wait until the server has read all data that was sent before."""
        with self.connection() as another:
            assert another.request("/healthz").status == 200

    def connection(self) -> AbstractContextManager[Connection]:
        return connection(self.comparison.server)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    need_postgres()
    schema = f"t_{secrets.token_hex(6)}"
    direct = database().address(schema)
    with CuttingProxy(direct) as proxy:
        folder = tmp_path_factory.mktemp("on-postgres") / "registry"
        short_timeout = f"header_seconds = {HEADER_SECONDS}"
        with compare_paths(folder, store=proxy.address(direct), settings=short_timeout) as comparison:
            yield Server(comparison, schema, proxy)
    database().drop(schema)


@settings(max_examples=60)
@given(path=PATHS, headers=HEADERS)
def test_the_same_request_has_the_same_response(server: Server, path: str, headers: list[str]) -> None:
    server.comparison.assert_alike(path, *headers)


def test_every_kind_of_record_has_the_same_response(server: Server) -> None:
    for path in EVERY_KIND:
        server.comparison.assert_alike(path)


def test_the_fast_path_answers_the_usual_requests(server: Server) -> None:
    assert server.comparison.fast_path_answers == server.comparison.usual


def test_pipelined_requests_have_the_same_responses_in_order(server: Server) -> None:
    server.comparison.assert_alike_in_one_go(MIXED)


def test_a_client_that_pipelines_while_a_query_runs_gets_the_responses_in_order(server: Server) -> None:
    with server.connection() as client:
        with server.lock_names():
            client.send(request(HOME))
            server.await_queries(1)
            client.send(request(RECORD) + request(f"/{EXACT}/ABC"))
            server.await_queries(2)  # the application's for the first request; none for the others yet
        first, second, third = client.read(), client.read(), client.read()
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.header("location"), third.header("location")) == (TARGETS["abc"], TARGETS["ABC"])
    assert f'"handle":"{EXACT}/abc"'.encode() in second.body


def test_a_client_that_disconnects_while_a_query_runs_does_not_affect_others(server: Server) -> None:
    with server.connection() as patient:
        with server.lock_names():
            for number, path in enumerate((HOME, RECORD), 1):
                with server.connection() as hasty:
                    hasty.send(request(path))
                    server.await_queries(number)
            patient.send(request(f"/{EXACT}/ABC"))
            server.catch_up()  # including the disconnects
        answer = patient.read()
        assert answer is not None
        assert answer.header("location") == TARGETS["ABC"]
        assert patient.request(HOME).header("location") == TARGETS["abc"]


def test_the_header_timeout_does_not_end_the_wait_for_a_response(server: Server) -> None:
    with server.connection() as client:
        with server.lock_names():
            head = request(HOME)
            client.send(head[:20])
            server.catch_up()  # so that the head comes in two pieces and the timeout runs
            client.send(head[20:])
            server.await_queries(1)
            is_closed = client.is_closed_within(1.5 * HEADER_SECONDS)
        assert not is_closed
        answer = client.read()
    assert answer is not None
    assert answer.header("location") == TARGETS["abc"]


def test_a_database_that_cannot_be_reached_is_reported_and_used_again_when_it_is_back(server: Server) -> None:
    with server.connection() as client, server.connection() as other:
        server.proxy.refuse()
        server.proxy.cut_now()
        try:
            for path in (HOME, RECORD):
                fast, slow = client.request(path), other.request(path, THROUGH_APPLICATION)
                assert fast.status == 503
                assert comparable(fast) == comparable(slow)
        finally:
            server.proxy.heal()
        until = time.monotonic() + PATIENCE
        while (answer := client.request(HOME)).status == 503 and time.monotonic() < until:
            time.sleep(0.05)
        assert answer.header("location") == TARGETS["abc"]
        assert client.request(RECORD).status == 200


def test_a_client_that_waits_when_the_server_stops_gets_its_response(server: Server) -> None:
    with run_server(server.comparison.server.folder, "--no-access-log") as ending, connection(ending) as client:
        with server.lock_names():
            client.send(request(HOME))
            server.await_queries(1)
            ending.process.send_signal(signal.SIGTERM)
            server.await_queries(2)  # the application sends one more, because the fast path has abandoned the request
        answer = client.read()
        assert answer is not None
        assert (answer.header("location"), answer.header("connection")) == (TARGETS["abc"], "close")
        assert ending.process.wait(PATIENCE) == 0
