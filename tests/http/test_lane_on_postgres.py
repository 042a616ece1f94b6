"""The express lane where answers take a journey: the same answers, and whoever cannot wait for them is not lost."""

import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg
import pytest
from hypothesis import given, settings
from tests.cutting_proxy import CuttingProxy
from tests.http.compared import EVERY_KIND, EXACT, HEADERS, MIXED, PATHS, TARGETS, Compared, comparable, comparing
from tests.http.live import serving
from tests.http.raw_client import THROUGH_APPLICATION, Connection, connection, request
from tests.postgres.shared import database, need_postgres

HOME = f"/{EXACT}/abc"
RECORD = f"/api/handles/{EXACT}/abc"
HEADER_SECONDS = 0.6
PATIENCE = 20.0


class Server:
    """A served registry, its schema, and the way there, which can be cut."""

    def __init__(self, compared: Compared, schema: str, proxy: CuttingProxy) -> None:
        self.compared, self.proxy = compared, proxy
        self._schema = schema

    @contextmanager
    def holding_names(self) -> Iterator[None]:
        """Until the block ends, the database answers no question for names."""
        with psycopg.connect(database().address()) as another:
            another.execute(f"LOCK TABLE {self._schema}.identifiers IN ACCESS EXCLUSIVE MODE".encode())
            yield

    def await_questions(self, number: int) -> None:
        """Until so many questions wait for the names that are held."""
        held = f"NOT granted AND relation = '{self._schema}.identifiers'::regclass"
        counted = f"SELECT count(*) FROM pg_locks WHERE {held}"  # noqa: S608
        until = time.monotonic() + PATIENCE
        while database().execute(counted) != [(number,)]:
            assert time.monotonic() < until, database().execute(counted)
            time.sleep(0.01)

    def catch_up(self) -> None:
        """When this is over, the server has taken in all that was sent before."""
        with self.connection() as another:
            assert another.ask("/healthz").status == 200

    def connection(self) -> AbstractContextManager[Connection]:
        return connection(self.compared.server)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    need_postgres()
    schema = f"t_{secrets.token_hex(6)}"
    direct = database().address(schema)
    with CuttingProxy(direct) as proxy:
        folder = tmp_path_factory.mktemp("on-postgres") / "registry"
        quickly = f"header_seconds = {HEADER_SECONDS}"
        with comparing(folder, store=proxy.address(direct), settings=quickly) as compared:
            yield Server(compared, schema, proxy)
    database().drop(schema)


@settings(max_examples=60)
@given(path=PATHS, headers=HEADERS)
def test_the_same_request_has_the_same_answer(server: Server, path: str, headers: list[str]) -> None:
    server.compared.assert_alike(path, *headers)


def test_every_kind_of_record_has_the_same_answer(server: Server) -> None:
    for path in EVERY_KIND:
        server.compared.assert_alike(path)


def test_the_lane_answers_what_is_usual(server: Server) -> None:
    assert server.compared.answered_by_lane == server.compared.usual


def test_requests_in_one_go_have_the_same_answers_in_their_order(server: Server) -> None:
    server.compared.assert_alike_in_one_go(MIXED)


def test_who_asks_on_while_a_question_is_under_way_gets_the_answers_in_their_order(server: Server) -> None:
    with server.connection() as one:
        with server.holding_names():
            one.send(request(HOME))
            server.await_questions(1)
            one.send(request(RECORD) + request(f"/{EXACT}/ABC"))
            server.await_questions(2)  # the application asks for the first, and nobody for the others yet
        first, second, third = one.read(), one.read(), one.read()
    assert first is not None
    assert second is not None
    assert third is not None
    assert (first.header("location"), third.header("location")) == (TARGETS["abc"], TARGETS["ABC"])
    assert f'"handle":"{EXACT}/abc"'.encode() in second.body


def test_who_hangs_up_while_a_question_is_under_way_harms_nobody(server: Server) -> None:
    with server.connection() as patient:
        with server.holding_names():
            for number, path in enumerate((HOME, RECORD), 1):
                with server.connection() as hasty:
                    hasty.send(request(path))
                    server.await_questions(number)
            patient.send(request(f"/{EXACT}/ABC"))
            server.catch_up()  # and hear that they are gone
        answer = patient.read()
        assert answer is not None
        assert answer.header("location") == TARGETS["ABC"]
        assert patient.ask(HOME).header("location") == TARGETS["abc"]


def test_the_time_in_which_a_request_must_come_does_not_end_the_wait_for_its_answer(server: Server) -> None:
    with server.connection() as one:
        with server.holding_names():
            head = request(HOME)
            one.send(head[:20])
            server.catch_up()  # so that it comes in two pieces, and is timed
            one.send(head[20:])
            server.await_questions(1)
            is_closed = one.is_closed_within(1.5 * HEADER_SECONDS)
        assert not is_closed
        answer = one.read()
    assert answer is not None
    assert answer.header("location") == TARGETS["abc"]


def test_a_database_that_cannot_be_reached_is_reported_and_used_again_when_it_is_back(server: Server) -> None:
    with server.connection() as one, server.connection() as other:
        server.proxy.refuse()
        server.proxy.cut_now()
        try:
            for path in (HOME, RECORD):
                express, slow = one.ask(path), other.ask(path, THROUGH_APPLICATION)
                assert express.status == 503
                assert comparable(express) == comparable(slow)
        finally:
            server.proxy.heal()
        until = time.monotonic() + PATIENCE
        while (answer := one.ask(HOME)).status == 503 and time.monotonic() < until:
            time.sleep(0.05)
        assert answer.header("location") == TARGETS["abc"]
        assert one.ask(RECORD).status == 200


def test_who_waits_for_an_answer_when_the_server_is_told_to_end_gets_it(server: Server) -> None:
    with serving(server.compared.server.folder, "--no-access-log") as ending, connection(ending) as one:
        with server.holding_names():
            one.send(request(HOME))
            server.await_questions(1)
            ending.process.send_signal(signal.SIGTERM)
            server.await_questions(2)  # the application asks once more, for the lane has let go
        answer = one.read()
        assert answer is not None
        assert (answer.header("location"), answer.header("connection")) == (TARGETS["abc"], "close")
        assert ending.process.wait(PATIENCE) == 0
