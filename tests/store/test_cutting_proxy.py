"""The failing proxy works as documented; the tests that use it rely on that."""

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest
from tests.cutting_proxy import CuttingProxy
from tests.postgres.shared_server import Database, database, need_postgres

SOON = 10.0  # seconds


@pytest.fixture
def direct() -> Iterator[Database]:
    """Return a table that is visible to a client through the proxy and to one without."""
    need_postgres()
    database().execute("DROP TABLE IF EXISTS said; CREATE TABLE said (word text UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    yield database()
    database().execute("DROP TABLE said")


@pytest.fixture
def proxy(direct: Database) -> Iterator[CuttingProxy]:
    with CuttingProxy(direct.address()) as proxy:
        yield proxy


@pytest.fixture
def client(proxy: CuttingProxy, direct: Database) -> Iterator[psycopg.Connection]:
    with connect_through(proxy, direct) as client:
        yield client


def connect_through(proxy: CuttingProxy, direct: Database, **options: object) -> psycopg.Connection:
    return psycopg.connect(proxy.address(direct.address()), **options)


def words(direct: Database) -> list[object]:
    return [word for (word,) in direct.execute("SELECT word FROM said ORDER BY word")]


def say(client: psycopg.Connection, word: str) -> None:
    client.execute("INSERT INTO said VALUES (%s)", [word])


def by_simple_query(client: psycopg.Connection) -> None:
    client.commit()


def by_extended_query(client: psycopg.Connection) -> None:
    client.pgconn.exec_params(b"COMMIT", [])
    assert client.pgconn.status == psycopg.pq.ConnStatus.OK, "lost"


def by_a_statement_of_several(client: psycopg.Connection) -> None:
    client.execute("SELECT 'the end; of it'; /* now */ commit")


def by_a_prepared_statement(client: psycopg.Connection) -> None:
    client.pgconn.exec_prepared(b"finish", [])
    assert client.pgconn.status == psycopg.pq.ConnStatus.OK, "lost"


def by_pipeline(client: psycopg.Connection) -> None:
    with client.pipeline():
        client.execute("SELECT 1")
        client.commit()
        client.execute("SELECT 2")


WAYS = [by_simple_query, by_extended_query, by_a_statement_of_several, by_a_prepared_statement, by_pipeline]
ways = pytest.mark.parametrize("commit", WAYS, ids=lambda way: way.__name__)


@ways
@pytest.mark.parametrize("reply", [True, False], ids=["after", "before"])
def test_a_commit_is_cut_before_or_after_it_is_done(
    client: psycopg.Connection, proxy: CuttingProxy, direct: Database, commit: Callable, reply: bool
) -> None:
    client.pgconn.prepare(b"finish", b"COMMIT")
    say(client, "kept")
    cut = proxy.cut_at_commit(reply=reply)
    with pytest.raises((psycopg.OperationalError, AssertionError)):
        commit(client)
    assert cut.wait(SOON)
    assert client.broken
    assert words(direct) == (["kept"] if reply else [])


@ways
def test_by_default_everything_is_passed_on(client: psycopg.Connection, direct: Database, commit: Callable) -> None:
    client.pgconn.prepare(b"finish", b"COMMIT")
    say(client, "kept")
    commit(client)
    assert words(direct) == ["kept"]


def test_much_data_is_passed_on_completely(client: psycopg.Connection, direct: Database) -> None:
    long = [f"{number:04d}" * 5000 for number in range(200)]
    with client.cursor().copy("COPY said FROM STDIN") as copy:
        for word in long:
            copy.write_row([word])
    client.commit()
    assert words(direct) == long
    assert [word for (word,) in client.execute("SELECT word FROM said ORDER BY word")] == long


def test_a_cut_at_commit_happens_once(proxy: CuttingProxy, direct: Database) -> None:
    proxy.cut_at_commit(reply=True)
    with pytest.raises(psycopg.OperationalError), connect_through(proxy, direct) as client:
        say(client, "first")
    with connect_through(proxy, direct) as client:
        say(client, "second")
    assert words(direct) == ["first", "second"]


def test_other_statements_than_commit_are_not_cut(client: psycopg.Connection, proxy: CuttingProxy) -> None:
    cut = proxy.cut_at_commit(reply=False)
    say(client, "commit")
    client.execute("SELECT 'commit'")
    client.execute("CREATE TEMP TABLE commits (x int)")
    client.rollback()
    assert not cut.is_set()


def test_a_commit_that_the_server_refuses_is_reported_and_the_next_one_is_cut(
    client: psycopg.Connection, proxy: CuttingProxy, direct: Database
) -> None:
    """The client must get the error: nothing was committed, and nothing is in doubt."""
    cut = proxy.cut_at_commit(reply=True)
    for _ in range(2):
        say(client, "twice")
    with pytest.raises(psycopg.errors.UniqueViolation):
        client.commit()
    assert not cut.is_set()
    say(client, "once")
    with pytest.raises(psycopg.OperationalError):
        client.commit()
    assert cut.is_set()
    assert words(direct) == ["once"]


def test_only_the_connection_that_commits_is_cut(
    client: psycopg.Connection, proxy: CuttingProxy, direct: Database
) -> None:
    with connect_through(proxy, direct) as other:
        say(other, "other")
        say(client, "mine")
        proxy.cut_at_commit(reply=False)
        with pytest.raises(psycopg.OperationalError):
            client.commit()
        other.commit()
    assert words(direct) == ["other"]


def test_cut_now_cuts_existing_connections_and_accepts_new_ones(
    client: psycopg.Connection, proxy: CuttingProxy, direct: Database
) -> None:
    proxy.cut_now()
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
    with connect_through(proxy, direct) as again:
        again.execute("SELECT 1")


def test_a_running_query_is_cut_too(client: psycopg.Connection, proxy: CuttingProxy) -> None:
    threading.Timer(0.2, proxy.cut_now).start()
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT pg_sleep(60)")


def test_connections_are_refused_until_the_proxy_is_healed(
    client: psycopg.Connection, proxy: CuttingProxy, direct: Database
) -> None:
    proxy.refuse()
    with pytest.raises(psycopg.OperationalError):
        connect_through(proxy, direct)
    client.execute("SELECT 1")
    proxy.heal()
    connect_through(proxy, direct).close()


def test_a_black_hole_passes_nothing_on_until_it_is_healed(
    client: psycopg.Connection, proxy: CuttingProxy, direct: Database
) -> None:
    proxy.black_hole()
    with pytest.raises(psycopg.errors.ConnectionTimeout):
        connect_through(proxy, direct, connect_timeout=2)
    answers: list[object] = []
    asking = threading.Thread(target=lambda: answers.append(client.execute("SELECT 1").fetchone()))
    asking.start()
    asking.join(0.3)
    assert answers == []
    proxy.heal()
    asking.join(SOON)
    assert answers == [(1,)]


def test_in_a_black_hole_the_server_does_not_notice_that_its_client_is_gone(
    proxy: CuttingProxy, direct: Database
) -> None:
    """So it keeps its locks: other clients have to wait for them, or fail with a timeout."""
    client = connect_through(proxy, direct, application_name="gone")
    say(client, "never")
    proxy.black_hole()
    client.close()
    there = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gone'"
    time.sleep(0.2)
    assert direct.execute(there) == [(1,)]
    proxy.heal()
    until = time.monotonic() + SOON
    while direct.execute(there) != [(0,)]:
        assert time.monotonic() < until, "the server was not notified"
        time.sleep(0.01)
    assert words(direct) == []


def test_a_cancellation_reaches_the_server(client: psycopg.Connection) -> None:
    threading.Timer(0.2, client.cancel_safe).start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        client.execute("SELECT pg_sleep(60)")


def test_a_request_for_encryption_is_declined(proxy: CuttingProxy, direct: Database) -> None:
    with psycopg.connect(proxy.address(direct.address()), sslmode="prefer", gssencmode="prefer") as client:
        assert client.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="SSL"):
        psycopg.connect(proxy.address(direct.address()), sslmode="require")


def test_a_closed_proxy_leaves_no_thread_and_no_connection(direct: Database) -> None:
    before = threading.active_count()
    proxy = CuttingProxy(direct.address())
    client = connect_through(proxy, direct)
    proxy.black_hole()
    proxy.close()
    assert threading.active_count() == before
    with pytest.raises(psycopg.OperationalError):
        client.execute("SELECT 1")
    client.close()
