"""Requests that exceed the time limit: no name is spent on them, and the error reports an unknown outcome."""

import sqlite3
from collections.abc import Iterator

import httpx
import pytest
from tests.http.live_server import LiveServer, run_server

API = "/api/v1"


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with run_server(tmp_path_factory.mktemp("served") / "registry", settings="request_seconds = 2.0") as one:
        yield one


@pytest.fixture
def client(hasty: LiveServer) -> Iterator[httpx.Client]:
    with hasty.client() as client:
        yield client


def test_a_name_whose_date_comes_too_late_is_not_minted(client: httpx.Client) -> None:
    subsystem = {"host": "ibi.example.org", "ip": "150.163.34.243", "granularity": "60"}
    prefix = client.post(f"{API}/prefixes", json=subsystem).json()["prefix"]
    minted = []
    for _ in range(10):
        body = {"prefix": prefix, "target": "https://example.org/"}
        answer = client.post(f"{API}/identifiers", json=body, headers={"Prefer": "wait=1"})
        if answer.status_code != 201:
            break
        minted.append(answer.json())
    assert (answer.status_code, answer.json()["code"]) == (503, "clock-behind")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert len(minted) > 0
    assert len(client.get(f"{API}/identifiers", params={"prefix": prefix}).json()["identifiers"]) == len(minted)


def test_a_write_that_takes_too_long_may_have_been_done(hasty: LiveServer, client: httpx.Client) -> None:
    hasty.perdure("prefix", "add", "12345", "--minter", "chosen")
    other = sqlite3.connect(hasty.folder / "perdure.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        answer = client.post(f"{API}/identifiers", json={"prefix": "12345", "suffix": "a", "target": "https://e.org/"})
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert (answer.status_code, answer.json()["code"]) == (503, "took-too-long")
    assert "may or may not have been carried out" in answer.json()["detail"]
