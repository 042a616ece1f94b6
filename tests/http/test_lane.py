"""The express lane by itself, on a store that answers when it is told to."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Literal, cast

import pytest

from perdure.http.kept_documents import KeptDocuments
from perdure.http.lane import Lane
from perdure.http_options import HttpOptions
from perdure.records import record as records
from perdure.records.authority import DEFAULT_TYPE_PREFIX
from perdure.records.record import Record
from perdure.records.value import Text, Value
from perdure.registry.protocol import Give, Redirect, Written

RECORD = records.encode(
    Record(
        state="active",
        creator="hdl:1/jan",
        created="2027-01-15T08:00:00Z",
        values=(Value(1, "URL", Text("https://example.org/a")),),
    )
)
LEADS: Redirect = ("https://example.org/a", 7)


class SlowFinder:
    """Keeps every question until it is answered."""

    def __init__(self) -> None:
        self.waiting: list[tuple[list[str], Callable[[Sequence[Any]], None]]] = []

    def redirects(self, keys: Sequence[str], give: Give[Redirect]) -> None:
        self.waiting.append((list(keys), give))

    def records(self, keys: Sequence[str], give: Give[Written]) -> None:
        self.waiting.append((list(keys), give))

    def answer(self, *found: Any) -> None:
        """To the oldest question."""
        _, give = self.waiting.pop(0)
        give(found)


class Rider:
    """A connection that waits."""

    def __init__(self, lane: Lane, url: str, *, wants_page: bool = True) -> None:
        self.url, self.wants_page = url.encode(), wants_page
        self.accept = b""
        self.host: bytes | None = b"example.org"
        self.scheme: Literal["http", "https"] | None = "http"
        self.taken: list[bytes | None] = []
        lane.ask(self)

    def take(self, answer: bytes | None) -> None:
        self.taken.append(answer)

    @property
    def was_redirected(self) -> bool:
        [answer] = self.taken
        return answer is not None and b"\r\nlocation: https://example.org/a\r\n" in answer

    def was_shown(self, name: str) -> bool:
        [answer] = self.taken
        return answer is not None and f'"handle":"{name}"'.encode() in answer


class Ride:
    """A lane, its store, and what it has counted."""

    def __init__(self) -> None:
        self.finder = SlowFinder()
        self.metrics = SimpleNamespace(redirects=0, records=0, persons=0)
        registry = SimpleNamespace(
            store=SimpleNamespace(finder=lambda: self.finder), settings=SimpleNamespace(type_prefix=DEFAULT_TYPE_PREFIX)
        )
        prefixes = SimpleNamespace(handle_prefixes={b"1": ("1/", True)})
        self.documents = KeptDocuments(HttpOptions())
        service = SimpleNamespace(registry=registry, metrics=self.metrics, prefixes=prefixes, documents=self.documents)
        self.lane = Lane(cast(Any, service), cast(Any, SimpleNamespace(is_on=False)))

    def rider(self, url: str = "/1/a", **options: bool) -> Rider:
        return Rider(self.lane, url, **options)


@pytest.fixture
def ride() -> Iterator[Ride]:
    async def begin() -> Ride:
        return Ride()

    with asyncio.Runner() as runner:
        yield runner.run(begin())


def test_all_of_one_turn_are_one_question_of_each_kind(ride: Ride) -> None:
    riders = [ride.rider(url) for url in ("/1/a", "/api/handles/1/b", "/1/c", "/api/handles/1/d")]
    ride.lane.go()
    assert [keys for keys, _ in ride.finder.waiting] == [["1/a", "1/c"], ["1/b", "1/d"]]
    ride.finder.answer(LEADS, None)
    ride.finder.answer((7, RECORD), None)
    assert riders[0].was_redirected
    assert riders[1].was_shown("1/b")
    assert [rider.taken for rider in riders[2:]] == [[None], [None]]
    assert (ride.metrics.redirects, ride.metrics.records) == (1, 1)


def test_nobody_is_looked_up_who_is_for_the_application(ride: Ride) -> None:
    urls = ("/", "/1", "/1/", "/2/a", "/1/%61", "/1/a?x", "/1/a#x", "/api/handles/2/a", "/api/handles/", "/1/\xe9")
    riders = [ride.rider(url) for url in urls]
    riders.append(ride.rider("/1/a", wants_page=False))
    ride.lane.go()
    assert ride.finder.waiting == []
    assert [rider.taken for rider in riders] == [[None]] * len(riders)


@pytest.mark.parametrize("url", ["/1/a", "/api/handles/1/a"])
@pytest.mark.parametrize("is_asked", [False, True], ids=["in the same turn", "when the store is asked"])
def test_who_leaves_is_sent_on_once_and_takes_nobody_along(ride: Ride, url: str, is_asked: bool) -> None:
    before, leaver, behind = (ride.rider(url) for _ in range(3))
    if is_asked:
        ride.lane.go()
    ride.lane.leave(leaver)
    assert leaver.taken == [None]
    found = LEADS if url == "/1/a" else (7, RECORD)
    ride.finder.answer(found, found, found)
    assert leaver.taken == [None]
    for rider in (before, behind):
        assert len(rider.taken) == 1
        assert rider.taken[0] is not None


@pytest.mark.parametrize("url", ["/1/a", "/api/handles/1/a"])
def test_who_left_is_not_counted(ride: Ride, url: str) -> None:
    """The application has answered, and counts them."""
    ride.rider(url)
    leaver = ride.rider(url)
    ride.lane.leave(leaver)
    found = LEADS if url == "/1/a" else (7, RECORD)
    ride.finder.answer(found, found)
    assert ride.metrics.redirects + ride.metrics.records == 1


def test_who_leaves_and_comes_back_is_answered_for_what_is_asked_now(ride: Ride) -> None:
    """A connection that was sent to the application asks again while the first question is still under way."""
    rider = ride.rider("/1/a")
    ride.lane.leave(rider)
    rider.taken.clear()
    rider.url = b"/api/handles/1/b"
    ride.lane.ask(rider)
    ride.lane.go()
    ride.finder.answer(LEADS)
    assert rider.taken == []
    ride.finder.answer((7, RECORD))
    assert rider.was_shown("1/b")


def test_questions_are_answered_in_whatever_order_the_store_likes(ride: Ride) -> None:
    first = ride.rider("/1/a")
    ride.lane.go()
    second = ride.rider("/1/a")
    ride.lane.go()
    ride.finder.waiting.reverse()
    ride.finder.answer(LEADS)
    assert (first.taken, second.was_redirected) == ([], True)
    ride.finder.answer(None)
    assert first.taken == [None]


def test_a_record_that_is_damaged_is_nobody_elses_trouble(ride: Ride) -> None:
    riders = [ride.rider(f"/api/handles/1/{suffix}") for suffix in "abc"]
    ride.lane.go()
    ride.finder.answer((7, RECORD), (7, RECORD.replace(b"jan", b"\xff\xfe")), (7, RECORD))
    assert [len(rider.taken) for rider in riders] == [1, 1, 1]
    assert riders[1].taken == [None]
    assert None not in riders[0].taken + riders[2].taken
