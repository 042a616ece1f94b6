"""Two servers that name each other: no question and no reader goes to and fro for ever."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.http.federation.network_gate import network_gate
from tests.http.live_server import LiveServer, run_server

UNKNOWN = ("99999/nothing", "sid.inpe.br/mtc-m18/2009/02.16.17.46", "upn:4CR88AP:8JMKD3MGP8W/34PGRBS/a.pdf")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[LiveServer]]:
    """Run two servers, each of which is the `upstream` of the other."""
    with network_gate() as first, network_gate() as second:
        settings = [
            f'public_url = "{own.url}"\nupstream = "{other.url}"' for own, other in ((first, second), (second, first))
        ]
        with (
            run_server(tmp_path / "one", settings=settings[0]) as one,
            run_server(tmp_path / "two", settings=settings[1]) as two,
        ):
            first.server, second.server = one.address, two.address
            yield [one._replace(url=first.url), two._replace(url=second.url)]


def test_readers_of_an_unknown_name_are_not_sent_to_and_fro(pair: list[LiveServer]) -> None:
    with httpx.Client(follow_redirects=True, max_redirects=20) as browser:
        for name in UNKNOWN:
            ended = browser.get(f"{pair[0].url}/{name}")
            assert ended.status_code == 508, name
            assert len(ended.history) < 20


def test_servers_that_sign_find_out_that_no_one_has_the_name(pair: list[LiveServer]) -> None:
    for one, other in (pair, reversed(pair)):
        with one.client() as client:
            body = {"url": other.url, "private": True, "prefixes": ["*", "upn:4CR88AP"]}
            assert client.post("/api/v1/peers", json=body).status_code == 201
            listed = client.get("/api/v1/peers").json()["peers"]
            assert [peer["name"] for peer in listed][1:] == ["upstream"], "the last row of the table"
    time.sleep(1.2)  # until both have read the table again
    started = time.monotonic()
    for server in pair:
        with server.client("") as reader:
            for name in UNKNOWN:
                stated = reader.get("/.well-known/perdure/resolve", params={"name": name}).json()
                assert stated["state"] == "unknown"
    assert time.monotonic() - started < 5, "no question waits for its own answer"
