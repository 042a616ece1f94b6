"""Minting of IBI labels over HTTP, on a server whose clock the test sets: dates, waits, and later answers."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.http.clocked_server import FileClock, set_clock
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import request
from tests.http.transport.test_worker import await_workers
from tests.http.worker_connections import TimedResponse, connect_to_workers, send_at_once
from tests.names.test_ibi_distributor import TABLE_6_2
from tests.postgres.shared_server import database, need_postgres
from tests.postgres.spare_schemas import FEW_PARTITIONS, new_schema
from tests.registry_fixture import ENGINES

from perdure.folder.registry_folder import DEFAULT_STORE, make_registry, open_registry
from perdure.registry.opening_checks import confirm_clock

API = "/api/v1"
PREFIX = "sid.inpe.br/mtc-m18"
NOON = Fraction(1_800_000_000)
LATER = NOON + 100_000  # when nothing waits any more
ASYNC = {"Prefer": "respond-async"}


class Station:
    """A running server, its clock, and clients that wait for its responses."""

    def __init__(self, server: LiveServer, clock: Path, threads: ThreadPoolExecutor) -> None:
        self.server = server
        self.client = server.client()
        self.others: list[httpx.Client] = []
        self._clock = clock
        self._threads = threads

    def close(self) -> None:
        for client in (self.client, *self.others):
            client.close()

    def client_with(self, key: str) -> httpx.Client:
        self.others.append(self.server.client(key))
        return self.others[-1]

    def set_clock(self, now: Fraction | int | str) -> None:
        set_clock(self._clock, now)

    def add_subsystem(self, host: str, granularity: str) -> str:
        number = len(self.client.get(f"{API}/prefixes").json()["prefixes"])
        body = {"host": host, "ip": "150.163.34.243", "ip_port": 800 + number, "granularity": granularity}
        added = self.client.post(f"{API}/prefixes", json=body)
        assert added.status_code == 201, added.text
        return str(added.json()["prefix"])

    def mint(self, where: str, headers: dict[str, str] | None = None, **body: Any) -> httpx.Response:
        return self.client.post(f"{API}/ibi/{where}", json=body, headers=headers)

    def begin_mint(self, where: str, headers: dict[str, str] | None = None, **body: Any) -> "Future[httpx.Response]":
        return self._threads.submit(self.mint, where, headers, **body)

    def metric(self, name: str) -> float:
        lines = self.client.get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])

    def await_waiting(self, number: int) -> None:
        """Wait until this many requests are in the waiting room. The metrics are published every second."""
        deadline = time.monotonic() + 30
        while self.metric("perdure_mint_waiting") != number:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def name_of(response: httpx.Response) -> str:
    assert response.status_code in (200, 201), response.text
    return str(response.json()["identifiers"][0]["name"])


@pytest.fixture(scope="module", params=ENGINES)
def new_folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Path]]:
    """Return a function that creates a registry whose clock is a file beside its folder."""
    schemas = []

    def make() -> Path:
        folder = tmp_path_factory.mktemp("clocked") / "registry"
        store = DEFAULT_STORE
        if request.param == "postgres":
            need_postgres()
            schemas.append(new_schema())
            store = database().address(schemas[-1])
        clock = FileClock(clock_of(folder))
        set_clock(clock_of(folder), NOON)
        asyncio.run(make_registry(folder, name="Tests", store=store, postgresql=FEW_PARTITIONS, clock=clock))
        return folder

    yield make
    for schema in schemas:
        database().drop(schema)


def clock_of(folder: Path) -> Path:
    return folder.with_name("clock")


@contextmanager
def serve(folder: Path, settings: str = "", *options: str) -> Iterator[Station]:
    clock = clock_of(folder)
    set_clock(clock, NOON)
    asyncio.run(_confirm_clock(folder, FileClock(clock)))
    program = ("-m", "tests.http.clocked_server", str(clock))
    with (
        ThreadPoolExecutor(8) as threads,
        run_server(folder, *options, settings=settings, program=program) as server,
        closing(Station(server, clock, threads)) as station,
    ):
        yield station
        set_clock(clock, LATER)


async def _confirm_clock(folder: Path, clock: FileClock) -> None:
    """Confirm a clock that shows another time than this machine, as its operator would."""
    async with open_registry(folder, clock=clock) as registry:
        await confirm_clock(registry)


@pytest.fixture(scope="module")
def shared_station(new_folder: Callable[[], Path]) -> Iterator[Station]:
    with serve(new_folder(), "waiting_requests = 3") as station:
        yield station


@pytest.fixture
def station(shared_station: Station) -> Iterator[Station]:
    yield shared_station
    shared_station.set_clock(LATER)
    shared_station.await_waiting(0)


def test_table_6_2_through_the_server(station: Station) -> None:
    station.set_clock(TABLE_6_2[0][0])
    _mint_table_6_2(station)


def test_table_6_2_through_two_workers(new_folder: Callable[[], Path]) -> None:
    folder = new_folder()
    with serve(folder, "", "--workers", "2") as station:
        station.set_clock(TABLE_6_2[0][0])
        await_workers(station.server, 2)
        _mint_table_6_2(station)


def _mint_table_6_2(station: Station) -> None:
    assert station.add_subsystem("mtc-m18.sid.inpe.br", "1") == PREFIX
    for now, creation, _, suffix in TABLE_6_2:
        station.set_clock(now)
        pending = station.begin_mint(PREFIX, {"Connection": "close"})  # the next one may come to another worker
        if creation > Fraction(now):
            station.await_waiting(1)
            assert not pending.done()  # its creation date has not come
            station.set_clock(creation)
        assert name_of(pending.result(30)) == f"{PREFIX}/{suffix}"


def test_a_request_may_wait_a_minute_and_longer_than_other_requests_may_take(new_folder: Callable[[], Path]) -> None:
    folder = new_folder()
    with serve(folder) as station:
        minutes = station.add_subsystem("minutes.example.org", "60")
    with serve(folder, "request_seconds = 4.0") as station:
        _wait_for_a_minute(station, minutes)


def _wait_for_a_minute(station: Station, minutes: str) -> None:
    assert name_of(station.mint(minutes)) == f"{minutes}/2027/01.15.08.00"
    pending = station.begin_mint(minutes)
    station.await_waiting(1)
    time.sleep(5)  # longer than the time limit
    assert not pending.done()
    station.set_clock(NOON + 60)
    assert name_of(pending.result(30)) == f"{minutes}/2027/01.15.08.01"
    assert pending.result().headers["location"] == f"{API}/identifiers/{minutes}/2027/01.15.08.01"


def test_a_client_chooses_a_shorter_wait(station: Station) -> None:
    station.set_clock(NOON)
    minutes = station.add_subsystem("shorter.example.org", "60")
    first = station.mint(minutes, {"Prefer": "wait=5"})
    assert first.headers["preference-applied"] == "wait=5"
    refused = station.mint(minutes, {"Prefer": "wait=5"})
    assert (refused.status_code, refused.json()["code"]) == (503, "clock-behind")
    assert refused.headers["retry-after"] == "60"
    station.set_clock(NOON + 58)
    pending = station.begin_mint(minutes, {"Prefer": "wait=5"})
    station.await_waiting(1)
    station.set_clock(NOON + 60)
    assert name_of(pending.result(30)) == f"{minutes}/2027/01.15.08.01"  # the refused one has used no date


def test_a_later_answer_is_at_its_own_url_once_the_date_has_come(new_folder: Callable[[], Path]) -> None:
    folder = new_folder()
    with serve(folder) as station:
        minutes = station.add_subsystem("later.example.org", "60")
        at_once = station.mint(minutes, ASYNC)
        assert at_once.status_code == 201
        assert "preference-applied" not in at_once.headers
        accepted = station.mint(minutes, ASYNC, target="https://example.org/later")
        assert (accepted.status_code, accepted.json()) == (202, {"due": "2027-01-15T08:01:00Z"})
        assert accepted.headers["preference-applied"] == "respond-async"
        assert accepted.headers["retry-after"] == "60"
        where = accepted.headers["location"]
        pending = station.client.get(where)
        assert (pending.status_code, pending.json()) == (202, {"due": "2027-01-15T08:01:00Z"})
        station.set_clock(NOON + 1)  # the identifier of an agent has a date too
        station.client.post(f"{API}/agents", json={"id": "eva", "name": "Eva"})
        key = station.client.post(f"{API}/agents/eva/keys", json={}).json()["key"]
        assert station.client_with(key).get(where).status_code == 404
        assert station.client_with("").get(where).status_code == 401
        station.server.process.kill()  # the names are on disk
        station.server.process.wait()
    with serve(folder) as restarted:
        restarted.set_clock(NOON + 59)
        assert restarted.client.get(where).status_code == 202
        restarted.set_clock(NOON + 60)
        answer = restarted.client.get(where)
        assert (answer.status_code, name_of(answer)) == (200, f"{minutes}/2027/01.15.08.01")


def test_every_worker_gives_the_later_answer(new_folder: Callable[[], Path]) -> None:
    with serve(new_folder(), "", "--workers", "2") as station:
        workers = await_workers(station.server, 2)
        minutes = station.add_subsystem("everywhere.example.org", "60")
        station.mint(minutes)
        where = station.mint(minutes, ASYNC).headers["location"]
        for now, status in ((NOON, 202), (NOON + 60, 200)):
            station.set_clock(now)
            answers = _get_from_workers(station.server, workers, where)
            assert {one.worker for one in answers} == set(workers)
            assert [one.status for one in answers] == [status] * 4
            assert all(f"{minutes}/2027/01.15.08.01".encode() in one.body for one in answers) == (status == 200)


def _get_from_workers(server: LiveServer, workers: list[int], path: str) -> list[TimedResponse]:
    responses: list[TimedResponse] = []

    async def get() -> None:
        async with connect_to_workers(server.address, workers, 2) as connections:
            await send_at_once(connections, request(path, f"authorization: Bearer {server.key}"), responses)

    asyncio.run(get())
    return responses


def test_several_requests_queue_for_later_minutes_first_come_first_served(new_folder: Callable[[], Path]) -> None:
    folder = new_folder()
    with serve(folder) as station:
        settings = folder / "perdure.toml"
        settings.write_text(settings.read_text().replace("# steps_ahead = 60", "steps_ahead = 6"))
        minutes = station.add_subsystem("queued.example.org", "60")
    with serve(folder) as station:
        station.set_clock(NOON)
        station.mint(minutes)
        accepted = [station.mint(minutes, ASYNC) for _ in range(5)]
        assert [one.json()["due"][14:16] for one in accepted] == ["01", "02", "03", "04", "05"]
        usual = station.mint(minutes)  # waits no longer than a minute
        assert (usual.status_code, usual.headers["retry-after"]) == (503, "360")
        pending = station.begin_mint(minutes, {"Prefer": "wait=400"})
        station.await_waiting(1)
        refused = station.mint(minutes, ASYNC)  # the seventh step ahead
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "420")
        where = [one.headers["location"] for one in accepted]
        station.set_clock(NOON + 120)
        answers = [station.client.get(one) for one in where]
        assert [one.status_code for one in answers] == [200, 200, 202, 202, 202]
        assert [name_of(one)[-2:] for one in answers[:2]] == ["01", "02"]
        assert answers[2].headers["retry-after"] == "60"
        assert not pending.done()
        station.set_clock(NOON + 360)
        assert name_of(pending.result(30)) == f"{minutes}/2027/01.15.08.06"
        assert name_of(station.client.get(where[4])) == f"{minutes}/2027/01.15.08.05"
        several = station.mint(minutes, ASYNC, count=2)
        assert [one["name"][-2:] for one in _answer_later(station, several, 600)] == ["07", "08"]


def _answer_later(station: Station, accepted: httpx.Response, seconds: int) -> list[dict[str, str]]:
    assert accepted.status_code == 202, accepted.text
    station.set_clock(NOON + seconds)
    identifiers: list[dict[str, str]] = station.client.get(accepted.headers["location"]).json()["identifiers"]
    return identifiers


def test_a_repeated_request_gets_the_same_later_answer(station: Station) -> None:
    station.set_clock(NOON)
    minutes = station.add_subsystem("repeated.example.org", "60")
    station.mint(minutes)
    headers = {**ASYNC, "Idempotency-Key": "one / two"}
    first, again = (station.mint(minutes, headers) for _ in range(2))
    assert [first.status_code, again.status_code] == [202, 202]
    assert first.headers["location"] == again.headers["location"] == f"{API}/mint-requests/one%20/%20two"
    station.set_clock(NOON + 60)
    done = station.mint(minutes, headers)
    assert (done.status_code, done.headers["idempotent-replayed"]) == (201, "true")
    assert name_of(done) == name_of(station.client.get(first.headers["location"]))
    other = station.mint(minutes, {"Idempotency-Key": "one / two"}, target="https://example.org/other")
    assert other.status_code == 422


def test_a_preferred_wait_comes_before_a_later_answer(station: Station) -> None:
    station.set_clock(NOON)
    seconds = station.add_subsystem("seconds.example.org", "1")
    for _ in range(2):
        last = station.mint(seconds, ASYNC)
    assert last.status_code == 202
    station.set_clock(NOON + 1)
    pending = station.begin_mint(seconds, {"Prefer": "respond-async, wait=2"})
    station.await_waiting(1)
    station.set_clock(NOON + 2)
    answer = pending.result(30)
    assert (answer.status_code, answer.headers["preference-applied"]) == (201, "wait=2")


def test_the_queue_is_bounded_and_shown_in_the_metrics(station: Station) -> None:
    station.set_clock(NOON)
    seconds = station.add_subsystem("queue.example.org", "1")
    before = station.metric("perdure_mint_wait_seconds_count")
    first = name_of(station.mint(seconds))
    waiting = []
    for number in range(1, 4):
        waiting.append(station.begin_mint(seconds))
        station.await_waiting(number)
    refused = station.mint(seconds)
    assert (refused.status_code, refused.json()["code"]) == (503, "mint-queue-full")
    assert int(refused.headers["retry-after"]) >= 1
    for number, pending in enumerate(waiting, 1):  # first come, first served
        station.set_clock(NOON + number)
        assert name_of(pending.result(30)) > first
        station.await_waiting(3 - number)
    assert [name_of(one.result()) for one in waiting] == sorted(name_of(one.result()) for one in waiting)
    assert station.metric("perdure_mint_wait_seconds_count") == before + 3
    station.set_clock(NOON + 60)
    assert station.mint(seconds).status_code == 201


def test_a_full_queue_says_when_the_next_request_leaves_it_by_any_name(station: Station) -> None:
    station.set_clock(NOON)
    minutes = station.add_subsystem("full.example.org", "60")
    opaque = name_of(station.mint(minutes))
    opaque = str(station.client.get(f"{API}/identifiers/{opaque}").json()["names"][1]).partition("/")[0]
    patient = {"Prefer": "wait=600"}
    waiting = []
    for number in range(1, 4):
        waiting.append(station.begin_mint(minutes, patient))
        station.await_waiting(number)
    station.set_clock(NOON + 10)
    for name in (minutes, opaque, opaque.lower(), minutes.upper(), f"{minutes}/"):
        refused = station.mint(name, patient)
        assert (refused.status_code, refused.json()["code"]) == (503, "mint-queue-full")
        assert refused.headers["retry-after"] == "50"
    station.set_clock(NOON + 60)
    name_of(waiting[0].result(30))
    waiting.append(station.begin_mint(opaque, patient))
    station.await_waiting(3)
    station.set_clock(NOON + 600)
    assert len({name_of(one.result(30)) for one in waiting}) == 4


def test_a_repeated_request_leaves_the_queue(station: Station) -> None:
    station.set_clock(NOON)
    minutes = station.add_subsystem("again.example.org", "60")
    station.mint(minutes)
    headers = {"Prefer": "wait=600", "Idempotency-Key": "again"}
    waiting = []
    for number in range(1, 3):
        waiting.append(station.begin_mint(minutes, headers))
        station.await_waiting(number)
    station.set_clock(NOON + 60)
    assert len({name_of(one.result(30)) for one in waiting}) == 1
    station.await_waiting(0)


def test_a_client_that_leaves_makes_room_for_another(station: Station) -> None:
    station.set_clock(NOON)
    minutes = station.add_subsystem("left.example.org", "60")
    station.mint(minutes)
    body = request(
        f"{API}/ibi/{minutes}",
        f"authorization: Bearer {station.server.key}",
        "content-type: application/json",
        "prefer: wait=600",
        method="POST",
        body=b"{}",
    )
    for _ in range(3):  # the queue is never full
        opened = [socket.create_connection(station.server.address) for _ in range(3)]
        for one in opened:
            one.sendall(body)
        station.await_waiting(3)
        for one in opened:
            one.close()
        station.await_waiting(0)


def test_a_server_that_stops_does_not_wait_for_late_dates(new_folder: Callable[[], Path]) -> None:
    folder = new_folder()
    with serve(folder) as station:
        minutes, seconds = (
            station.add_subsystem(f"{name}.stop.example.org", r) for name, r in (("m", "60"), ("s", "1"))
        )
        for name in (minutes, seconds, seconds, seconds, seconds):
            station.mint(name, ASYNC)
        known = station.begin_mint(minutes, {"Prefer": "wait=600", "Idempotency-Key": "known"})
        station.await_waiting(1)
        later = station.begin_mint(minutes, {"Prefer": "wait=600, respond-async"})
        station.await_waiting(2)
        soon = station.begin_mint(seconds, {"Prefer": "wait=600"})
        station.await_waiting(3)
        station.server.process.terminate()
        refused = known.result(30)
        assert (refused.status_code, refused.json()["code"]) == (503, "server-stops")
        assert refused.headers["retry-after"] == "60"
        accepted = later.result(30)
        assert (accepted.status_code, accepted.headers["retry-after"]) == (202, "120")
        assert not soon.done()  # its date comes before the server has to stop
        station.set_clock(NOON + 4)
        assert name_of(soon.result(30)) == f"{seconds}/2027/01.15.08.00.04"
        assert station.server.process.wait(30) == 0
    with serve(folder) as restarted:
        restarted.set_clock(NOON + 120)
        again = restarted.mint(minutes, {"Idempotency-Key": "known"})
        assert name_of(again) == f"{minutes}/2027/01.15.08.01"
        assert name_of(restarted.client.get(accepted.headers["location"])) == f"{minutes}/2027/01.15.08.02"


def test_a_pool_passes_over_a_subsystem_with_a_full_queue(station: Station) -> None:
    station.set_clock(NOON)
    slow, fast = (station.add_subsystem(f"{name}.pooled.example.org", "1") for name in ("slow", "fast"))
    pool = {"name": "pooled", "members": [slow, fast], "policy": "hash"}
    assert station.client.post(f"{API}/pools", json=pool).status_code == 201
    keys = {}
    for number in range(1, 10):
        station.set_clock(NOON + number)
        keys[name_of(station.mint("pooled", item_key=str(number))).rpartition("/20")[0]] = str(number)
    station.set_clock(NOON + 20)
    name_of(station.mint(slow))
    waiting = []
    for number in range(1, 4):
        waiting.append(station.begin_mint(slow))
        station.await_waiting(number)
    assert name_of(station.mint("pooled", item_key=keys[slow])).startswith(fast)
    station.set_clock(NOON + 30)
    for one in waiting:
        one.result(30)
    assert name_of(station.mint("pooled", item_key=keys[slow])).startswith(slow)


def test_other_names_of_the_target_are_in_the_answer(station: Station) -> None:
    station.set_clock(NOON)
    seconds = station.add_subsystem("known.example.org", "1")
    target = "https://example.org/known"
    first = station.mint(seconds, target=target)
    assert "also_known_as" not in first.json()
    station.set_clock(NOON + 5)
    second = station.mint(seconds, target=target)
    assert second.json()["also_known_as"] == [name_of(first)]
    accepted = station.mint(seconds, ASYNC, target=target)
    assert accepted.status_code == 202
    station.set_clock(NOON + 7)
    later = station.client.get(accepted.headers["location"])
    assert later.json()["also_known_as"] == [name_of(second), name_of(first)]
    station.client.delete(f"{API}/identifiers/{name_of(first)}", params={"reason": "x"}, headers={"If-Match": "*"})
    station.set_clock(NOON + 10)
    assert station.mint(seconds, target=target).json()["also_known_as"] == [name_of(later), name_of(second)]


def test_no_label_is_in_an_answer_before_its_date(station: Station) -> None:
    station.set_clock(NOON)
    minutes, seconds = (station.add_subsystem(f"{name}.early.example.org", r) for name, r in (("m", "60"), ("s", "1")))
    target = "https://example.org/early"
    first = station.mint(minutes, target=target)
    accepted = [station.mint(minutes, ASYNC, target=target) for _ in range(2)]
    assert station.mint(seconds, target=target).json()["also_known_as"] == [name_of(first)]
    station.set_clock(NOON + 60)
    due = station.client.get(accepted[0].headers["location"]).json()
    assert f"{minutes}/2027/01.15.08.02" not in due["also_known_as"]
    assert name_of(first) in due["also_known_as"]
    station.set_clock(NOON + 120)
    due = station.client.get(accepted[0].headers["location"]).json()
    assert f"{minutes}/2027/01.15.08.02" in due["also_known_as"]


def test_names_of_a_handle_prefix_are_not_minted_as_labels(station: Station) -> None:
    station.client.post(f"{API}/prefixes", json={"prefix": "12345"})
    answer = station.mint("12345")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-input")
    assert "POST /api/v1/identifiers" in answer.json()["detail"]


@pytest.mark.parametrize("body", [{"prefix": "12345"}, {"ip": "150.163.34.243"}])
def test_a_port_without_a_host_is_refused(station: Station, body: dict[str, str]) -> None:
    answer = station.client.post(f"{API}/prefixes", json={**body, "port": 8080})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-input")


@pytest.mark.parametrize("target", ["nothing", "no.such/subsystem"])
def test_what_is_neither_a_subsystem_nor_a_pool_is_not_found(station: Station, target: str) -> None:
    answer = station.mint(target)
    assert (answer.status_code, answer.json()["code"]) == (404, "no-such-prefix")
    assert station.client.get(f"{API}/mint-requests/{target}").status_code == 404
