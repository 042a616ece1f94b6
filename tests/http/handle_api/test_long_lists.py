"""Complete lists of names are streamed: a client reads all of them, and one that stops reading blocks no other."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from tests.http.live_server import LiveServer, run_server
from tests.http.raw_client import connection, request
from tests.http.sample_registry import PREFIX, fill_registry, open_for_writing

from perdure.registry import Statement, mint

NAMES = [f"{PREFIX}/n{number:05}" for number in range(5_432)]
PATH = f"/api/handles?prefix={PREFIX}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    folder = tmp_path_factory.mktemp("served") / "registry"
    fill_registry(folder, {})

    async def fill() -> None:
        async with open_for_writing(folder) as (registry, admin):
            suffixes = [name.partition("/")[2] for name in NAMES]
            await mint(registry, admin, PREFIX, suffixes=suffixes, statement=Statement("https://example.org/"))

    asyncio.run(fill())
    with run_server(folder) as one:
        yield one


def authorization(server: LiveServer) -> str:
    return f"authorization: Bearer {server.key}"


def test_all_names_are_listed(server: LiveServer) -> None:
    with connection(server) as client:
        for _ in range(2):  # the connection can be used again
            answer = client.request(PATH, authorization(server))
            assert (answer.status, answer.header("transfer-encoding")) == (200, "chunked")
            body = json.loads(answer.body)
            assert list(body) == ["responseCode", "prefix", "totalCount", "page", "pageSize", "handles"]
            assert (body["totalCount"], body["handles"]) == (str(len(NAMES)), NAMES)
        page = client.request(f"{PATH}&page=1&pageSize=5000", authorization(server))
        assert json.loads(page.body)["handles"] == NAMES[5_000:]


def test_a_list_of_a_client_with_http_1_0_ends_with_the_connection(server: LiveServer) -> None:
    with connection(server) as client:
        client.send(f"GET {PATH} HTTP/1.0\r\nhost: x\r\n{authorization(server)}\r\n\r\n".encode())
        received = b""
        while part := client.socket.recv(65_536):
            received += part
    assert json.loads(received.partition(b"\r\n\r\n")[2])["handles"] == NAMES


def test_a_list_that_is_not_read_does_not_block_others(server: LiveServer) -> None:
    with connection(server, small=True) as slow:
        for _ in range(40):  # far more than the buffers of the connection hold
            slow.send(request(PATH, authorization(server)))
        with server.client() as other:
            for _ in range(3):
                assert other.get(PATH).json()["handles"] == NAMES
