"""Resolutions are counted by name, day and kind of client, without any trace of who the client is."""

import csv
import io
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import THROUGH_APPLICATION, connection
from tests.http.sample_registry import fill_registry
from tests.postgres.shared_server import database
from tests.registry_fixture import ENGINES, need_engine

from perdure.settings_file import DEFAULT_STORE

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
ROBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
KINDS = ("browser", "robot", "program", "handle", "total")
NAMES = {"thesis": "https://example.org/thesis", "map": "https://example.org/map", "rare": "https://example.org/rare"}


@pytest.fixture(scope="module", params=ENGINES)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    need_engine(request.param)
    schema = f"t_{secrets.token_hex(6)}"
    store = DEFAULT_STORE if request.param == "sqlite" else database().address(schema)
    folder = tmp_path_factory.mktemp("counted") / "registry"
    fill_registry(folder, NAMES, prefix="12345", store=store)
    with run_server(folder, "--workers", "2", settings="statistics_seconds = 0.1") as server:
        yield server
    if request.param == "postgres":
        database().drop(schema)


def visit(server: LiveServer, path: str, user_agent: str, *headers: str) -> int:
    with connection(server) as one:
        return one.request(path, f"user-agent: {user_agent}", "accept: */*", *headers).status


def wait_for_counts(client: httpx.Client, path: str, is_done: Callable[[dict[str, int]], bool]) -> dict[str, int]:
    """Return the sums of all periods once they are as expected: they are written some time later."""
    until = time.monotonic() + 20
    while True:
        periods = client.get(path).raise_for_status().json()["periods"]
        sums = {kind: sum(period[kind] for period in periods) for kind in KINDS}
        if is_done(sums) or time.monotonic() > until:
            return sums
        time.sleep(0.1)


def test_readers_are_counted_by_kind_on_the_fast_path_and_in_the_application(server: LiveServer) -> None:
    for headers in ((), (THROUGH_APPLICATION,)):
        assert visit(server, "/12345/thesis", FIREFOX, *headers) == 302
        assert visit(server, "/12345/thesis", ROBOT, *headers) == 302
        assert visit(server, "/12345/thesis", "curl/8.5.0", *headers) == 302
        assert visit(server, "/12345/thesis", FIREFOX, 'if-none-match: "1"', *headers) == 304
        assert visit(server, "/api/handles/12345/thesis", "Python", *headers) == 200
        assert visit(server, "/api/handles/12345/thesis", ROBOT, *headers) == 200
    assert visit(server, "/12345/nothing", FIREFOX) == 404
    with server.client("") as reader:
        assert reader.head("/12345/thesis").status_code == 302, "a link checker, which is not counted"
        reader.head("/api/handles/12345/thesis")
        assert reader.get("/api/v1/statistics/12345/thesis").status_code == 401
    with server.client() as client:
        sums = wait_for_counts(client, "/api/v1/statistics/12345/thesis", lambda sums: sums["total"] >= 8)
        assert sums == {"browser": 4, "robot": 4, "program": 2, "handle": 2, "total": 8}
        table = client.get("/api/v1/statistics/12345/thesis?format=csv&by=month")
        assert table.headers["content-type"] == "text/csv; charset=utf-8"
        [row] = csv.DictReader(io.StringIO(table.text))
        assert {kind: int(row[kind]) for kind in KINDS} == sums
        assert len(row["period"]) == len("2026-11")
        assert client.get("/api/v1/statistics/12345/thesis?until=2000-01-01").json()["periods"] == []
        refused = client.get("/api/v1/statistics/12345/thesis?since=yesterday")
        assert (refused.status_code, refused.json()["part"]) == (422, "since")


def test_the_names_under_a_prefix_are_listed_by_their_resolutions(server: LiveServer) -> None:
    for _ in range(5):
        visit(server, "/12345/map", FIREFOX)
    visit(server, "/12345/rare", FIREFOX)
    visit(server, "/12345/rare", ROBOT)
    with server.client() as client:
        wait_for_counts(client, "/api/v1/statistics/12345/rare", lambda sums: sums["robot"] == 1)
        wait_for_counts(client, "/api/v1/statistics/12345/map", lambda sums: sums["total"] == 5)
        named = {one["name"]: one["total"] for one in client.get("/api/v1/prefix-statistics/12345").json()["names"]}
        assert (named["12345/map"], named["12345/rare"]) == (5, 1)
        [first] = client.get("/api/v1/prefix-statistics/12345?limit=1").json()["names"]
        assert first["total"] == max(named.values())
    assert "12345/map" in server.perdure("stats", "12345", "--json")
    assert server.perdure("stats", "12345/rare", "--csv").splitlines()[0] == "period,browser,robot,program,handle,total"


def test_a_server_that_stops_writes_what_it_has_counted(tmp_path: Path) -> None:
    fill_registry(tmp_path / "registry", NAMES, prefix="12345")
    with run_server(tmp_path / "registry", settings="statistics_seconds = 3600") as server:
        assert visit(server, "/12345/thesis", FIREFOX) == 302
        assert server.perdure("stats", "12345/thesis", "--csv").count("\n") == 1
        server.stop()
        assert server.perdure("stats", "12345/thesis", "--csv").splitlines()[1].endswith(",1,0,0,0,1")


def test_counting_can_be_switched_off(tmp_path: Path) -> None:
    fill_registry(tmp_path / "registry", NAMES, prefix="12345")
    with run_server(tmp_path / "registry", settings="statistics = false") as server:
        for headers in ((), (THROUGH_APPLICATION,)):
            assert visit(server, "/12345/thesis", FIREFOX, *headers) == 302
            assert visit(server, "/api/handles/12345/thesis", FIREFOX, *headers) == 200
        server.stop()
        assert "No resolutions" in server.perdure("stats", "12345/thesis")
