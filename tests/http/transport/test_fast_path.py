"""The fast path alone, on a store whose answers the test releases one by one."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest

from perdure.http.shared.file_cache import FileCache
from perdure.http.shared.person_cache import PersonCache
from perdure.http.transport.fast_path import FastPath
from perdure.http_options import HttpOptions
from perdure.records import record as records
from perdure.records.authority_metadata import DEFAULT_TYPE_PREFIX
from perdure.records.record import Record
from perdure.records.value import Text, Value
from perdure.registry.store_interface import Redirect, ResultCallback, StoredRecord

RECORD = records.encode(
    Record(
        state="active",
        creator="hdl:1/jan",
        created="2027-01-15T08:00:00Z",
        values=(Value(1, "URL", Text("https://example.org/a")),),
        changed="2027-01-15T08:00:00Z",
    )
)
REDIRECT: Redirect = ("https://example.org/a", 7)


class SlowLookup:
    """A lookup that holds every query until the test answers it."""

    def __init__(self) -> None:
        self.queries: list[tuple[list[str], Callable[[Sequence[Any]], None]]] = []

    def find_redirects(self, keys: Sequence[str], callback: ResultCallback[Redirect]) -> None:
        self.queries.append((list(keys), callback))

    def find_records(self, keys: Sequence[str], callback: ResultCallback[StoredRecord]) -> None:
        self.queries.append((list(keys), callback))

    def answer(self, *results: Any) -> None:
        """Answer the oldest query."""
        _, callback = self.queries.pop(0)
        callback(results)


class Connection:
    """A PendingRequest that records its responses."""

    def __init__(self, fast_path: FastPath, url: str, *, wants_page: bool = True, if_none_match: str = "") -> None:
        self.url, self.wants_page = url.encode(), wants_page
        self.accept, self.if_none_match, self.user_agent = b"", if_none_match.encode(), b""
        self.host: bytes | None = b"example.org"
        self.scheme: Literal["http", "https"] | None = "http"
        self.responses: list[bytes | None] = []
        fast_path.submit(self)

    def respond(self, answer: bytes | None) -> None:
        self.responses.append(answer)

    @property
    def was_redirected(self) -> bool:
        [response] = self.responses
        return response is not None and b"\r\nlocation: https://example.org/a\r\n" in response

    def got_record(self, name: str) -> bool:
        [response] = self.responses
        return response is not None and f'"handle":"{name}"'.encode() in response


class FastPathFixture:
    """A fast path, its store, and its metrics."""

    def __init__(self) -> None:
        self.lookup = SlowLookup()
        self.metrics = SimpleNamespace(redirects=0, records=0, persons=0, files=0)
        registry = SimpleNamespace(
            store=SimpleNamespace(batch_lookup=lambda: self.lookup),
            settings=SimpleNamespace(type_prefix=DEFAULT_TYPE_PREFIX),
        )
        prefixes = SimpleNamespace(handle_prefixes={b"1": ("1/", True)})
        self.documents = PersonCache(HttpOptions())
        service = SimpleNamespace(
            registry=registry,
            metrics=self.metrics,
            prefixes=prefixes,
            person_cache=self.documents,
            file_cache=FileCache(HttpOptions(), lambda: 1),
            options=HttpOptions(),
            resolutions=SimpleNamespace(is_on=False),
        )
        self.fast_path = FastPath(cast(Any, service), cast(Any, SimpleNamespace(is_on=False)))

    def submit(self, url: str = "/1/a", **options: Any) -> Connection:
        return Connection(self.fast_path, url, **options)


@pytest.fixture
def fixture() -> Iterator[FastPathFixture]:
    async def begin() -> FastPathFixture:
        return FastPathFixture()

    with asyncio.Runner() as runner:
        yield runner.run(begin())


def test_requests_of_one_loop_iteration_are_one_query_of_each_kind(fixture: FastPathFixture) -> None:
    connections = [fixture.submit(url) for url in ("/1/a", "/api/handles/1/b", "/1/c", "/api/handles/1/d")]
    fixture.fast_path.flush()
    assert [keys for keys, _ in fixture.lookup.queries] == [["1/a", "1/c"], ["1/b", "1/d"]]
    fixture.lookup.answer(REDIRECT, None)
    fixture.lookup.answer((7, RECORD), None)
    assert connections[0].was_redirected
    assert connections[1].got_record("1/b")
    assert [connection.responses for connection in connections[2:]] == [[None], [None]]
    assert (fixture.metrics.redirects, fixture.metrics.records) == (1, 1)


@pytest.mark.parametrize(
    ("url", "current", "other"), [("/1/a", '"7"', '"2"'), ("/api/handles/1/a", '"7-record"', '"7"')]
)
def test_a_client_with_the_current_version_gets_no_body(
    fixture: FastPathFixture, url: str, current: str, other: str
) -> None:
    tags = (current, f"{other}, W/{current}", "*", other, "nonsense")
    connections = [fixture.submit(url, if_none_match=tag) for tag in tags]
    fixture.fast_path.flush()
    fixture.lookup.answer(*[REDIRECT if url == "/1/a" else (7, RECORD)] * len(tags))
    answers = [connection.responses[0] or b"" for connection in connections]
    assert [answer.split()[1] for answer in answers] == [b"304"] * 3 + [b"302" if url == "/1/a" else b"200"] * 2
    for answer in answers[:3]:
        assert answer.endswith(f"\r\netag: {current}\r\n\r\n".encode())


def test_requests_for_the_application_are_not_looked_up(fixture: FastPathFixture) -> None:
    urls = ("/", "/1", "/1/", "/2/a", "/1/%61", "/1/a?x", "/1/a#x", "/api/handles/2/a", "/api/handles/", "/1/\xe9")
    connections = [fixture.submit(url) for url in urls]
    connections.append(fixture.submit("/1/a", wants_page=False))
    fixture.fast_path.flush()
    assert fixture.lookup.queries == []
    assert [connection.responses for connection in connections] == [[None]] * len(connections)


@pytest.mark.parametrize("url", ["/1/a", "/api/handles/1/a"])
@pytest.mark.parametrize("is_flushed", [False, True], ids=["before the flush", "after the flush"])
def test_an_abandoned_request_is_passed_on_once_and_affects_no_other(
    fixture: FastPathFixture, url: str, is_flushed: bool
) -> None:
    before, abandoned, behind = (fixture.submit(url) for _ in range(3))
    if is_flushed:
        fixture.fast_path.flush()
    fixture.fast_path.abandon(abandoned)
    assert abandoned.responses == [None]
    result = REDIRECT if url == "/1/a" else (7, RECORD)
    fixture.lookup.answer(result, result, result)
    assert abandoned.responses == [None]
    for connection in (before, behind):
        assert len(connection.responses) == 1
        assert connection.responses[0] is not None


@pytest.mark.parametrize("url", ["/1/a", "/api/handles/1/a"])
def test_an_abandoned_request_is_not_counted(fixture: FastPathFixture, url: str) -> None:
    """The application has answered it, and counts it."""
    fixture.submit(url)
    abandoned = fixture.submit(url)
    fixture.fast_path.abandon(abandoned)
    result = REDIRECT if url == "/1/a" else (7, RECORD)
    fixture.lookup.answer(result, result)
    assert fixture.metrics.redirects + fixture.metrics.records == 1


def test_a_connection_that_submits_again_after_abandon_gets_only_the_new_response(fixture: FastPathFixture) -> None:
    """A connection whose request went to the application submits another while the first query still runs."""
    connection = fixture.submit("/1/a")
    fixture.fast_path.abandon(connection)
    connection.responses.clear()
    connection.url = b"/api/handles/1/b"
    fixture.fast_path.submit(connection)
    fixture.fast_path.flush()
    fixture.lookup.answer(REDIRECT)
    assert connection.responses == []
    fixture.lookup.answer((7, RECORD))
    assert connection.got_record("1/b")


def test_queries_may_be_answered_in_any_order(fixture: FastPathFixture) -> None:
    first = fixture.submit("/1/a")
    fixture.fast_path.flush()
    second = fixture.submit("/1/a")
    fixture.fast_path.flush()
    fixture.lookup.queries.reverse()
    fixture.lookup.answer(REDIRECT)
    assert (first.responses, second.was_redirected) == ([], True)
    fixture.lookup.answer(None)
    assert first.responses == [None]


def test_a_damaged_record_does_not_affect_other_requests(fixture: FastPathFixture) -> None:
    connections = [fixture.submit(f"/api/handles/1/{suffix}") for suffix in "abc"]
    fixture.fast_path.flush()
    fixture.lookup.answer((7, RECORD), (7, RECORD.replace(b"jan", b"\xff\xfe")), (7, RECORD))
    assert [len(connection.responses) for connection in connections] == [1, 1, 1]
    assert connections[1].responses == [None]
    assert None not in connections[0].responses + connections[2].responses
