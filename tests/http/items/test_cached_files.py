"""Small files that the fast path sends: as the application sends them, and only while nothing has changed."""

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.fast_path_requests import comparable, fast_path_count
from tests.http.items.item_server import COLLECTION, FILES, ItemServer, item_server, prepare
from tests.http.live_server import run_server
from tests.http.raw_client import THROUGH_APPLICATION, Connection, connection

from perdure.http.shared.file_cache import _LARGEST, _MOST_BYTES, _SECONDS, FileCache
from perdure.http.shared.request import Request, Response
from perdure.http_options import HttpOptions


@pytest.fixture
def items(tmp_path: Path) -> Iterator[ItemServer]:
    with item_server(tmp_path / "registry") as served:
        yield served


def count_answers(items: ItemServer, least: int) -> int:
    """Return how many requests the fast path has answered; wait until there are as many as expected."""
    until = time.monotonic() + 5
    while (counted := fast_path_count(items.server)) < least and time.monotonic() < until:
        time.sleep(0.05)
    return counted


def test_the_fast_path_sends_what_the_application_sends(items: ItemServer) -> None:
    with connection(items.server) as one:
        path = items.path_of("page.html")
        slow = one.request(path, THROUGH_APPLICATION)
        fast = [one.request(path) for _ in range(3)]
        assert [comparable(answer) for answer in fast] == [comparable(slow)] * 3
        assert slow.body == FILES["page.html"]
        assert count_answers(items, 3) == 3


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("range: bytes=0-3", 206),
        ("if-none-match: *", 304),
        ("if-match: *", 200),
        ('if-match: "other"', 412),
        ("if-modified-since: Thu, 01 Jan 2099 00:00:00 GMT", 304),
        ("if-unmodified-since: Sun, 06 Nov 1994 08:49:37 GMT", 412),
    ],
)
def test_a_condition_is_evaluated_although_the_file_is_cached(items: ItemServer, header: str, status: int) -> None:
    with connection(items.server) as one:
        path = items.path_of("page.html")
        one.request(path)
        assert one.request(path, header).status == status


def test_a_new_version_and_a_withdrawal_are_seen_at_once(items: ItemServer) -> None:
    path = items.path_of("page.html")
    with connection(items.server) as one, items.server.client(items.maria) as maria, items.server.client() as admin:
        assert one.request(path).body == one.request(path).body == FILES["page.html"]
        stored = maria.put(f"/api/v1{path}", content=b"new", headers={"If-Match": "*"})
        assert stored.status_code in (200, 201), stored.text
        assert one.request(path).body == one.request(path).body == b"new"
        withdrawn = admin.request(
            "DELETE", f"/api/v1/identifiers/{items.label}", headers={"If-Match": "*"}, params={"reason": "a mistake"}
        )
        assert withdrawn.status_code == 200
        assert one.request(path).status == 410


def test_hosts_do_not_share_an_answer(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    label, _, _ = asyncio.run(prepare(folder))
    settings = folder / "perdure.toml"
    settings.write_text(re.sub(r"(?m)^public_url = .*$", "", settings.read_text()))
    path = f"/items/{COLLECTION}/{label}/page.html"
    with run_server(folder) as server, connection(server) as one:
        links = [read_link(one, path, host) for host in ("a.example", "b.example", "a.example")]
        assert ["a.example" in links[0], "b.example" in links[1], links[0] == links[2]] == [True] * 3


def read_link(one: Connection, path: str, host: str) -> str:
    one.send(f"GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
    answer = one.read()
    assert answer is not None
    return answer.header("link") or ""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def request_of(path: str) -> Request:
    scope = {
        "method": "GET",
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"host", b"h")],
        "scheme": "http",
        "client": ("127.0.0.1", 1),
    }
    return Request(scope, None, HttpOptions())  # type: ignore[arg-type]


def test_an_entry_ends_with_the_next_change_and_after_a_few_seconds() -> None:
    clock = Clock()
    cache = FileCache(HttpOptions(), lambda: 1, clock)
    key = (b"/items/a", b"h", "http")
    for change, now, is_found in ((1, 0.0, True), (1, _SECONDS, True), (2, 0.0, False), (1, _SECONDS + 1, False), (None, 0.0, False)):  # fmt: skip
        clock.now = 0.0
        cache.store(request_of("/items/a"), Response(200, b"a"), 1)
        clock.now = now
        assert (cache.find(key, change) is not None) is is_found


def test_large_files_and_too_many_files_are_not_cached() -> None:
    cache = FileCache(HttpOptions(), lambda: 1, Clock())
    cache.store(request_of("/items/large"), Response(200, bytes(_LARGEST + 1)), 1)
    assert cache.find((b"/items/large", b"h", "http"), 1) is None
    count = _MOST_BYTES // _LARGEST + 1
    for number in range(count):
        cache.store(request_of(f"/items/{number}"), Response(200, bytes(_LARGEST)), 1)
    found = [cache.find((b"/items/%d" % number, b"h", "http"), 1) is not None for number in range(count)]
    assert not found[0] and found[-1]  # noqa: PT018
    assert sum(found) * _LARGEST <= _MOST_BYTES


def test_an_unknown_change_number_caches_nothing() -> None:
    cache = FileCache(HttpOptions(), lambda: None, Clock())
    cache.store(request_of("/items/a"), Response(200, b"a"), None)
    assert cache.find((b"/items/a", b"h", "http"), None) is None
