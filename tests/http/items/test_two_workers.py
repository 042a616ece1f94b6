"""Uploads that come to two workers at the same time, on both engines: one quota, and one writer of each upload."""

import random
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.http.items.item_server import COLLECTION, SUBSYSTEM, ItemServer, item_server
from tests.http.items.test_uploads import API, begin, send, upload_url
from tests.postgres.shared_server import database
from tests.registry_fixture import FEW_PARTITIONS, need_engine

PART = 200_000
CONTENT = random.Random(3).randbytes(4 * PART)


@pytest.fixture(params=["sqlite", "postgres"])
def items(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ItemServer]:
    need_engine(request.param)
    is_postgres = request.param == "postgres"
    schema = f"t_{secrets.token_hex(6)}"
    store = {"store": database().address(schema), "postgresql": FEW_PARTITIONS} if is_postgres else {}
    try:
        with item_server(tmp_path / "registry", "--workers", "2", store=store) as served:
            yield served
    finally:
        if is_postgres:
            database().drop(schema)


def at_once(items: ItemServer, count: int, work: Callable[[httpx.Client, int], httpx.Response]) -> list[httpx.Response]:
    """Return the responses to requests that are sent together, each on a connection of its own."""

    def run(number: int) -> httpx.Response:
        with items.server.client(items.maria) as client:
            return work(client, number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))


def test_uploads_to_two_workers_are_stored_once_and_stay_within_the_quota(items: ItemServer) -> None:
    with items.server.client(items.maria) as maria:
        url = upload_url(begin(maria, len(CONTENT), subsystem=SUBSYSTEM, filename="parts.bin"), items)
    for offset in range(0, len(CONTENT), PART):
        part = CONTENT[offset : offset + PART]
        answers = at_once(items, 4, lambda client, _, at=offset, sent=part: send(client, url, at, sent))
        statuses = [answer.status_code for answer in answers]
        assert statuses.count(204) == 1
        assert set(statuses) <= {204, 409, 413, 423}
    [item] = [address for answer in answers if (address := answer.headers.get("content-location"))]
    assert items.get(httpx.URL(item).path + "parts.bin").content == CONTENT

    items.server.perdure("agent", "quota", "maria", "--limit", "1000", "--used", "0")

    def put_without_length(client: httpx.Client, number: int) -> httpx.Response:
        return client.put(f"{API}/{items.label}/{number}.txt", content=iter([b"%03d" % number] * 100))

    answers = at_once(items, 10, put_without_length)
    assert sorted(answer.status_code for answer in answers) == [200] * 3 + [507] * 7
    assert "900 bytes of 1000" in items.server.perdure("agent", "quota", "maria")
    stored = items.get(f"/items/{COLLECTION}/{items.label}.json").json()["versions"][0]["files"]
    assert sum(one["path"].endswith(".txt") and "/" not in one["path"] for one in stored) == 3
